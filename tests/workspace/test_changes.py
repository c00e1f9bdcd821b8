"""Change sets: planned on a virtual tree, then applied on disk and in memory."""

import asyncio
import contextlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workspace.memory import MemoryWorkspace
from tests.workspace.trees import grow, tree

from cockpit.plugin.changes import DeleteFile, Edit, MoveFile, WriteFile
from cockpit.plugin.context import ChangeRefused, PathRefused, Workspace
from cockpit.workspace.files.changes import apply_hunks, count_lines, diff_hunks, digest
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.processes.local_processes import ProcessFailed

FILES: dict[str, bytes | str] = {"a.txt": "one\ntwo\n", "sub/b.txt": "b\n", "c.bin": b"\0\1"}


@pytest.fixture(params=["local", "memory"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    if request.param == "memory":
        return MemoryWorkspace(
            {name: text.encode() if isinstance(text, str) else text for name, text in FILES.items()}
        )
    grow(tmp_path / "root", FILES)
    return LocalWorkspace(str(tmp_path / "root"), str(tmp_path / "state"))


async def contents(workspace: Workspace) -> dict[str, bytes]:
    return {entry.path: await workspace.files.read(entry.path) async for entry in workspace.files.walk()}


async def test_a_plan_writes_nothing_and_lists_the_changes(workspace: Workspace) -> None:
    before = await contents(workspace)
    edits = (WriteFile("a.txt", b"one\nTWO\n"), WriteFile("new/d.txt", b"d"), DeleteFile("sub/b.txt"))
    changes = await workspace.plan(edits, "main/review", "c7")
    assert [(one.path, one.change, count_lines(one.hunks)) for one in changes.files] == [
        ("a.txt", "modified", (1, 1)),
        ("new/d.txt", "created", (1, 0)),
        ("sub/b.txt", "deleted", (0, 1)),
    ]
    assert (changes.agent, changes.call) == ("main/review", "c7")
    assert await contents(workspace) == before


async def test_an_applied_change_can_be_undone(workspace: Workspace) -> None:
    before = await contents(workspace)
    edits = (
        WriteFile("a.txt", b"!"),
        MoveFile("sub/b.txt", "z/b.txt", b"B\n"),
        DeleteFile("c.bin"),
        WriteFile("n", b""),
    )
    applied = await workspace.apply(await workspace.plan(edits))
    assert await contents(workspace) == {"a.txt": b"!", "n": b"", "z/b.txt": b"B\n"}
    again = await workspace.apply(applied.undo)
    assert await contents(workspace) == before
    await workspace.apply(again.undo)
    assert await contents(workspace) == {"a.txt": b"!", "n": b"", "z/b.txt": b"B\n"}


async def test_edits_see_what_the_edits_before_them_did(workspace: Workspace) -> None:
    edits: tuple[Edit, ...] = (
        WriteFile("x.txt", b"1", before=""),
        WriteFile("x.txt", b"2", before=digest(b"1")),
        MoveFile("x.txt", "y.txt"),
        MoveFile("a.txt", "x.txt"),
        WriteFile("a.txt", b"fresh", before=""),
        WriteFile("gone.txt", b"", before=""),
        DeleteFile("gone.txt"),
    )
    changes = await workspace.plan(edits)
    assert {(one.path, one.change, one.moved_from) for one in changes.files} == {
        ("y.txt", "created", ""),
        ("x.txt", "created", ""),
        ("a.txt", "modified", ""),
    }
    await workspace.apply(changes)
    assert await workspace.files.read("x.txt") == b"one\ntwo\n"


async def test_a_move_replaces_a_file_only_if_requested(workspace: Workspace) -> None:
    with pytest.raises(ChangeRefused, match=r"sub/b\.txt exists already"):
        await workspace.plan((MoveFile("a.txt", "sub/b.txt"),))
    applied = await workspace.apply(await workspace.plan((MoveFile("a.txt", "sub/b.txt", replace=True),)))
    assert await workspace.files.read("sub/b.txt") == b"one\ntwo\n"
    await workspace.apply(applied.undo)
    assert await workspace.files.read("sub/b.txt") == b"b\n"


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ((WriteFile("a.txt", b"x", before=""),), "exists already"),
        ((WriteFile("a.txt", b"x", before=digest(b"other")),), "changed since it was read"),
        ((DeleteFile("nowhere"),), "does not exist"),
        ((MoveFile("nowhere", "y"),), "does not exist"),
        ((WriteFile("sub", b"x"),), "is a folder"),
        ((WriteFile("new", b"x"), WriteFile("new/below", b"x")), "is a file"),
        ((WriteFile("new/below", b"x"), WriteFile("new", b"x")), "is in it"),
        ((WriteFile(".git/config", b"x"),), "runs|run later"),
    ],
)
async def test_edits_that_do_not_fit_are_refused_with_the_file(
    workspace: Workspace, edits: tuple[Edit, ...], reason: str
) -> None:
    before = await contents(workspace)
    with pytest.raises((ChangeRefused, PathRefused), match=reason):
        await workspace.plan(edits)
    assert await contents(workspace) == before


async def test_a_file_changed_after_the_plan_refuses_all_of_it(workspace: Workspace) -> None:
    changes = await workspace.plan((WriteFile("a.txt", b"planned"), WriteFile("new.txt", b"planned")))
    await workspace.apply(await workspace.plan((WriteFile("a.txt", b"meanwhile"),)))
    with pytest.raises(ChangeRefused, match=r"a\.txt.*has changed|has changed"):
        await workspace.apply(changes)
    assert "new.txt" not in await contents(workspace)


