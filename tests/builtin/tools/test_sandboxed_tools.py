"""Test runs and git changes work in the sandbox."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.session_view import context_on, registered

from cockpit.builtin.tools import git, run_tests
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.workspace import Profile
from cockpit.protocol.messages import Json


async def call_sandboxed(tool: Tool, context: Context, profile: Profile, /, **arguments: Json) -> Done:
    """Call the tool with the profile that the core would set after the verdict."""
    assert tool.preview is not None
    preview = await tool.preview(arguments, context)
    assert preview.launch is not None
    launch = replace(preview.launch, profile=profile)
    running = replace(context.running(), preview=replace(preview, launch=launch), seal=launch.seal())
    return await tool.run(arguments, replace(context, call=running))


async def label(context: Context, profile: Profile) -> str:
    return (await context.workspace.processes.isolation()).label(profile)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = (tmp_path / "root").resolve()
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "test_a.py").write_text("def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    subprocess.run(("git", "init", "-q", "-b", "main", str(root)), check=True)
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run(("git", "-C", str(root), "config", name, value), check=True)
    return root


@pytest.mark.parametrize("profile", ["build", "none"])
async def test_sandboxed_test_run_writes_its_report(project: Path, profile: Profile) -> None:
    context = context_on(project)
    done = await call_sandboxed(registered(run_tests)["run_tests"], context, profile)
    assert done.text.startswith("pytest: 1 failed, 1 passed in "), done.text
    assert done.isolation == await label(context, profile)


async def test_sandboxed_git_change_works(project: Path) -> None:
    context = context_on(project)
    tool = registered(git)["git_change"]
    for arguments in ({"what": "add"}, {"what": "commit", "message": "one"}, {"what": "branch", "name": "b"}):
        done = await call_sandboxed(tool, context, "build", **arguments)
        assert done.isolation == await label(context, "build")
    log = subprocess.run(("git", "-C", str(project), "log", "--oneline", "b"), capture_output=True, text=True)
    assert log.stdout.endswith(" one\n")


async def test_unapproved_command_does_not_run(project: Path) -> None:
    context = context_on(project)
    tool = registered(git)["git_change"]
    assert tool.preview is not None
    preview = await tool.preview({"what": "add"}, context)
    assert preview.launch is not None
    running = replace(context.running(), preview=preview, seal=preview.launch.seal())
    with pytest.raises(ToolFailed, match="call the tool again"):
        await tool.run({"what": "commit", "message": "m"}, replace(context, call=running))
    with pytest.raises(ToolFailed, match="call the tool again"):
        await tool.run({"what": "add"}, context)
