"""Every tool in a real session: denied, cancelled, capped, under a CJK path."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.decks import driving

from cockpit.cli.command import load_catalog
from cockpit.core.session.options import RunOptions
from cockpit.core.transcript.session_store import StoredResults, cap_output
from cockpit.plugin.tools import Tool
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json

NAME = "你好 世界.md"
PATCH = f"*** Begin Patch\n*** Update File: {NAME}\n@@\n-你好\n+再见\n*** End Patch\n"

# A call of each tool that would do something to (or say something of) the project below.
SAMPLES: Mapping[str, Mapping[str, Json]] = {
    "apply_patch": {"patch": PATCH},
    "ask_user": {"question": "哪一个?"},
    "code_actions": {"path": NAME, "first": 1},
    "agents": {},
    "definition": {"symbol": f"{NAME}:1:1"},
    "delegate": {"task": "say 你好"},
    "delete": {"path": NAME},
    "diagnostics": {"path": NAME},
    "edit": {"path": NAME, "old": "你好", "new": "再见"},
    "edit_symbol": {"symbol": f"{NAME}:1:1", "action": "delete"},
    "format": {"path": NAME},
    "git": {"what": "status"},
    "git_change": {"what": "add", "paths": [NAME]},
    "enter_plan_mode": {"reason": "看"},
    "enter_worktree": {"name": "再见"},
    "glob": {"pattern": "*.md"},
    "hierarchy": {"symbol": f"{NAME}:1:1"},
    "job": {"action": "list"},
    "leave_worktree": {"keep": True},
    "list": {"path": "."},
    "list_mcp_resources": {},
    "merge_worktree": {"branch": "再见"},
    "move": {"path": NAME, "to": "再见.md"},
    "multi_edit": {"path": NAME, "edits": [{"old": "你好", "new": "再见"}]},
    "project_map": {},
    "prune_worktrees": {},
    "propose_plan": {
        "title": "写",
        "summary": "",
        "steps": [{"kind": "note", "purpose": "写", "read_only": True}],
    },
    "read": {"path": NAME},
    "read_mcp_resource": {"server": "再见", "uri": "memo://你好"},
    "read_result": {"handle": "r0"},
    "references": {"symbol": f"{NAME}:1:1"},
    "rename": {"symbol": f"{NAME}:1:1", "to": "再见"},
    "run_tests": {"runner": "unittest"},
    "search": {"pattern": "你好"},
    "shell": {"command": f"cat '{NAME}' && touch made"},
    "symbols": {"path": NAME},
    "todo": {"rows": [{"text": "写"}]},
    "tool_search": {"query": "git"},
    "use_skill": {"name": "explain", "arguments": "你好"},
    "write": {"path": NAME, "content": "再见\n"},
}
CHANGES = {"apply_patch", "delete", "edit", "git_change", "move", "multi_edit", "run_tests", "shell", "write"}
# What no language server does for prose: refused with a reason.
BY_SERVER = {"code_actions", "edit_symbol", "format", "rename"}
# A person, an output, tests, plan mode, a commit or a server that are not there.
WORKTREES = {"enter_worktree", "leave_worktree", "merge_worktree", "prune_worktrees"}
SERVERS = {"read_mcp_resource"}
NEEDS_MORE = {"ask_user", "enter_plan_mode", "propose_plan", "read_result", "run_tests", *WORKTREES, *SERVERS}
SHOWS_THE_NAME = {"git", "glob", "list", "read", "search", "shell"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "项目 一"
    folder.mkdir()
    (folder / NAME).write_text("你好\n", encoding="utf-8")
    subprocess.run(("git", "init", "-q", "."), cwd=folder, check=True)
    return folder


def every_tool() -> tuple[Tool, ...]:
    return load_catalog(".").all(Tool)


def test_every_built_in_tool_has_its_sample() -> None:
    assert {tool.name for tool in every_tool()} == set(SAMPLES)


@pytest.mark.parametrize("name", sorted(CHANGES))
async def test_a_denied_call_changes_nothing_and_says_so(project: Path, name: str) -> None:
    async with driving(project, options=RunOptions(model="offline", someone=False)) as driver:
        await driver.run_tool(name, origin="schedule:1", **SAMPLES[name])
        result = (await driver.next(ToolCallFinished)).result
    assert result.outcome == "denied" and result.text
    assert [path.name for path in project.iterdir() if path.name != ".git"] == [NAME]
    assert (project / NAME).read_text(encoding="utf-8") == "你好\n"


@pytest.mark.parametrize("name", sorted(SAMPLES))
async def test_it_works_under_a_path_that_is_not_latin(project: Path, name: str) -> None:
    async with driving(project, options=RunOptions(model="offline", mode="full", someone=False)) as driver:
        await driver.run_tool(name, **SAMPLES[name])
        result = (await driver.next(ToolCallFinished)).result
    if name in BY_SERVER | NEEDS_MORE:
        assert result.text
        return
    assert result.outcome == "ok", result.text
    if name in SHOWS_THE_NAME:
        assert "你好" in result.text


@pytest.mark.parametrize("name", sorted(SAMPLES))
async def test_an_interrupted_call_has_one_result(project: Path, name: str) -> None:
    async with driving(project, options=RunOptions(model="offline", mode="full")) as driver:
        await driver.run_tool(name, **SAMPLES[name])
        await driver.interrupt()
        await driver.next(ToolCallFinished)
        assert len(driver.all(ToolCallFinished)) == 1


@pytest.mark.parametrize("tool", every_tool(), ids=lambda tool: tool.name)
def test_a_huge_result_stays_within_its_cap(tool: Tool, tmp_path: Path) -> None:
    results = StoredResults(tmp_path)
    huge = "\n".join(f"行 {number} " + "x" * 50 for number in range(30_000))
    for window in (8_000, 128_000):
        text, handle = cap_output(huge, tool.cap, window, results)
        assert len(text.encode()) <= tool.cap.size + 300
        assert results.page(handle, len(huge) - 20, 100)[0] == huge[-20:]
    assert cap_output("short", tool.cap, 8_000, results) == ("short", "")