async def test_an_edit_without_effect_is_no_change(workspace: Workspace) -> None:
    assert (await workspace.plan((WriteFile("a.txt", b"one\ntwo\n"),))).files == ()


async def test_modes_are_preserved_set_and_restored(tmp_path: Path) -> None:
    grow(tmp_path, {"run.sh": "#!/bin/sh\n"})
    (tmp_path / "run.sh").chmod(0o750)
    workspace = LocalWorkspace(str(tmp_path))
    applied = await workspace.apply(await workspace.plan((WriteFile("run.sh", b"#!/bin/bash\n"),)))
    assert tree(tmp_path)["run.sh"] == (b"#!/bin/bash\n", 0o750)
    changes = await workspace.plan((DeleteFile("run.sh"), WriteFile("tool", b"", mode=0o755)))
    gone = await workspace.apply(changes)
    assert tree(tmp_path) == {"tool": (b"", 0o755)}
    await workspace.apply(gone.undo)
    await workspace.apply(applied.undo)
    assert tree(tmp_path) == {"run.sh": (b"#!/bin/sh\n", 0o750)}


async def test_targets_that_are_not_regular_files_are_refused_by_name(tmp_path: Path) -> None:
    grow(tmp_path, {"file": "x", "other": "x", "dir/x": "x"})
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").symlink_to("dir")
    (tmp_path / "hard").hardlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    workspace = LocalWorkspace(str(tmp_path))
    reasons = {
        "link": "symbolic link",
        "folder/new": "symbolic link",
        "hard": "hard link",
        "pipe": "FIFO",
        "dir": "folder",
    }
    for path, reason in reasons.items():
        for edit in (WriteFile(path, b"y"), DeleteFile(path), MoveFile(path, "elsewhere")):
            with pytest.raises((ChangeRefused, PathRefused), match=reason):
                await workspace.plan((edit,))


async def test_an_undo_removes_only_the_folders_it_made(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": ""})
    (tmp_path / "void").mkdir()
    workspace = LocalWorkspace(str(tmp_path))
    before = tree(tmp_path)
    changes = await workspace.plan((WriteFile("x/y/z.txt", b""), WriteFile("void/z.txt", b"")))
    applied = await workspace.apply(changes)
    await workspace.apply(applied.undo)
    assert tree(tmp_path) == before


@pytest.mark.slow
async def test_a_swapped_folder_never_redirects_a_write(tmp_path: Path) -> None:
    """A thread puts a link to the outside in the place of a folder, over and over, during writes."""
    root, out = tmp_path / "root", tmp_path / "out"
    grow(root, {"dir/a.txt": "old", "real/x": ""})
    grow(out, {"a.txt": "untouched"})
    workspace = LocalWorkspace(str(root))
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            # The writer may make the folder anew in between: then a step fails and the next goes on.
            for step in (
                lambda: (root / "dir").rename(root / "aside"),
                lambda: (root / "dir").symlink_to(out),
                lambda: (root / "dir").unlink(),
                lambda: (root / "aside").rename(root / "dir"),
            ):
                with contextlib.suppress(OSError):
                    step()

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for number in range(150):
            try:
                edits = (WriteFile("dir/a.txt", f"{number}".encode()), WriteFile(f"dir/{number}", b"x"))
                await workspace.apply(await workspace.plan(edits))
            except (ChangeRefused, PathRefused):
                continue
    finally:
        over.set()
        swapping.join()
    assert tree(out) == {"a.txt": (b"untouched", 0o644)}


async def test_a_cancelled_write_is_undone(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": "old"})
    workspace = LocalWorkspace(str(tmp_path))
    changes = await workspace.plan((WriteFile("a.txt", b"new"), WriteFile("b.txt", b"new")))
    applying = asyncio.create_task(workspace.apply(changes))
    await asyncio.sleep(0)
    applying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await applying
    assert tree(tmp_path) == {"a.txt": (b"old", 0o644)}


async def test_a_workspace_in_memory_runs_no_program() -> None:
    with pytest.raises(ProcessFailed, match="open a folder on disk"):
        await MemoryWorkspace().processes.run(("true",))


LINES = st.lists(st.sampled_from([b"a", b"b", b"c\r", b"", b"\xff", b"\x0c", "\u2028".encode()]), max_size=30)
CONTENT = st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"]))


@given(CONTENT, CONTENT)
@settings(max_examples=300)
def test_all_hunks_give_the_new_text_and_none_the_old(before: bytes, after: bytes) -> None:
    made = diff_hunks(before, after)
    assert apply_hunks(before, after, made, {one.id for one in made}) == after
    assert apply_hunks(before, after, made, ()) == before


def test_one_hunk_of_two_can_be_taken() -> None:
    before = b"".join(b"%d\n" % number for number in range(40))
    after = before.replace(b"\n3\n", b"\nthree\n").replace(b"\n30\n", b"\nthirty\n")
    first, second = diff_hunks(before, after)
    assert apply_hunks(before, after, (first, second), {second.id}) == before.replace(
        b"\n30\n", b"\nthirty\n"
    )
    assert (first.old_start, first.old_lines, first.new_start, first.new_lines) == (1, 7, 1, 7)
