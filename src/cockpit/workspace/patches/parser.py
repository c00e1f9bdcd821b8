"""Parses patches: unified diffs as git and diff write them, and the `*** Begin Patch` form.

Unified diffs include git's extended headers for new, deleted and renamed files and modes (git-diff(1),
"Generating patch text with -p"), git's quoted names and GNU diff's dates. The other form has Add, Update and
Delete File, Move to, `@@` anchors and End of File.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from cockpit.workspace.patches.values import FilePatch, LineSign, PatchChunk, PatchRefused, check_patch_path

DEV_NULL = "/dev/null"
PREFIXES = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("b/", "a/"))
DATED_NAME = re.compile(r"\t(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ([+-]\d{4})\s*$")
ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}


def parse_file_name(text: str) -> str:
    """The name on a `---` or `+++` line, without a date after it."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        return unquote(text)
    return text.split("\t")[0].rstrip(" ")


def is_epoch(line: str) -> bool:
    """Whether the line has the date that `diff -N` gives a file that does not exist."""
    date = DATED_NAME.search(line)
    if date is None:
        return False
    when = datetime.strptime(f"{date[1]} {date[2]}", "%Y-%m-%d %H:%M:%S %z")
    return when == datetime(1970, 1, 1, tzinfo=UTC)


def strip_prefixes(old: str, new: str) -> tuple[str, str]:
    """The two names of a file without git's prefixes, or without the folders that `diff -r` compared."""
    for left, right in PREFIXES:
        old_fits, new_fits = old == DEV_NULL or old.startswith(left), new == DEV_NULL or new.startswith(right)
        if old_fits and new_fits:
            return (old if old == DEV_NULL else old[2:]), (new if new == DEV_NULL else new[2:])
    (_, _, old_tail), (_, _, new_tail) = old.partition("/"), new.partition("/")
    if old != new and DEV_NULL not in (old, new) and old_tail and old_tail == new_tail:
        return old_tail, new_tail
    return old, new


def parse_git_paths(line: str) -> tuple[str, str]:
    """The two names of a `diff --git` line. Names with spaces are equal, so the middle separates them."""
    names = line[len("diff --git ") :].rstrip("\r")
    if names.startswith('"'):
        cut = _closing_quote(names)
        return parse_file_name(names[:cut]), parse_file_name(names[cut + 1 :])
    if names.endswith('"') and ' "' in names:
        old, _, new = names.partition(' "')
        return parse_file_name(old), parse_file_name(f'"{new}')
    middle = len(names) // 2
    if names[middle : middle + 1] == " " and names[:middle][2:] == names[middle + 1 :][2:]:
        return names[:middle], names[middle + 1 :]
    old, _, new = names.partition(" ")
    return parse_file_name(old), parse_file_name(new)


def _closing_quote(text: str) -> int:
    at = 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def unquote(text: str) -> str:
    """A name quoted by git: like C, with octal bytes (git-config(1), core.quotePath)."""
    body = text[1 : _closing_quote(text) - 1]
    out = bytearray()
    at = 0
    while at < len(body):
        if body[at] != "\\" or at + 1 == len(body):
            out += body[at].encode("utf-8", "surrogateescape")
            at += 1
        elif octal := re.match(r"[0-3][0-7]{2}", body[at + 1 :]):
            out.append(int(octal[0], 8))
            at += 4
        else:
            sign = body[at + 1]
            out += bytes([ESCAPES[sign]]) if sign in ESCAPES else sign.encode("utf-8", "surrogateescape")
            at += 2
    return out.decode("utf-8", "surrogateescape")


HUNK_LINE = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
REGULAR_MODE = re.compile(r"100[0-7]{3}")
INDEX_LINE = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+ (\d{6})$")


@dataclass(slots=True)
class PatchFileHeader:
    """What precedes the hunks of one file."""

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
    chunks: list[PatchChunk] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return self.git is None and self.old is None and self.new is None


