"""Command files in a session: what the model gets, what runs under approval, what may not be taken over."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import Markdown, plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    MessageFinished,
    Noticed,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import CommandRows, Commands, Complete, Completions

OPTIONS = RunOptions(model="scripted:script", trust=True)


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setattr(Path, "home", lambda: folder)
    return folder


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def plays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *steps: Mapping[str, Json],
    **others: list[Mapping[str, Json]],
) -> None:
    made = script(tmp_path, *(steps or ({"text": "done"},)), **others)
    monkeypatch.setenv("COCKPIT_SCRIPT", str(made))


async def prompted(driver: Driver, name: str, text: str = "") -> str:
    """What the model is told when `/name text` is typed; its turn has ended."""
    start = len(driver.seen)
    id = await driver.invoke(name, text=text)
    found = await driver.until(lambda one: isinstance(one.event, TurnStarted) and one.agent == "main", start)
    assert isinstance(found.event, TurnStarted)
    await driver.end(id)
    return plain_text(found.event.content)


async def test_a_command_is_listed_with_its_hint_and_becomes_a_prompt(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(
        root / ".claude/commands/fix.md",
        "---\ndescription: Fix it\nargument-hint: [issue]\n---\nFix $0 of $ARGUMENTS.",
    )
    put(root / ".gemini/commands/git/note.toml", 'prompt = "Note {{args}}"\ndescription = "n"\n')
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        reply = await driver.channel.ask(Commands())
        assert isinstance(reply, CommandRows)
        row = next(one for one in reply.rows if one.name == "fix")
        assert (row.hint, row.description, row.plugin) == ("[issue]", "Fix it", "command_files")
        completed = await driver.channel.ask(Complete("/", "/git", 4))
        assert isinstance(completed, Completions) and completed.rows[0].label == "/git:note"
        assert await prompted(driver, "fix", "12 'now please'") == "Fix 12 of 12 'now please'."
        assert await prompted(driver, "git:note", "a $1 `b`") == "Note a $1 `b`"


async def test_a_command_line_in_a_file_is_a_shell_call_that_is_asked_about(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".claude/commands/look.md", "Made:\n!`touch made && echo one`\nEnd.")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        await driver.invoke("look", text="")
        asked = await driver.next(ApprovalRequested)
        assert not (root / "made").exists()
        await driver.decide(asked.id, "allow_once")
        begun = await driver.next(TurnStarted)
        assert plain_text(begun.content) == "Made:\none\nEnd." and (root / "made").exists()
        assert driver.all(ToolCallStarted)[0].call.name == "shell"


async def test_a_no_stops_the_command_and_says_so(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".claude/commands/look.md", "!`touch made`")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        await driver.invoke("look", text="")
        asked = await driver.next(ApprovalRequested)
        await driver.decide(asked.id, "reject_once")
        await driver.until(
            lambda one: isinstance(one.event, Warned) and "/look was not used" in one.event.text
        )
        assert not driver.all(TurnStarted) and not (root / "made").exists()


async def test_files_are_put_beside_and_what_is_quoted_is_not_read_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / "a.txt", "words of a, see @b.txt and !`touch made`")
    put(root / "b.txt", "words of b")
    put(root / ".claude/commands/see.md", "Read @a.txt with $ARGUMENTS")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        text = await prompted(driver, "see", "!`touch made` $1")
        assert "words of a" in text and "words of b" not in text and "!`touch made` $1" in text
        assert "words of b" in await prompted(driver, "see", "@b.txt")
    assert not (root / "made").exists()


async def test_allowed_tools_hold_to_the_end_of_the_turn(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / "a.txt", "words")
    put(root / ".claude/commands/only.md", "---\nallowed-tools: Read\n---\nLook.")
    calls = {"calls": [call("read", path="a.txt"), call("write", path="b.txt", content="x")]}
    write = {"calls": [call("write", path="c.txt", content="x")]}
    plays(tmp_path, monkeypatch, calls, {"text": "done"}, write, {"text": "done"})
    async with driving(root, options=RunOptions(model="scripted:script", trust=True, mode="full")) as driver:
        text = await prompted(driver, "only")
        assert "allows only these tools: Read" in text
        first, second = [one.result for one in driver.all(ToolCallFinished)]
        assert first.outcome == "ok" and second.outcome == "denied" and "only" in second.text
        await driver.prompt("and now write")
        assert driver.all(ToolCallFinished)[-1].result.outcome == "ok"
    assert not (root / "b.txt").exists() and (root / "c.txt").exists()


async def test_an_opencode_subtask_runs_in_a_subagent_and_its_report_is_shown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".opencode/commands/dig.md", "---\nsubtask: true\n---\nDig into $1")
    plays(tmp_path, monkeypatch, {"text": "main"}, **{"Dig into": [{"text": "SUMMARY: gold"}]})
    async with driving(root, options=OPTIONS) as driver:
        await driver.invoke("dig", text="the hill")
        said = await driver.next(Noticed)
        (block,) = said.content
        assert isinstance(block, Markdown) and "SUMMARY: gold" in block.text and "/dig" in block.text
        assert any(one.agent.startswith("main/") for one in driver.seen)


async def test_a_file_is_never_called_as_a_command_of_ours(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".claude/commands/connect.md", "Send $ARGUMENTS to the model")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        await driver.until(lambda one: isinstance(one.event, Warned) and "/project:connect" in one.event.text)
        reply = await driver.channel.ask(Commands())
        assert isinstance(reply, CommandRows)
        owners = {one.name: one.plugin for one in reply.rows}
        assert owners["connect"] == "connect" and owners["project:connect"] == "command_files"
        assert await prompted(driver, "project:connect", "this") == "Send this to the model"


async def test_a_skill_goes_before_a_command_of_its_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".claude/commands/same.md", "the command")
    put(root / ".claude/skills/same/SKILL.md", "---\nname: same\ndescription: d\n---\nthe skill")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=OPTIONS) as driver:
        text = await prompted(driver, "same")
    assert "the skill" in text and "the command" not in text


async def test_a_person_s_file_may_name_a_model_and_a_project_s_only_a_tier(
    root: Path, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(person / ".claude/commands/mine.md", "---\nmodel: offline:offline\n---\nmine")
    put(root / ".claude/commands/theirs.md", "---\nmodel: offline:offline\n---\ntheirs")
    plays(tmp_path, monkeypatch, {"text": "scripted"}, {"text": "scripted"})
    async with driving(root, options=OPTIONS) as driver:
        await prompted(driver, "mine")
        await prompted(driver, "theirs")
        models = [getattr(one.message, "model", "") for one in driver.all(MessageFinished)]
    assert [one for one in models if one] == ["offline:offline", "scripted:script"]


async def test_an_untrusted_folder_brings_no_command(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / ".claude/commands/fix.md", "x")
    plays(tmp_path, monkeypatch)
    async with driving(root, options=RunOptions(model="scripted:script")) as driver:
        reply = await driver.channel.ask(Commands())
    assert isinstance(reply, CommandRows) and "fix" not in json.dumps([one.name for one in reply.rows])
