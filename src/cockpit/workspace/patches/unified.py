"""Unified diffs as git and diff write them: `---`, `+++`, `@@ -a,b +c,d @@`, and git's extended
headers for new, deleted, renamed files and modes (git-diff(1), "Generating patch text with -p")."""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.workspace.patches.names import DEV_NULL, git_paths, is_epoch, name_of, stripped
from cockpit.workspace.patches.values import Chunk, FilePatch, PatchRefused, Sign, checked_path

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
MODE = re.compile(r"100[0-7]{3}")
INDEX = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+ (\d{6})$")


@dataclass(slots=True)
class Head:
    """What stood above the hunks of one file."""

    place: int
    git: tuple[str, str] | None = None
    old: str | None = None
    new: str | None = None
    rename_from: str = ""
    rename_to: str = ""
    is_copy: bool = False
    is_new: bool = False
    is_deleted: bool = False
    mode: int | None = None
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return self.git is None and self.old is None and self.new is None


def parsed(text: str) -> tuple[FilePatch, ...]:
    """Raises `PatchRefused` with the line that cannot be read."""
    lines = _lines(text)
    files: list[FilePatch] = []
    head = Head(1)
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            _close(head, files)
            head = Head(at + 1, git=git_paths(line))
        elif line.startswith(("diff --cc ", "diff --combined ")):
            raise PatchRefused(
                f"patch line {at + 1}: a merge's combined diff is not applied; send a plain one"
            )
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if head.chunks or head.old is not None:
                _close(head, files)
                head = Head(at + 1)
            head.old, head.new = name_of(line[4:]), name_of(lines[at + 1][4:])
            head.is_new = head.is_new or (is_epoch(line) and _adds_all(lines, at + 2))
            head.is_deleted = head.is_deleted or (is_epoch(lines[at + 1]) and _removes_all(lines, at + 2))
            at += 1
        elif HUNK.match(line):
            chunk, at = _hunk(lines, at)
            head.chunks.append(chunk)
            continue
        else:
            _extended(line, head, at + 1)
        at += 1
    _close(head, files)
    if not files:
        raise PatchRefused("this is no patch: no --- and +++ lines, and no *** Begin Patch")
    return tuple(files)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    # A patch that was saved with CRLF throughout says nothing about the file's own line ends.
    if lines and all(line.endswith("\r") for line in lines):
        return [line[:-1] for line in lines]
    return lines


def _extended(line: str, head: Head, place: int) -> None:
    line = line.rstrip("\r")
    if line.startswith(("new file mode ", "deleted file mode ", "old mode ", "new mode ")):
        words = line.split()
        mode = _mode(words[-1], place)
        head.is_new = head.is_new or (words[0] == "new" and words[1] == "file")
        head.is_deleted = head.is_deleted or words[0] == "deleted"
        head.mode = mode if words[0] == "new" else head.mode
    elif found := INDEX.match(line):
        _mode(found[1], place)
    elif line.startswith(("rename from ", "copy from ")):
        head.rename_from, head.is_copy = name_of(line.partition(" from ")[2]), line[0] == "c"
    elif line.startswith(("rename to ", "copy to ")):
        head.rename_to = name_of(line.partition(" to ")[2])
    elif line.startswith(("GIT binary patch", "Binary files ")):
        what = " and ".join(head.git or ()) or "a file"
        raise PatchRefused(
            f"patch line {place}: the part for {what} is binary; binary patches are not applied",
            "leave it out, or copy the file with shell",
        )
    elif line[:1] in "+-@" and line and not head.is_empty and not _is_foot(line):
        raise PatchRefused(
            f"patch line {place}: {line[:60]!r} stands outside of a hunk; its @@ line is missing"
        )


