"""`cockpit roles` and `cockpit agents`."""

import json
from pathlib import Path

import pytest
from tests.support.decks import call, script
from tests.support.in_process import cockpit

from cockpit.cli.main import main
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope, TurnStarted


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = root / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text(
        "---\nname: reviewer\ndescription: Mine.\ntools: Read, Bash(git diff *)\nmaxTurns: 999\n---\n"
        "Read \x1b[31mit.\n",
        encoding="utf-8",
    )
    (folder / "broken.md").write_text("---\nname: broken\ndescription: d\n---\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def run(*arguments: str) -> str:
    ended = cockpit(*arguments, cwd=Path.cwd())
    assert ended.code == 0, ended.err
    return ended.out


def test_list_has_built_in_project_and_refused_roles(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads(show(capsys, "roles", "list", "--json", "--trust", "--cwd", str(project)))
    by_name = {row["name"]: row for row in rows}
    ours = {"general", "explore", "research", "plan", "review", "write", "critic", "implement", "verify"}
    assert set(by_name) == ours | {"reviewer", "broken"}
    mine = by_name["reviewer"]
    assert mine["layer"] == "project" and mine["file"].endswith("reviewer.md")
    assert mine["fields"]["tools"] == ["Read", "Bash(git diff *)"]
    assert mine["refused"][0]["line"] == 5 and mine["refused"][0]["remedy"]
    assert by_name["broken"]["refused"][0]["line"] == 2
    untrusted = json.loads(show(capsys, "roles", "list", "--json", "--cwd", str(project)))
    assert {row["name"] for row in untrusted} == ours


def test_show_lists_the_tools_a_role_gets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = show(capsys, "roles", "show", "reviewer", "--trust", "--cwd", str(project))
    assert "read, read_result, shell" in text and "refused" in text and "\x1b" not in text
    shown = json.loads(show(capsys, "roles", "show", "coder", "--json", "--cwd", str(project)))
    assert (
        shown["name"] == "implement"
        and "delegate" not in shown["tools"]
        and "SUMMARY" in shown["instructions"]
    )
    assert main(["roles", "show", "reviever", "--cwd", str(project)]) == 1
    assert "did you mean" in capsys.readouterr().err


def test_agents_of_a_flag_are_opened_and_their_events_exported(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script(
        project.parent,
        {"calls": [call("delegate", role="scout", task="zebra")]},
        {"text": "It found the stripes."},
        zebra=[{"calls": [call("list", path=".")]}, {"text": "SUMMARY: stripes"}],
    )
    roles = json.dumps({"scout": {"description": "d", "prompt": "Scout.", "tools": ["LS"]}})
    given = ["-p", "go", "--model", "scripted:script", "--agents", roles, "--cwd", str(project)]
    assert "It found the stripes." in run(*given)
    [row] = json.loads(show(capsys, "agents", "list", "--json", "--cwd", str(project)))
    assert (row["id"], row["phase"], row["report"]) == ("main/scout-1", "completed", "SUMMARY: stripes")
    assert "main/scout-1" in show(capsys, "agents", "list", "--cwd", str(project))
    lines = show(capsys, "agents", "transcript", "scout-1", "--cwd", str(project)).splitlines()
    envelopes = [wire.loads(line) for line in lines]
    assert all(isinstance(one, Envelope) and one.agent == "main/scout-1" for one in envelopes)
    assert any(isinstance(one.event, TurnStarted) for one in envelopes)
    after = show(
        capsys, "agents", "transcript", "scout-1", "--cursor", str(envelopes[-2].seq), "--cwd", str(project)
    )
    assert after.splitlines() == lines[-1:]
    with pytest.raises(SystemExit):
        main(["-p", "x", "--agents", "{no json"])


def test_a_role_answers_a_prompt_of_the_command_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script(
        project.parent,
        {"text": "the model was asked"},
        **{"look at zebras": [{"text": "SUMMARY: black and white"}]},
    )
    text = run("-p", "@explore look at zebras", "--model", "scripted:script", "--cwd", str(project))
    assert text.strip() == "SUMMARY: black and white"
