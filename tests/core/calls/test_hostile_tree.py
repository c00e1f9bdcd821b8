"""Files that a program leaves behind stop neither the next command nor the tools that read."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.navigation.file_watcher import _has_more_folders
from cockpit.protocol.events import ToolCallFinished, Warned
from cockpit.protocol.messages import Json


def deep(folder: Path, levels: int) -> None:
    """More folders in each other than Python calls may stand in each other."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def pipes(root: Path) -> None:
    for name in (".gitignore", ".env", "AGENTS.md", "pyproject.toml", "package.json", "go.mod", ".lsp.json"):
        os.mkfifo(root / name)


def odd(root: Path) -> None:
    for name in (b"\xff\xfe.txt", b"n\n[exit code 0].txt", b"e\x1b]0;x\x07.txt"):
        (root / os.fsdecode(name)).write_text("plainly\n")


@pytest.fixture(autouse=True)
def away(tmp_path: Path) -> Iterator[None]:
    """Python's own removing of a tree gives up at such a depth too."""
    yield
    subprocess.run(("rm", "-rf", *map(str, tmp_path.iterdir())), check=True)


@pytest.mark.parametrize("left", [lambda root: deep(root, 1200), pipes, odd], ids=["deep", "pipes", "odd"])
async def test_files_left_by_a_program_stop_no_other_program(
    root: Path, monkeypatch: pytest.MonkeyPatch, left: object
) -> None:
    if sys.platform == "win32":
        assert not hasattr(os, "mkfifo")
        return
    assert callable(left)
    (root / "a.txt").write_text("plainly\n")
    await asyncio.to_thread(left, root)
    calls = [
        call("shell", command="touch came"),
        call("glob", pattern="*.txt"),
        call("search", pattern="plainly"),
        call("list", path="."),
    ]
    steps: list[Mapping[str, Json]] = [{"calls": [dict(one)]} for one in calls]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, *steps, {"text": "done"})))
    options = RunOptions(model="scripted:script", mode="full", trust=True)
    async with driving(root, options=options) as driver:
        await driver.prompt("go")
    results = [one.result for one in driver.all(ToolCallFinished)]
    assert [one.outcome for one in results] == ["ok"] * 4, results
    assert (root / "came").exists() and not [one for one in driver.all(Warned) if "failed" in one.text]


def test_folders_are_counted_however_deep_they_lie(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert _has_more_folders(str(tmp_path), 2) and not _has_more_folders(str(tmp_path), 3)
    deep(tmp_path, 1200)
    assert _has_more_folders(str(tmp_path), 1000)
