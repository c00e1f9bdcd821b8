"""Finding a server's program, measuring memory, caching texts."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.navigation.lsp import status_files
from cockpit.navigation.lsp.documents import DocumentTextCache
from cockpit.navigation.lsp.server_programs import find_program


def program(folder: Path, name: str = "tool") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_a_trusted_folders_own_program_goes_before_the_path(root: Path, tmp_path: Path) -> None:
    own, everybodys = program(root / ".venv" / "bin"), program(tmp_path / "bin")
    environ = {"PATH": str(tmp_path / "bin")}
    assert find_program(("tool", "-x"), str(root), True, environ, "linux") == (own, "-x")
    assert find_program(("tool", "-x"), str(root), False, environ, "linux") == (everybodys, "-x")


@pytest.mark.parametrize("folder", ["venv/bin", "node_modules/.bin"])
def test_other_places_of_a_projects_programs(root: Path, folder: str) -> None:
    own = program(root / folder)
    assert find_program(("tool",), str(root), True, {"PATH": ""}, "linux") == (own,)


def test_windows_has_other_folders(root: Path) -> None:
    own = program(root / ".venv" / "Scripts")
    assert find_program(("tool",), str(root), True, {"PATH": ""}, "win32") == (own,)


def test_a_relative_entry_of_the_path_is_ignored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(root)
    monkeypatch.chdir(root)
    assert find_program(("tool",), str(root), False, {"PATH": "."}, "linux") == ()


def test_a_program_of_the_project_by_its_path_needs_trust(root: Path) -> None:
    own = program(root / "tools")
    assert find_program(("tools/tool",), str(root), False) == ()
    assert find_program(("tools/tool",), str(root), True) == (own,)
    assert find_program((own,), "/", False) == (own,)


def test_what_is_installed_beside_python_is_found() -> None:
    assert find_program(("ruff",), "/", False, {"PATH": ""}) == (str(Path(sys.executable).parent / "ruff"),)


async def test_memory_counts_what_a_process_started() -> None:
    code = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
        "'x = bytearray(40_000_000); print(1, flush=True); input()'], stdin=subprocess.PIPE); child.wait()"
    )
    one = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert one.stdout is not None
    await one.stdout.readline()
    assert await asyncio.to_thread(status_files.measure_megabytes, (one.pid,)) != {one.pid: 0}
    assert (await asyncio.to_thread(status_files.measure_megabytes, (one.pid,)))[one.pid] > 40
    os.killpg(one.pid, 9)
    await one.wait()


def test_a_process_that_ended_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as one:
        assert status_files.is_alive(one.pid)
        one.communicate(b"\n")
    assert not status_files.is_alive(one.pid)


def test_texts_keep_what_fits_and_read_what_changed(root: Path) -> None:
    texts = DocumentTextCache(max_bytes=25)
    for name in ("a", "b", "c"):
        (root / name).write_text(name * 10)
    assert [texts.line(str(root / name), 1) for name in ("a", "b", "c")] == ["a" * 10, "b" * 10, "c" * 10]
    (root / "a").write_text("new")
    assert texts.line(str(root / "a"), 1) == "new"
    assert texts.get(str(root / "none")) is None and texts.get(str(root)) is None
