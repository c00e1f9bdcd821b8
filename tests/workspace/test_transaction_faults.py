"""Transactions are all or nothing: each operation fails once or always, the process is killed at each, the
disk is full. Files that the user saves meanwhile are never overwritten."""

import errno
import json
import os
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace.sample_writes import OLD, SCRIPTS, grown, targets
from tests.workspace.trees import grow, tree

from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import ChangeRefused
from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.disk_operations import DiskOperations
from cockpit.workspace.files.journal import recover_transactions
from cockpit.workspace.files.transaction import Transaction, WriteTarget
from cockpit.workspace.local import LocalWorkspace

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[2]
RUN = (sys.executable, "-m", "tests.workspace.kill_points")


def failing(number: int, code: int, for_ever: bool) -> Callable[[str], None]:
    count = 0

    def before(name: str) -> None:
        nonlocal count
        count += 1
        if count == number or (for_ever and count > number):
            raise OSError(code, os.strerror(code))

    return before


@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_failing_operation_leaves_the_tree_before_or_after(
    tmp_path: Path, script: str, code: int, for_ever: bool
) -> None:
    grown(tmp_path / "plain")
    Transaction(targets(tmp_path / "plain", script)).run()
    after = tree(tmp_path / "plain")
    refused, whole = 0, 0
    for number in range(1, 500):
        root, journals = tmp_path / f"{number}", tmp_path / f"{number}-journals"
        grown(root)
        before = tree(root)
        try:
            Transaction(
                targets(root, script), str(journals), DiskOperations(failing(number, code, for_ever))
            ).run()
        except ChangeRefused:
            refused += 1
            recover_transactions(str(journals))
            assert tree(root) in (before, after), f"call {number}"
            assert for_ever or tree(root) == before, f"call {number}"
        else:
            whole += 1
            recover_transactions(str(journals))
            assert tree(root) == after, f"call {number}"
        assert not list(journals.glob("*")), f"call {number}"
        if whole > 12:
            break
    assert refused > 8


def test_recovery_after_a_kill_gives_the_tree_before_or_after(tmp_path: Path) -> None:
    done = subprocess.run((*RUN, str(tmp_path)), cwd=HERE, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["script"] for row in rows} == set(SCRIPTS)
    assert [row for row in rows if row["state"] == "torn" or row["journals"]] == []
    states = Counter((row["script"], row["state"]) for row in rows)
    assert all(states[script, state] > 2 for script in SCRIPTS for state in ("before", "after"))


def test_the_next_command_finishes_the_write_of_a_killed_one(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": "old\n", "b.txt": "old\n"})
    text = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n" for name in ("a.txt", "b.txt"))
    (tmp_path / "p").write_text(text)
    words = [sys.executable, "-m", "cockpit", "patch", str(tmp_path / "p"), "--root", str(root)]
    environment = {**os.environ, "COCKPIT_STATE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    killed = subprocess.run(words, env={**environment, "COCKPIT_FAULT": "disk.exchange:2"}, check=False)
    assert killed.returncode == -9 and {(root / "a.txt").read_text(), (root / "b.txt").read_text()} == {
        "new\n",
        "old\n",
    }
    again = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert "interrupted was finished" in again.stderr
    assert again.returncode == 1 and tree(root) == {"a.txt": (b"new\n", 0o644), "b.txt": (b"new\n", 0o644)}


def test_a_full_disk_leaves_the_tree_unchanged(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grown(root)
    before = tree(root)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
            big = WriteTarget(str(root / "big"), "", b"x" * 100_000, 0o644)
            Transaction((*targets(root, "all"), big), str(tmp_path / "journals")).run()
        except ChangeRefused as error:
            code = 0 if "nothing was written" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tree(root) == before and not list((tmp_path / "journals").glob("*"))


@pytest.mark.parametrize("call", ["exchange", "rename", "link", "fsync", "lstat", "read", "unlink"])
@pytest.mark.parametrize("how", ["saved", "written", "removed"])
def test_concurrent_writes_are_never_overwritten(tmp_path: Path, call: str, how: str) -> None:
    """The n-th call of each kind: they save (a rename), write in place, or remove the file just before."""
    for number in range(1, 12):
        root = tmp_path / f"{number}"
        grown(root)
        theirs = root / "modify"
        seen: list[str] = []

        def act(
            name: str, theirs: Path = theirs, seen: list[str] = seen, number: int = number, root: Path = root
        ) -> None:
            seen += [name] if name == call else []
            if name != call or len(seen) != number:
                return
            if how == "removed":
                theirs.unlink(missing_ok=True)
            elif how == "written":
                theirs.write_bytes(b"theirs\n")
            else:
                (root.parent / "saved").write_bytes(b"theirs\n")
                os.replace(root.parent / "saved", theirs)

        try:
            Transaction(targets(root, "all"), "", DiskOperations(act)).run()
        except ChangeRefused:
            now = theirs.read_bytes() if theirs.exists() else b""
            expected = b"" if how == "removed" else b"theirs\n"
            # What is put back after they took a file away is what they had taken away.
            assert now == expected or (how == "removed" and now == OLD), f"{call} {number}"
            assert not list(root.rglob(".cockpit-*"))
        if len(seen) < number:
            return


async def test_lines_saved_during_a_hundred_edits_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "shared.txt"
    file.write_bytes(b"0\n")
    workspace = LocalWorkspace(str(tmp_path))
    over = threading.Event()
    lost: list[tuple[bytes, bytes]] = []

    def person() -> None:
        """Saves as editors do: writes beside it and renames."""
        number = 0
        while not over.is_set():
            number += 1
            file.parent.joinpath("swap").write_bytes(b"person %d\n" % number)
            os.replace(file.parent / "swap", file)
            saved.append(number)

    saved: list[int] = []
    thread = threading.Thread(target=person)
    thread.start()
    applied = 0
    try:
        for number in range(100):
            content = await workspace.files.read("shared.txt")
            edit = WriteFile("shared.txt", content + b"ours %d\n" % number, digest(content))
            try:
                await workspace.apply(await workspace.plan((edit,)))
            except ChangeRefused:
                continue
            applied += 1
            now = file.read_bytes()
            last = saved[-1] if saved else 0
            # Either ours is still there, on top of what we had read, or a later save of theirs is.
            if not now.startswith(content) and int(now.split()[1]) < last - 1:
                lost.append((content, now))
    finally:
        over.set()
        thread.join()
    assert lost == []


def test_two_processes_on_one_tree_never_mix_their_writes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, dict.fromkeys("abcd", "0\n"))
    code = """
import sys
from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.transaction import WriteTarget, Transaction
from cockpit.plugin.context import ChangeRefused
root, me, done = sys.argv[1], sys.argv[2], 0
while done < 40:
    now = [open(f"{root}/{n}", "rb").read() for n in "abcd"]
    new = me.encode() * 3 + b"%d" % done
    targets = tuple(WriteTarget(f"{root}/{n}", digest(b), new, 0o644) for n, b in zip("abcd", now))
    try:
        Transaction(targets, f"{root}-journals").run()
        done += 1
    except ChangeRefused:
        pass
"""
    running = [subprocess.Popen((sys.executable, "-c", code, str(root), me)) for me in "XY"]
    assert [one.wait(120) for one in running] == [0, 0]
    assert len({(root / name).read_bytes() for name in "abcd"}) == 1
    assert sorted(path.name for path in root.iterdir()) == ["a", "b", "c", "d"]
