"""Instructions that wait for a file are told with the call that touches it, once, and the prefix stays."""

import json
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import ToolResult
from cockpit.protocol.queries import ContextRows, ContextTable

OPTIONS = RunOptions(model="scripted:script", mode="full", trust=True)


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    for name, text in {
        "AGENTS.md": "root words",
        "part/AGENTS.md": "part words",
        "part/inner/CLAUDE.md": "inner words",
        "part/inner/a.py": "x = 1\n",
        "part/inner/b.py": "y = 1\n",
        ".claude/rules/py.md": "---\npaths: '**/*.py'\n---\npython words",
        ".claude/rules/ts.md": "---\npaths: '**/*.ts'\n---\ntypescript words",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def results(driver: Driver) -> list[ToolResult]:
    return [one.result for one in driver.all(ToolCallFinished)]


async def prefix(driver: Driver) -> str:
    reply = await driver.channel.ask(ContextRows())
    assert isinstance(reply, ContextTable)
    return reply.fingerprint


async def test_the_first_call_that_touches_a_file_is_told_and_no_later_one(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [{"calls": [call("read", path=path)]} for path in ("part/inner/a.py", "part/inner/b.py")]
    write = {"calls": [call("write", path="part/new.ts", content="let x = 1\n")]}
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps, write, {"text": "done"})))
    async with driving(project, options=OPTIONS) as driver:
        before = await prefix(driver)
        await driver.prompt("go")
        first, second, third = results(driver)
        assert await prefix(driver) == before
    order = [first.text.index(one) for one in ("part words", "inner words", "python words")]
    assert order == sorted(order) and "root words" not in first.text and "typescript" not in first.text
    assert "words" not in second.text
    assert "typescript words" in third.text and "part words" not in third.text


async def test_a_resumed_session_is_not_told_again(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        {"calls": [call("read", path="part/inner/a.py")]},
        {"text": "done"},
        {"calls": [call("read", path="part/inner/b.py")]},
        {"text": "done"},
    ]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps)))
    async with driving(project, options=OPTIONS) as driver:
        await driver.prompt("go")
        session = driver.channel.session
    async with driving(project, session, OPTIONS) as driver:
        await driver.prompt("go on")
        assert "words" not in results(driver)[-1].text and "y = 1" in results(driver)[-1].text


async def test_a_prompt_that_names_a_file_is_told_too(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, {"text": "done"})))
    async with driving(project, options=OPTIONS) as driver:
        await driver.prompt("look at @part/inner/a.py:1-2.")
        said = json.dumps([repr(one) for one in driver.events()])
    assert said.count("inner words") == 1


async def test_a_folder_that_is_not_trusted_tells_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {"calls": [call("read", path="part/inner/a.py")]}
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, steps, {"text": "done"})))
    async with driving(project, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("look at @part/inner/a.py")
        assert "words" not in json.dumps([repr(one) for one in driver.events()])
