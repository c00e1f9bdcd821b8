"""Planning: what edits, in order, would make of a tree. Works on a virtual tree; writes nothing.

A plan that holds reads each file once, and its `FileChange`s say what it read.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, FileChange, MoveFile, WriteFile
from cockpit.plugin.context import ChangeRefused
from cockpit.protocol.content import Diff
from cockpit.workspace.hunks import counts, hunks, is_binary

NEW_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it is: its bytes (None: there is none) and its permission bits."""

    content: bytes | None
    mode: int = NEW_MODE


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree a plan starts from, by three functions.

    `find(path)` is the real path a path means and raises where it must not be written; `look(real)`
    is what is there; `name(real)` is how people call it.
    """

    find: Callable[[str], str]
    look: Callable[[str], Seen]
    name: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Node:
    """A file of the virtual tree. `origin` is the real path its bytes came from, or ""."""

    content: bytes | None
    mode: int
    origin: str


def digest(content: bytes | None) -> str:
    """The sha256 of the bytes in hex, "" for no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


class Draft:
    """The virtual tree while edits are put on it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._before: dict[str, Seen] = {}
        self._now: dict[str, Node] = {}

    def put(self, edit: Edit) -> None:
        """Raises `ChangeRefused` where the edit does not fit what is there."""
        match edit:
            case WriteFile():
                self._write(edit)
            case DeleteFile():
                self._delete(edit)
            case MoveFile():
                self._move(edit)
            case _:
                assert_never(edit)

    def _write(self, edit: WriteFile) -> None:
        real, node = self._at(edit.path)
        if edit.before == "" and node.content is not None:
            raise ChangeRefused(f"{edit.path} exists already; edit it, or name another file")
        self._check_seen(edit.path, edit.before, node)
        self._refuse_file_as_folder(edit.path, real)
        mode = node.mode if edit.mode is None else edit.mode & 0o777
        origin = node.origin if node.content is not None else ""
        self._now[real] = Node(edit.content, mode, origin)

    def _delete(self, edit: DeleteFile) -> None:
        real, node = self._at(edit.path)
        if node.content is None:
            raise ChangeRefused(f"{edit.path} does not exist; nothing to delete")
        self._check_seen(edit.path, edit.before, node)
        self._now[real] = Node(None, node.mode, "")

    def _move(self, edit: MoveFile) -> None:
        source, node = self._at(edit.path)
        target, there = self._at(edit.to)
        if node.content is None:
            raise ChangeRefused(f"{edit.path} does not exist; nothing to move")
        if there.content is not None and not edit.replace and source != target:
            raise ChangeRefused(f"{edit.to} exists already; delete it first, or name another file")
        self._refuse_file_as_folder(edit.to, target)
        content = node.content if edit.content is None else edit.content
        mode = node.mode if edit.mode is None else edit.mode & 0o777
        self._now[source] = Node(None, node.mode, "")
        self._now[target] = Node(content, mode, node.origin)

    def _at(self, path: str) -> tuple[str, Node]:
        real = self._tree.find(path)
        if real not in self._now:
            seen = self._tree.look(real)
            self._before[real] = seen
            self._now[real] = Node(seen.content, seen.mode, real if seen.content is not None else "")
        return real, self._now[real]

    def _check_seen(self, path: str, before: str | None, node: Node) -> None:
        if before is not None and before != digest(node.content):
            raise ChangeRefused(f"{path} has changed since it was read; read it again")

    def _refuse_file_as_folder(self, path: str, real: str) -> None:
        above = os.path.dirname(real)
        while above != os.path.dirname(above):
            node = self._now.get(above)
            if node is not None and node.content is not None:
                raise ChangeRefused(f"{path} cannot be written: {self._tree.name(above)} is a file")
            above = os.path.dirname(above)
        for other, node in self._now.items():
            if node.content is not None and other.startswith(real + os.sep):
                raise ChangeRefused(f"{path} cannot be a file: {self._tree.name(other)} lies in it")

    def finished(self, agent: str, call: str) -> ChangeSet:
        """What is different now, by path. What ended as it began is left out."""
        moved = {node.origin for real, node in self._now.items() if self._is_move(real, node)}
        files: list[FileChange] = []
        for real, node in sorted(self._now.items()):
            before = self._before[real]
            if self._is_move(real, node):
                origin = self._before[node.origin]
                change = self._change(real, origin, node, self._tree.name(node.origin))
            elif real in moved or (before.content == node.content and _same_mode(before, node)):
                continue
            else:
                change = self._change(real, before, node)
            files.append(change)
        return ChangeSet(tuple(files), agent, call)

    def _is_move(self, real: str, node: Node) -> bool:
        """Bytes that came from a file which is gone, to a place where there was none."""
        if node.content is None or node.origin in ("", real):
            return False
        return self._before[real].content is None and self._now[node.origin].content is None

    def _change(self, real: str, before: Seen, node: Node, moved_from: str = "") -> FileChange:
        return file_change(self._tree.name(real), before.content, node.content, node.mode, moved_from)


def _same_mode(before: Seen, node: Node) -> bool:
    return node.content is None or before.mode == node.mode


def file_change(
    path: str, before: bytes | None, after: bytes | None, mode: int, moved_from: str = ""
) -> FileChange:
    """One file's change with its hunks. Binary contents have none."""
    binary = is_binary(before or b"") or is_binary(after or b"")
    made = () if binary else hunks(before or b"", after or b"", path)
    return FileChange(path, before, after, digest(before), made, mode, moved_from, binary)


def planned(edits: tuple[Edit, ...], tree: Tree, agent: str = "main", call: str = "") -> ChangeSet:
    """The change set of `edits`, in order. Raises `ChangeRefused`, and what `tree.find` raises."""
    draft = Draft(tree)
    for edit in edits:
        draft.put(edit)
    return draft.finished(agent, call)


def undoing(changes: ChangeSet, modes: dict[str, int]) -> ChangeSet:
    """The change set that takes `changes` back; `modes` are the bits each path had."""
    files: list[FileChange] = []
    for change in changes.files:
        mode = modes.get(change.moved_from or change.path, change.mode)
        if change.moved_from:
            files.append(file_change(change.moved_from, change.after, change.before, mode, change.path))
        else:
            files.append(file_change(change.path, change.after, change.before, mode))
    return replace(changes, files=tuple(files))


def diff_of(change: FileChange) -> Diff:
    """The change as a block that every frontend draws."""
    added, removed = counts(change.hunks)
    return Diff(change.path, change.hunks, added, removed, change.moved_from, _note(change))


def _note(change: FileChange) -> str:
    if change.binary:
        return f"binary, {len(change.before or b''):,} to {len(change.after or b''):,} bytes"
    return {"created": "new file", "deleted": "deleted", "moved": "", "modified": ""}[change.change]