def parse_unified_diff(text: str) -> tuple[FilePatch, ...]:
    """Raises `PatchRefused` with the line that cannot be read."""
    lines = _split_patch(text)
    files: list[FilePatch] = []
    head = PatchFileHeader(1)
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            _finish_file(head, files)
            head = PatchFileHeader(at + 1, git=parse_git_paths(line))
        elif line.startswith(("diff --cc ", "diff --combined ")):
            reason = "the combined diff of a merge cannot be applied; send a plain one"
            raise PatchRefused(f"patch line {at + 1}: {reason}")
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if head.chunks or head.old is not None:
                _finish_file(head, files)
                head = PatchFileHeader(at + 1)
            head.old, head.new = parse_file_name(line[4:]), parse_file_name(lines[at + 1][4:])
            head.is_new |= is_epoch(line) and _has_empty_side(lines, at + 2, "old")
            head.is_deleted |= is_epoch(lines[at + 1]) and _has_empty_side(lines, at + 2, "new")
            at += 1
        elif HUNK_LINE.match(line):
            chunk, at = _read_hunk(lines, at)
            head.chunks.append(chunk)
            continue
        else:
            _read_extended_header(line, head, at + 1)
        at += 1
    _finish_file(head, files)
    if not files:
        raise PatchRefused("this is not a patch: it has no --- and +++ lines and no *** Begin Patch")
    return tuple(files)