def _hunk(lines: list[str], at: int) -> tuple[Chunk, int]:
    place = at + 1
    header = HUNK.match(lines[at])
    if header is None:
        raise PatchRefused(f"patch line {place}: {lines[at]!r} is no hunk header")
    old_left, new_left = int(header[2] or "1"), int(header[4] or "1")
    body: list[tuple[Sign, str]] = []
    open_sides: set[Sign] = set()
    at += 1
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        line = lines[at]
        if line.startswith("\\"):
            open_sides.add(body[-1][0] if body else " ")
            at += 1
            continue
        sign = _sign(line)
        if sign is None:
            break
        old_left -= sign != "+"
        new_left -= sign != "-"
        body.append((sign, line[1:]))
        at += 1
    if old_left or new_left or (at < len(lines) and _goes_on(lines, at)):
        raise PatchRefused(
            f"patch line {place}: the hunk does not have as many lines as {header[0]!r} says",
            "send it whole, or use the *** Begin Patch form, which counts nothing",
        )
    old_open = bool(open_sides & {" ", "-"})
    return Chunk(
        place,
        tuple(body),
        start=int(header[1]),
        at_end=old_open,
        old_open=old_open,
        new_open=bool(open_sides & {" ", "+"}),
    ), at


def _sign(line: str) -> Sign | None:
    if line in ("", "\r"):
        return " "
    match line[0]:
        case " ":
            return " "
        case "-":
            return "-"
        case "+":
            return "+"
        case _:
            return None


def _goes_on(lines: list[str], at: int) -> bool:
    line = lines[at]
    if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
        return False
    # `-- ` with a version under it is the foot of a mailed patch (git-format-patch(1)).
    return line[:1] in ("+", "-", " ") and bool(line) and not _is_foot(line)


def _is_foot(line: str) -> bool:
    return line.rstrip() == "--"


def _mode(text: str, place: int) -> int:
    if not MODE.fullmatch(text):
        kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(text, "a special file")
        raise PatchRefused(f"patch line {place}: mode {text} is {kind}; only plain files are patched")
    return int(text, 8) & 0o777


def _adds_all(lines: list[str], at: int) -> bool:
    header = HUNK.match(lines[at]) if at < len(lines) else None
    return header is not None and header[1] == "0" and header[2] == "0"


def _removes_all(lines: list[str], at: int) -> bool:
    header = HUNK.match(lines[at]) if at < len(lines) else None
    return header is not None and header[3] == "0" and header[4] == "0"


def _close(head: Head, files: list[FilePatch]) -> None:
    if head.is_empty:
        if head.chunks:
            raise PatchRefused("the patch has hunks but names no file; put --- and +++ lines above them")
        return
    old, new = _names(head)
    chunks = tuple(head.chunks)
    file = FilePatch("update", "", head.place, chunks, mode=head.mode, counted=True)
    if new == DEV_NULL or head.is_deleted:
        path = checked_path(old if old != DEV_NULL else new, head.place)
        files.append(replace(file, action="delete", path=path, mode=None))
    elif old == DEV_NULL or head.is_new:
        files.append(replace(file, action="add", path=checked_path(new, head.place)))
    else:
        path, to = checked_path(old, head.place), checked_path(new, head.place)
        if not chunks and path == to and head.mode is None:
            raise PatchRefused(f"patch line {head.place}: the part for {path} changes nothing")
        action: Literal["copy", "update"] = "copy" if head.is_copy else "update"
        files.append(replace(file, action=action, path=path, to=to if to != path else ""))


def _names(head: Head) -> tuple[str, str]:
    if head.rename_from and head.rename_to:
        return head.rename_from, head.rename_to
    if head.old is not None and head.new is not None:
        old, new = stripped(head.old, head.new)
        # Without git's word for it two names are one file and its backup (`x.orig`), not a rename.
        is_rename = DEV_NULL not in (old, new) and old != new
        return (new, new) if is_rename and head.git is None else (old, new)
    if head.git is None:
        raise PatchRefused(f"patch line {head.place}: no file is named")
    return stripped(*head.git)
