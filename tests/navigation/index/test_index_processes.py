"""Processes of the index die, are replaced, and end with the process that started them."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path

from tests.support.sources import indexed, languages, places, until, write

from cockpit.navigation.index.builder import ParseQueue
from cockpit.navigation.index.client import TreeIndex

SOURCES = "=== a.py\ndef alpha(): ...\n"
START = """
import asyncio, sys
from tests.support.sources import languages
from cockpit.navigation.index.client import TreeIndex

async def main():
    index = TreeIndex(sys.argv[1], languages(), "", watching=False)
    await index.whole(30)
    print(index.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def children(pid: int) -> list[int]:
    """The processes that `pid` started (Linux)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return sys.platform != "linux"


def gone(*pids: int) -> Callable[[], Coroutine[None, None, bool]]:
    async def are_gone() -> bool:
        return not any(is_alive(one) for one in pids)

    return are_gone


def many(root: Path) -> None:
    for number in range(300):
        (root / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n" * 60)


async def test_closing_leaves_no_process(root: Path) -> None:
    many(root)
    index = TreeIndex(str(root), languages(), "", watching=False)
    index.start()
    assert await index.outline("m1.py")
    pid, workers = index.pid, children(index.pid)
    assert pid
    await index.close()
    await until(gone(pid, *workers))
    assert await index.symbols("f1") == () and index.pid == 0


async def test_an_index_closed_before_it_started_leaves_no_process(root: Path) -> None:
    index = TreeIndex(str(root), languages(), "", watching=False)
    index.start()
    await index.close()
    assert index.pid == 0
    await index.close()


async def test_a_killed_index_misses_one_answer_and_restarts(root: Path) -> None:
    write(root, SOURCES)
    async with indexed(root) as index:
        first = index.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: index.symbols("alpha"))
        assert index.pid not in (0, first) and "ended" in index.failure
        assert places(await index.symbols("alpha")) == ["a.py:1"]


async def test_a_killed_worker_loses_no_file(root: Path) -> None:
    many(root)
    index = TreeIndex(str(root), languages(), "", watching=False)
    try:
        index.start()
        await index.outline("m1.py")
        killed: list[int] = []

        async def is_done() -> bool:
            for worker in children(index.pid) if not killed else ():
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
            return bool(killed) or index.progress[0] == 300

        await until(is_done)
        assert await index.whole(60)
        assert index.progress == (300, 300) and index.left_out == 0
        assert len(await index.symbols("f299")) == 60
    finally:
        await index.close()


def test_a_batch_that_kills_its_worker_is_retried_file_by_file() -> None:
    work = ParseQueue(deque([["a", "b"], ["c"]]))
    assert work.give_back(work.take() or []) == []
    assert list(work.batches) == [["b"], ["a"], ["c"]] or list(work.batches) == [["a"], ["b"], ["c"]]
    assert work.give_back(work.take() or []) != [] and work.restarts == 2


def test_a_file_that_was_alone_when_a_worker_died_is_retried() -> None:
    work = ParseQueue(deque([["c"]]))
    assert work.give_back(work.take() or []) == []
    assert work.give_back(work.take() or []) == ["c"]


async def test_no_process_outlives_the_one_that_started_it(root: Path, tmp_path: Path) -> None:
    write(root, SOURCES)
    script = tmp_path / "start.py"
    script.write_text(textwrap.dedent(START))
    paths = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    starter = subprocess.Popen(
        [sys.executable, str(script), str(root)],
        stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=paths),
    )
    assert starter.stdout is not None
    with starter.stdout:
        pid = int(await asyncio.to_thread(starter.stdout.readline))
    assert is_alive(pid)
    starter.kill()
    starter.wait()
    await until(gone(pid))


async def test_files_of_the_project_are_never_imported_by_its_processes(root: Path) -> None:
    write(root, SOURCES)
    for name in ("json", "pickle", "cockpit", "tree_sitter", "sitecustomize"):
        (root / f"{name}.py").write_text(f"open({str(root / 'ran')!r}, 'w').close()\n")
    before = Path.cwd()
    os.chdir(root)
    try:
        async with indexed(root) as index:
            assert places(await index.symbols("alpha")) == ["a.py:1"]
    finally:
        os.chdir(before)
    assert not (root / "ran").exists()


def test_client_loads_no_grammar_and_worker_loads_no_frontend() -> None:
    code = (
        "import sys, cockpit.navigation.index.client, cockpit.navigation.file_watcher\n"
        "assert not {'tree_sitter', 'watchfiles', 'textual'} & set(sys.modules)\n"
        "import cockpit.navigation.index.parse_workers, cockpit.navigation.index.host_main\n"
        "assert not {'tree_sitter', 'textual', 'openai'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