def _split_patch(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    # A patch saved with CRLF throughout says nothing about the line ends of the file.
    if lines and all(line.endswith("\r") for line in lines):
        return [line[:-1] for line in lines]
    return lines


def _read_extended_header(line: str, head: PatchFileHeader, place: int) -> None:
    line = line.rstrip("\r")
    if line.startswith(("new file mode ", "deleted file mode ", "old mode ", "new mode ")):
        words = line.split()
        mode = _parse_mode(words[-1], place)
        head.is_new = head.is_new or (words[0] == "new" and words[1] == "file")
        head.is_deleted = head.is_deleted or words[0] == "deleted"
        head.mode = mode if words[0] == "new" else head.mode
    elif index := INDEX_LINE.match(line):
        _parse_mode(index[1], place)
    elif line.startswith(("rename from ", "copy from ")):
        head.rename_from, head.is_copy = parse_file_name(line.partition(" from ")[2]), line[0] == "c"
    elif line.startswith(("rename to ", "copy to ")):
        head.rename_to = parse_file_name(line.partition(" to ")[2])
    elif line.startswith(("GIT binary patch", "Binary files ")):
        names = " and ".join(head.git or ()) or "a file"
        reason = f"the part for {names} is binary; binary patches are not applied"
        raise PatchRefused(f"patch line {place}: {reason}", "leave it out, or copy the file with shell")
    elif line[:1] in "+-@" and line and not head.is_empty and not _is_mail_footer(line):
        raise PatchRefused(f"patch line {place}: {line[:60]!r} is outside of a hunk; its @@ line is missing")


def _read_hunk(lines: list[str], at: int) -> tuple[PatchChunk, int]:
    place = at + 1
    header = HUNK_LINE.match(lines[at])
    if header is None:
        raise PatchRefused(f"patch line {place}: {lines[at]!r} is not a hunk header")
    old_left, new_left = int(header[2] or "1"), int(header[4] or "1")
    body: list[tuple[LineSign, str]] = []
    open_sides: set[LineSign] = set()
    at += 1
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        line = lines[at]
        if line.startswith("\\"):
            open_sides.add(body[-1][0] if body else " ")
            at += 1
            continue
        sign = _line_sign(line)
        if sign is None:
            break
        old_left -= sign != "+"
        new_left -= sign != "-"
        body.append((sign, line[1:]))
        at += 1
    if old_left or new_left or (at < len(lines) and _continues_hunk(lines, at)):
        reason = f"patch line {place}: the hunk does not have as many lines as its header {header[0]!r} says"
        raise PatchRefused(reason, "send it whole, or use the *** Begin Patch form, which has no line counts")
    old_open, new_open = bool(open_sides & {" ", "-"}), bool(open_sides & {" ", "+"})
    return PatchChunk(place, tuple(body), int(header[1]), (), old_open, old_open, new_open), at


def _line_sign(line: str) -> LineSign | None:
    """The sign of a line in a hunk; an empty line is context whose space was stripped."""
    if line in ("", "\r"):
        return " "
    signs: tuple[LineSign, ...] = (" ", "-", "+")
    return next((sign for sign in signs if line[0] == sign), None)


def _continues_hunk(lines: list[str], at: int) -> bool:
    line = lines[at]
    if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
        return False
    # `-- ` with a version below it is the footer of a mailed patch (git-format-patch(1)).
    return line[:1] in ("+", "-", " ") and bool(line) and not _is_mail_footer(line)


def _is_mail_footer(line: str) -> bool:
    return line.rstrip() == "--"


def _parse_mode(text: str, place: int) -> int:
    if not REGULAR_MODE.fullmatch(text):
        kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(text, "a special file")
        raise PatchRefused(f"patch line {place}: mode {text} is {kind}; only plain files are patched")
    return int(text, 8) & 0o777


def _has_empty_side(lines: list[str], at: int, side: Literal["old", "new"]) -> bool:
    """Whether the hunk at this line says that one side of it has no lines."""
    header = HUNK_LINE.match(lines[at]) if at < len(lines) else None
    return header is not None and header.group(*((1, 2) if side == "old" else (3, 4))) == ("0", "0")


def _finish_file(head: PatchFileHeader, files: list[FilePatch]) -> None:
    if head.is_empty:
        if head.chunks:
            raise PatchRefused("the patch has hunks but names no file; put --- and +++ lines above them")
        return
    old, new = _file_names(head)
    chunks = tuple(head.chunks)
    file = FilePatch("update", "", head.place, chunks, mode=head.mode, counted=True)
    if new == DEV_NULL or head.is_deleted:
        path = check_patch_path(old if old != DEV_NULL else new, head.place)
        files.append(replace(file, action="delete", path=path, mode=None))
    elif old == DEV_NULL or head.is_new:
        files.append(replace(file, action="add", path=check_patch_path(new, head.place)))
    else:
        path, to = check_patch_path(old, head.place), check_patch_path(new, head.place)
        if not chunks and path == to and head.mode is None:
            raise PatchRefused(f"patch line {head.place}: the part for {path} changes nothing")
        action: Literal["copy", "update"] = "copy" if head.is_copy else "update"
        files.append(replace(file, action=action, path=path, to=to if to != path else ""))


def _file_names(head: PatchFileHeader) -> tuple[str, str]:
    if head.rename_from and head.rename_to:
        return head.rename_from, head.rename_to
    if head.old is not None and head.new is not None:
        old, new = strip_prefixes(head.old, head.new)
        # Without a git header two names are a file and its backup (`x.orig`), not a rename.
        is_rename = DEV_NULL not in (old, new) and old != new
        return (new, new) if is_rename and head.git is None else (old, new)
    if head.git is None:
        raise PatchRefused(f"patch line {head.place}: the part names no file")
    return strip_prefixes(*head.git)


BEGIN, END = "*** Begin Patch", "*** End Patch"
ENVELOPE_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): ?(.*?)\s*$")
HUNK_HEADER = re.compile(r"@@ -\d+(,\d+)? \+\d+(,\d+)? @@")
END_OF_FILE = "*** End of File"


def is_envelope(text: str) -> bool:
    """Whether the text contains a patch in this form. A diff of a file that contains one does not count."""
    for line in text.split("\n"):
        if line.startswith("diff --git ") or HUNK_HEADER.match(line):
            return False
        if line.strip() == BEGIN:
            return True
    return False


