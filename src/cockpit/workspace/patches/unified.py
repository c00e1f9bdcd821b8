"""Unified diffs as git and diff write them: `---`, `+++`, `@@ -a,b +c,d @@`, and git's extended
headers for new, deleted, renamed files and modes (git-diff(1), "Generating patch text with -p")."""

import re
from dataclasses import dataclass, field

from cockpit.workspace.patches.values import Chunk, FilePatch, PatchRefused, Sign, checked_path

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
DEV_NULL = "/dev/null"
PREFIXES = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"))
MODES = {"100644": 0o644, "100755": 0o755, "100600": 0o600, "100664": 0o664, "100640": 0o640}
SKIPPED = ("index ", "similarity index ", "dissimilarity index ", "Index: ", "=====", "Only in ")


@dataclass(slots=True)
class Head:
    """What stood above the hunks of one file."""

    place: int
    git: tuple[str, str] | None = None
    old: str | None = None
    new: str | None = None
    rename_from: str = ""
    rename_to: str = ""
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
            head = Head(at + 1, git=_git_paths(line))
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if head.chunks or head.old is not None:
                _close(head, files)
                head = Head(at + 1)
            head.old, head.new = _path(line[4:]), _path(lines[at + 1][4:])
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
        mode = words[-1]
        if mode not in MODES:
            kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, "a special file")
            raise PatchRefused(f"patch line {place}: mode {mode} is {kind}; only plain files are patched")
        head.is_new = head.is_new or (words[0] == "new" and words[1] == "file")
        head.is_deleted = head.is_deleted or words[0] == "deleted"
        head.mode = MODES[mode] if words[0] == "new" else head.mode
    elif line.startswith("rename from "):
        head.rename_from = _path(line[12:])
    elif line.startswith("rename to "):
        head.rename_to = _path(line[10:])
    elif line.startswith(("copy from ", "copy to ")):
        raise PatchRefused(f"patch line {place}: copies are not applied; add the new file with its lines")
    elif line.startswith(("GIT binary patch", "Binary files ")):
        raise PatchRefused(f"patch line {place}: binary patches are not applied; copy the file with shell")
    elif line[:1] in "+-@" and line and not head.is_empty:
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
    return line[:1] in ("+", "-", " ") and bool(line) and line.rstrip() != "--"


def _close(head: Head, files: list[FilePatch]) -> None:
    if head.is_empty:
        if head.chunks:
            raise PatchRefused("the patch has hunks but names no file; put --- and +++ lines above them")
        return
    old, new = _names(head)
    if new == DEV_NULL or head.is_deleted:
        path = checked_path(old if old != DEV_NULL else new, head.place)
        files.append(FilePatch("delete", path, head.place, tuple(head.chunks)))
    elif old == DEV_NULL or head.is_new:
        path = checked_path(new, head.place)
        files.append(FilePatch("add", path, head.place, tuple(head.chunks), mode=head.mode))
    else:
        path, to = checked_path(old, head.place), checked_path(new, head.place)
        if not head.chunks and path == to and head.mode is None:
            raise PatchRefused(f"patch line {head.place}: the part for {path} changes nothing")
        moved = to if to != path else ""
        files.append(FilePatch("update", path, head.place, tuple(head.chunks), moved, head.mode))


def _names(head: Head) -> tuple[str, str]:
    if head.rename_from and head.rename_to:
        return head.rename_from, head.rename_to
    if head.old is not None and head.new is not None:
        old, new = _stripped(head.old, head.new)
        # Without git's word for it two names are one file and its backup (`x.orig`), not a rename.
        is_rename = DEV_NULL not in (old, new) and old != new
        return (new, new) if is_rename and head.git is None else (old, new)
    if head.git is None:
        raise PatchRefused(f"patch line {head.place}: no file is named")
    return _stripped(*head.git)


def _stripped(old: str, new: str) -> tuple[str, str]:
    for left, right in PREFIXES:
        old_fits, new_fits = old == DEV_NULL or old.startswith(left), new == DEV_NULL or new.startswith(right)
        if old_fits and new_fits:
            return (old if old == DEV_NULL else old[2:]), (new if new == DEV_NULL else new[2:])
    return old, new


def _path(text: str) -> str:
    text = text.rstrip("\r")
    if text.startswith('"'):
        return _unquoted(text)
    return text.split("\t")[0].rstrip(" ")


def _git_paths(line: str) -> tuple[str, str]:
    """The two names of a `diff --git` line. Names with spaces are equal, so the middle parts them."""
    rest = line[len("diff --git ") :].rstrip("\r")
    if rest.startswith('"'):
        cut = rest.index('"', 1) + 1
        while rest[cut - 2] == "\\":
            cut = rest.index('"', cut) + 1
        return _path(rest[:cut]), _path(rest[cut + 1 :])
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " " and rest[:middle][2:] == rest[middle + 1 :][2:]:
        return rest[:middle], rest[middle + 1 :]
    old, _, new = rest.partition(" ")
    return _path(old), _path(new)


def _unquoted(text: str) -> str:
    """A name as git quotes it, in C's way with octal bytes (git-config(1), core.quotePath)."""
    body = text[1 : text.rindex('"')] if text.rindex('"') > 0 else text[1:]
    out = bytearray()
    simple = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}
    at = 0
    while at < len(body):
        if body[at] != "\\" or at + 1 == len(body):
            out += body[at].encode()
            at += 1
        elif octal := re.match(r"[0-3][0-7]{2}", body[at + 1 :]):
            out.append(int(octal[0], 8))
            at += 4
        else:
            sign = body[at + 1]
            out += bytes([simple[sign]]) if sign in simple else sign.encode()
            at += 2
    return out.decode("utf-8", "surrogateescape")
