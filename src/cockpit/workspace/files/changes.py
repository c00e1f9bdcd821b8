"""Plans changes: the effect of a sequence of edits on a tree, as a change set with hunks. Writes nothing.

Also computes the hunks between two texts, and rebuilds a text from some of them. Only \\n ends a line, so
CR, form feeds and U+2028 are preserved.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import assert_never

from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, FileChange, MoveFile, WriteFile
from cockpit.plugin.context import ChangeRefused
from cockpit.protocol.content import Diff, Hunk

CONTEXT_LINES = 3
NO_NEWLINE_MARK = "\\ No newline at end of file"
# Beyond this many pairs of lines the middle counts as replaced: difflib's time grows with their product.
MAX_LINE_PAIRS = 40_000_000
ChangedRange = tuple[int, int, int, int]


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their \\n; the last one may lack it."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def is_binary(content: bytes) -> bool:
    """Whether the content is not text: it contains a NUL, as git decides."""
    return b"\0" in content[:8000]


def diff_hunks(before: bytes, after: bytes, path: str = "", context: int = CONTEXT_LINES) -> tuple[Hunk, ...]:
    """The changes from `before` to `after`, with `context` lines around each."""
    old, new = split_lines(before), split_lines(after)
    groups = _group_ranges(_changed_ranges(old, new), context)
    return tuple(_build_hunk(group, old, new, context, path) for group in groups)


def _changed_ranges(old: list[bytes], new: list[bytes]) -> list[ChangedRange]:
    """Replaced ranges as (old from, old to, new from, new to)."""
    start = 0
    while start < len(old) and start < len(new) and old[start] == new[start]:
        start += 1
    end = 0
    limit = min(len(old), len(new)) - start
    while end < limit and old[-1 - end] == new[-1 - end]:
        end += 1
    old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
    if not old_middle and not new_middle:
        return []
    if not old_middle or not new_middle or len(old_middle) * len(new_middle) > MAX_LINE_PAIRS:
        return [(start, start + len(old_middle), start, start + len(new_middle))]
    matcher = SequenceMatcher(None, old_middle, new_middle, autojunk=len(old_middle) > 2000)
    return [
        (start + a, start + b, start + c, start + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _group_ranges(changes: list[ChangedRange], context: int) -> list[list[ChangedRange]]:
    groups: list[list[ChangedRange]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _build_hunk(
    group: list[ChangedRange], old: list[bytes], new: list[bytes], context: int, path: str
) -> Hunk:
    first, last = group[0], group[-1]
    lead, trail = min(context, first[0]), min(context, len(old) - last[1])
    old_from, old_to = first[0] - lead, last[1] + trail
    new_from, new_to = first[2] - lead, last[3] + trail
    lines: list[str] = []
    at = old_from
    for a, b, c, d in group:
        lines += _format_lines(" ", old[at:a]) + _format_lines("-", old[a:b]) + _format_lines("+", new[c:d])
        at = b
    lines += _format_lines(" ", old[at:old_to])
    old_start = old_from + 1 if old_to > old_from else old_from
    new_start = new_from + 1 if new_to > new_from else new_from
    name = hashlib.sha256("\n".join((path, str(old_start), *lines)).encode("utf-8", "replace")).hexdigest()[
        :12
    ]
    return Hunk(name, old_start, old_to - old_from, new_start, new_to - new_from, tuple(lines))


def _format_lines(sign: str, lines: list[bytes]) -> list[str]:
    out: list[str] = []
    for line in lines:
        out.append(sign + line.removesuffix(b"\n").decode("utf-8", "replace"))
        if not line.endswith(b"\n"):
            out.append(NO_NEWLINE_MARK)
    return out


def apply_hunks(
    before: bytes,
    after: bytes,
    all_hunks: tuple[Hunk, ...],
    accepted: Collection[str],
    written: Mapping[str, bytes] | None = None,
) -> bytes:
    """`before` with only the hunks whose ids are in `accepted`. The bytes in `written` replace the new lines
    of a hunk. All hunks give exactly `after`, no hunks exactly `before`."""
    old, new = split_lines(before), split_lines(after)
    instead = written or {}
    out: list[bytes] = []
    at = 0
    for hunk in all_hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        new_start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        out += old[at:start]
        at = start + hunk.old_lines
        lines = new[new_start : new_start + hunk.new_lines] if hunk.id in accepted else old[start:at]
        out += [instead[hunk.id]] if hunk.id in instead and hunk.id in accepted else lines
    return b"".join(out + old[at:])


def count_lines(all_hunks: tuple[Hunk, ...]) -> tuple[int, int]:
    """Added and removed lines."""
    lines = [line for hunk in all_hunks for line in hunk.lines]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def format_unified_diff(diff: Diff) -> str:
    """The diff as `git apply` reads it, without the hashes of the header."""
    out = [f"--- a/{diff.moved_from or diff.path}", f"+++ b/{diff.path}"]
    for hunk in diff.hunks:
        out.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
        out += hunk.lines
    return "\n".join(out) + "\n"


NEW_MODE = 0o644


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """The current content of a file (None: no file) and its permission bits."""

    content: bytes | None
    mode: int = NEW_MODE


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The tree that a plan starts from, as three functions.

    `find(path)` is the real path of `path` and raises where it must not be written; `look(real)` reads a
    file; `name(real)` is how users call it.
    """

    find: Callable[[str], str]
    look: Callable[[str], FileSnapshot]
    name: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class VirtualFile:
    """A file of the virtual tree. `origin` is the real path its content came from, or ""."""

    content: bytes | None
    mode: int
    origin: str