def parse_envelope(text: str) -> tuple[FilePatch, ...]:
    """Raises `PatchRefused` with the line that cannot be read."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    marks = [line.strip() for line in lines]
    start = marks.index(BEGIN)
    if END not in marks[start:]:
        raise PatchRefused(f"the patch has no {END!r} line; it may be cut off: send it whole")
    # Context may contain an end line, with its sign in front: the last one counts.
    end = len(marks) - 1 - marks[::-1].index(END)
    if BEGIN in lines[start + 1 :]:
        raise PatchRefused("there is more than one *** Begin Patch; put all files into one patch")
    files = _read_files(lines, start + 1, end)
    if not files:
        raise PatchRefused("the patch names no file; add *** Update File: PATH and its lines")
    return files


def _read_files(lines: list[str], at: int, end: int) -> tuple[FilePatch, ...]:
    files: list[FilePatch] = []
    while at < end:
        header = ENVELOPE_HEADER.match(lines[at].strip())
        if not lines[at].strip():
            at += 1
            continue
        if header is None or header[1] == "Move to":
            raise PatchRefused(
                f"patch line {at + 1}: {lines[at]!r} is not a file header",
                "write *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
            )
        path = check_patch_path(header[2], at + 1)
        match header[1]:
            case "Add File":
                file, at = _read_added_file(lines, at, end, path)
            case "Update File":
                file, at = _read_updated_file(lines, at, end, path)
            case _:
                file, at = FilePatch("delete", path, at + 1), at + 1
        files.append(file)
    return tuple(files)


def _read_added_file(lines: list[str], at: int, end: int, path: str) -> tuple[FilePatch, int]:
    place = at + 1
    at += 1
    content: list[tuple[LineSign, str]] = []
    while at < end and not _is_envelope_header(lines[at]):
        if not lines[at].startswith("+"):
            if any(line.strip() for line in lines[at:end]):
                raise PatchRefused(f"patch line {at + 1}: every line of an added file starts with +")
            at = end
            break
        content.append(("+", lines[at][1:]))
        at += 1
    return FilePatch("add", path, place, (PatchChunk(place, tuple(content)),)), at


def _read_updated_file(lines: list[str], at: int, end: int, path: str) -> tuple[FilePatch, int]:
    file = FilePatch("update", path, at + 1)
    at += 1
    if at < end and (move := ENVELOPE_HEADER.match(lines[at].strip())) and move[1] == "Move to":
        file = replace(file, to=check_patch_path(move[2], at + 1))
        at += 1
    chunks: list[PatchChunk] = []
    while at < end and not _is_envelope_header(lines[at]):
        if not lines[at].strip() and not any(line.strip() for line in lines[at:end]):
            at = end
            break
        chunk, at = _read_chunk(lines, at, end)
        chunks.append(chunk)
    if not chunks and not file.to:
        raise PatchRefused(f"patch line {file.place}: the update of {path} changes nothing; add its lines")
    return replace(file, chunks=tuple(chunks)), at


def _read_chunk(lines: list[str], at: int, end: int) -> tuple[PatchChunk, int]:
    place = at + 1
    anchors: list[str] = []
    while at < end and lines[at].startswith("@@"):
        if anchor := _parse_anchor(lines[at]):
            anchors.append(anchor)
        at += 1
    body: list[tuple[LineSign, str]] = []
    at_end = False
    while at < end and not lines[at].startswith("@@") and not _is_envelope_header(lines[at]):
        if lines[at].rstrip() == END_OF_FILE:
            at_end = True
            at += 1
            break
        body.append(_parse_line(lines[at], at + 1))
        at += 1
    if at >= end or _is_envelope_header(lines[at]):
        # Blank lines before the next header separate the files of a patch and are not context.
        last = at
        while body and lines[last - 1] == "":
            body.pop()
            last -= 1
    if not any(sign != " " for sign, _ in body):
        raise PatchRefused(f"patch line {place}: this part adds and removes nothing; mark lines with + or -")
    return PatchChunk(place, tuple(body), anchors=tuple(anchors), at_end=at_end), at


def _parse_line(line: str, place: int) -> tuple[LineSign, str]:
    sign = _line_sign(line)
    if sign is None:
        reason = f"patch line {place}: {line[:60]!r} starts with neither space, + nor -"
        raise PatchRefused(reason, "every line of a change starts with one of them")
    return sign, line[1:]


def _parse_anchor(line: str) -> str:
    """The text of `@@ text` (or `@@ text @@`), without the numbers of a unified header."""
    text = line[2:].strip()
    if numbers := re.match(r"-\d+(,\d+)? \+\d+(,\d+)? @@(.*)", text):
        return numbers[3].strip()
    return text.removesuffix("@@").strip()


def _is_envelope_header(line: str) -> bool:
    """Inside a change only a line that begins with the stars is a header: context may contain anything."""
    return ENVELOPE_HEADER.match(line) is not None
