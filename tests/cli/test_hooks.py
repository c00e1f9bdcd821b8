"""`cockpit hooks`: what is there, what an event would run, and a yes that is kept and taken back."""

import json
from pathlib import Path

import pytest
from tests.support.command import Ended
from tests.support.hooks import House, command
from tests.support.in_process import cockpit

from cockpit import paths


@pytest.fixture
def house(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setenv("HOME", str(person))
    return House(root, person)


def hooks(house: House, *arguments: str) -> Ended:
    return cockpit("hooks", *arguments, cwd=house.root)


def test_list_shows_layers_fields_and_refusals_and_runs_nothing(house: House) -> None:
    house.own(PreToolUse=("Bash", command(house.python("note('ran')"), timeout=5)))
    house.project(Stop=command("make test"), FileChanged=command("x"))
    listed = hooks(house, "list", "--json", "--trust")
    rows = {row["name"]: row for row in json.loads(listed.out)}
    own, stop = rows["PreToolUse ~/.claude/settings.json:7"], rows["Stop .claude/settings.json:7"]
    assert (own["layer"], own["fields"]["matcher"], own["fields"]["timeout"]) == ("user", "Bash", 5.0)
    assert (stop["layer"], stop["fields"]["command"]) == ("project", "make test")
    [refused] = rows["FileChanged"]["refused"]
    assert refused["line"] == 14 and refused["file"].endswith(".claude/settings.json")
    shown = hooks(house).out
    assert "PreToolUse ~/.claude/settings.json:7" in shown and "not trusted" in shown
    assert "make test" not in shown
    assert house.noted() == []


def test_run_shows_matching_hooks_and_runs_them_only_with_really(house: House) -> None:
    house.own(
        PreToolUse=("Bash", command(house.python("note(told['tool_input']['command'])\nsys.exit('no')"))),
        Stop=command("echo never"),
    )
    call = ("run", "PreToolUse", "--trust", "--input", '{"command": "ls"}')
    dry = hooks(house, *call)
    assert dry.out.startswith("fits") and house.noted() == []
    assert hooks(house, "run", "pre_tool_use", "--trust", "--tool", "Read").out.startswith("does not fit")
    [row] = json.loads(hooks(house, *call, "--really", "--json").out)
    assert house.noted() == ["ls"]
    assert row["fits"] and row["seconds"] > 0 and row["faults"] == ["it ended with exit code 1: no"]


def test_run_shows_the_decision(house: House) -> None:
    house.own(SessionStart=("startup", command("echo hello; echo no >&2; exit 2")))
    assert hooks(house, "run", "SessionStart", "--match", "resume", "--trust").out.startswith("does not fit")
    shown = hooks(house, "run", "SessionStart", "--match", "startup", "--trust", "--really").out
    assert "deny in" in shown and "reason: no" in shown


@pytest.mark.parametrize(
    ("event", "matcher"),
    [
        ("SessionStart", "startup"),
        ("SessionEnd", "prompt_input_exit"),
        ("Notification", "permission_prompt"),
        ("PreCompact", "manual"),
        ("SubagentStop", "general"),
    ],
)
def test_run_uses_the_usual_match_of_an_event(house: House, event: str, matcher: str) -> None:
    house.own(**{event: (matcher, command("true"))})
    assert hooks(house, "run", event, "--trust").out.startswith("fits")
    assert hooks(house, "run", event, "--trust", "--match", matcher).out.startswith("fits")
    assert hooks(house, "run", event, "--trust", "--match", "x").out.startswith("does not fit")


def test_project_hook_runs_after_approval_which_can_be_revoked(house: House) -> None:
    house.project(Stop=command("echo one; exit 0"))
    run = ("run", "Stop", "--trust", "--really")
    assert "it needs approval first" in hooks(house, *run).out
    refused = hooks(house, "approve", "--trust")
    assert refused.code == 1 and "stdin is not a terminal" in refused.err
    agreed = hooks(house, "approve", "--trust", "--yes")
    assert agreed.code == 0 and "Stop: echo one; exit 0 (.claude/settings.json:7)" in agreed.out
    assert "no objection" in hooks(house, *run).out
    assert "nothing new to approve" in hooks(house, "approve", "--trust").out
    assert hooks(house, "revoke").out.startswith("1 hooks")
    assert "it needs approval first" in hooks(house, *run).out


def test_usage_errors_say_what_to_write(house: House) -> None:
    assert "did you mean PreToolUse?" in hooks(house, "run", "PreToolUze").err
    assert "--input is not valid JSON" in hooks(house, "run", "PreToolUse", "--input", "{").err
    assert "--trust" in hooks(house, "approve", "--yes").err
    assert not paths.state().joinpath("hooks.json").exists()