def digest(content: bytes | None) -> str:
    """The sha256 of the content in hex, "" for no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


class VirtualTree:
    """The tree as it would be after the edits made so far."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._before: dict[str, FileSnapshot] = {}
        self._now: dict[str, VirtualFile] = {}

    def put(self, edit: Edit) -> None:
        """Make an edit. Raises `ChangeRefused` if it does not fit the tree."""
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
            raise ChangeRefused(f"{edit.path} exists already; edit it, or choose another path")
        self._check_seen(edit.path, edit.before, node)
        self._refuse_file_as_folder(edit.path, real)
        mode = node.mode if edit.mode is None else edit.mode & 0o777
        origin = node.origin if node.content is not None else ""
        self._now[real] = VirtualFile(edit.content, mode, origin)

    def _delete(self, edit: DeleteFile) -> None:
        real, node = self._at(edit.path)
        if node.content is None:
            raise ChangeRefused(f"{edit.path} does not exist, so it cannot be deleted")
        self._check_seen(edit.path, edit.before, node)
        self._now[real] = VirtualFile(None, node.mode, "")

    def _move(self, edit: MoveFile) -> None:
        source, node = self._at(edit.path)
        target, existing = self._at(edit.to)
        if node.content is None:
            raise ChangeRefused(f"{edit.path} does not exist, so it cannot be moved")
        if existing.content is not None and not edit.replace and source != target:
            raise ChangeRefused(f"{edit.to} exists already; delete it first, or choose another path")
        self._refuse_file_as_folder(edit.to, target)
        content = node.content if edit.content is None else edit.content
        mode = node.mode if edit.mode is None else edit.mode & 0o777
        self._now[source] = VirtualFile(None, node.mode, "")
        self._now[target] = VirtualFile(content, mode, node.origin)

    def _at(self, path: str) -> tuple[str, VirtualFile]:
        real = self._tree.find(path)
        if real not in self._now:
            snapshot = self._tree.look(real)
            self._before[real] = snapshot
            self._now[real] = VirtualFile(
                snapshot.content, snapshot.mode, real if snapshot.content is not None else ""
            )
        return real, self._now[real]

    def _check_seen(self, path: str, before: str | None, node: VirtualFile) -> None:
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
                raise ChangeRefused(f"{path} cannot be a file: {self._tree.name(other)} is in it")

    def finished(self, agent: str, call: str) -> ChangeSet:
        """The changes by path, without files that ended as they began."""
        moved = {node.origin for real, node in self._now.items() if self._is_move(real, node)}
        files: list[FileChange] = []
        for real, node in sorted(self._now.items()):
            before = self._before[real]
            is_same = before.content == node.content and (node.content is None or before.mode == node.mode)
            if self._is_move(real, node):
                origin = self._before[node.origin]
                change = self._change(real, origin, node, self._tree.name(node.origin))
            elif real in moved or is_same:
                continue
            else:
                change = self._change(real, before, node)
            files.append(change)
        return ChangeSet(tuple(files), agent, call)

    def _is_move(self, real: str, node: VirtualFile) -> bool:
        """Whether the content came from a file that is gone, to a path that had none."""
        if node.content is None or node.origin in ("", real):
            return False
        return self._before[real].content is None and self._now[node.origin].content is None

    def _change(self, real: str, before: FileSnapshot, node: VirtualFile, moved_from: str = "") -> FileChange:
        return make_file_change(self._tree.name(real), before.content, node.content, node.mode, moved_from)


def make_file_change(
    path: str, before: bytes | None, after: bytes | None, mode: int, moved_from: str = ""
) -> FileChange:
    """The change of one file with its hunks. Binary content has none."""
    binary = is_binary(before or b"") or is_binary(after or b"")
    hunks = () if binary else diff_hunks(before or b"", after or b"", path)
    return FileChange(path, before, after, digest(before), hunks, mode, moved_from, binary)


def plan_changes(edits: tuple[Edit, ...], tree: SourceTree, agent: str = "main", call: str = "") -> ChangeSet:
    """The change set of `edits`, in order. Raises `ChangeRefused`, and what `tree.find` raises."""
    draft = VirtualTree(tree)
    for edit in edits:
        draft.put(edit)
    return draft.finished(agent, call)


def undo_changes(changes: ChangeSet, modes: dict[str, int]) -> ChangeSet:
    """The change set that reverts `changes`; `modes` are the permission bits that each path had."""
    files: list[FileChange] = []
    for change in changes.files:
        path, moved_from = change.moved_from or change.path, change.path if change.moved_from else ""
        mode = modes.get(path, change.mode)
        files.append(make_file_change(path, change.after, change.before, mode, moved_from))
    return replace(changes, files=tuple(files))


def make_diff(change: FileChange) -> Diff:
    """The change as a block that every frontend can draw."""
    note = {"created": "new file", "deleted": "deleted"}.get(change.change, "")
    if change.binary:
        note = f"binary, {len(change.before or b''):,} to {len(change.after or b''):,} bytes"
    return Diff(change.path, change.hunks, *count_lines(change.hunks), change.moved_from, note)
