"""The `*** Begin Patch` form: Add, Update and Delete File, Move to, `@@` anchors, End of File."""

import re
from dataclasses import replace

from cockpit.workspace.patches.values import Chunk, FilePatch, PatchRefused, Sign, checked_path

BEGIN, END = "*** Begin Patch", "*** End Patch"
HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): ?(.*?)\s*$")
HUNK_HEADER = re.compile(r"@@ -\d+(,\d+)? \+\d+(,\d+)? @@")
END_OF_FILE = "*** End of File"


def is_envelope(text: str) -> bool:
    """Whether the text holds a patch of this form. A diff of a file that holds one is none."""
    for line in text.split("\n"):
        if line.startswith("diff --git ") or HUNK_HEADER.match(line):
            return False
        if line.strip() == BEGIN:
            return True
    return False


def parsed(text: str) -> tuple[FilePatch, ...]:
    """Raises `PatchRefused` with the line that cannot be read."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    marks = [line.strip() for line in lines]
    start = marks.index(BEGIN)
    if END not in marks[start:]:
        raise PatchRefused(f"the patch has no {END!r} line; it may be cut off: send it whole")
    # Context may hold the words of an end, with its sign before it: the last one counts.
    end = len(marks) - 1 - marks[::-1].index(END)
    if BEGIN in lines[start + 1 :]:
        raise PatchRefused("there is more than one *** Begin Patch; put all files into one patch")
    files = _files(lines, start + 1, end)
    if not files:
        raise PatchRefused("the patch names no file; add *** Update File: PATH and its lines")
    return files


def _files(lines: list[str], at: int, end: int) -> tuple[FilePatch, ...]:
    files: list[FilePatch] = []
    while at < end:
        header = HEADER.match(lines[at].strip())
        if not lines[at].strip():
            at += 1
            continue
        if header is None or header[1] == "Move to":
            raise PatchRefused(
                f"patch line {at + 1}: {lines[at]!r} is no file header",
                "write *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
            )
        path = checked_path(header[2], at + 1)
        match header[1]:
            case "Add File":
                file, at = _added(lines, at, end, path)
            case "Update File":
                file, at = _updated(lines, at, end, path)
            case _:
                file, at = FilePatch("delete", path, at + 1), at + 1
        files.append(file)
    return tuple(files)


def _added(lines: list[str], at: int, end: int, path: str) -> tuple[FilePatch, int]:
    place = at + 1
    at += 1
    content: list[tuple[Sign, str]] = []
    while at < end and not _is_header(lines[at]):
        if not lines[at].startswith("+"):
            if not any(line.strip() for line in lines[at:end]):
                return _add(path, place, content), end
            raise PatchRefused(f"patch line {at + 1}: every line of an added file starts with +")
        content.append(("+", lines[at][1:]))
        at += 1
    return _add(path, place, content), at


def _add(path: str, place: int, content: list[tuple[Sign, str]]) -> FilePatch:
    return FilePatch("add", path, place, (Chunk(place, tuple(content)),))


def _updated(lines: list[str], at: int, end: int, path: str) -> tuple[FilePatch, int]:
    file = FilePatch("update", path, at + 1)
    at += 1
    if at < end and (move := HEADER.match(lines[at].strip())) and move[1] == "Move to":
        file = replace(file, to=checked_path(move[2], at + 1))
        at += 1
    chunks: list[Chunk] = []
    while at < end and not _is_header(lines[at]):
        if not lines[at].strip() and not any(line.strip() for line in lines[at:end]):
            at = end
            break
        chunk, at = _chunk(lines, at, end)
        chunks.append(chunk)
    if not chunks and not file.to:
        raise PatchRefused(f"patch line {file.place}: the update of {path} changes nothing; add its lines")
    return replace(file, chunks=tuple(chunks)), at


def _chunk(lines: list[str], at: int, end: int) -> tuple[Chunk, int]:
    place = at + 1
    anchors: list[str] = []
    while at < end and lines[at].startswith("@@"):
        if anchor := _anchor(lines[at]):
            anchors.append(anchor)
        at += 1
    body: list[tuple[Sign, str]] = []
    at_end = False
    while at < end and not lines[at].startswith("@@") and not _is_header(lines[at]):
        if lines[at].rstrip() == END_OF_FILE:
            at_end = True
            at += 1
            break
        body.append(_line(lines[at], at + 1))
        at += 1
    if at >= end or _is_header(lines[at]):
        _drop_blank_tail(body, lines, at)
    if not any(sign != " " for sign, _ in body):
        raise PatchRefused(f"patch line {place}: this part adds and removes nothing; mark lines with + or -")
    return Chunk(place, tuple(body), anchors=tuple(anchors), at_end=at_end), at


def _drop_blank_tail(body: list[tuple[Sign, str]], lines: list[str], at: int) -> None:
    """Blank lines before the next header part the files of a patch; they are no context."""
    while body and lines[at - 1] == "":
        body.pop()
        at -= 1


def _line(line: str, place: int) -> tuple[Sign, str]:
    if line == "":
        return (" ", "")
    match line[0]:
        case " ":
            return (" ", line[1:])
        case "-":
            return ("-", line[1:])
        case "+":
            return ("+", line[1:])
        case _:
            raise PatchRefused(
                f"patch line {place}: {line[:60]!r} starts with neither space, + nor -",
                "every line of a change starts with one of them",
            )


def _anchor(line: str) -> str:
    """The text of `@@ text` (or `@@ text @@`). A unified header's numbers are no anchor: what stands
    after them is."""
    text = line[2:].strip()
    if numbers := re.match(r"-\d+(,\d+)? \+\d+(,\d+)? @@(.*)", text):
        return numbers[3].strip()
    return text.removesuffix("@@").strip()


def _is_header(line: str) -> bool:
    """Within a change only a line that begins with its stars is one: context may hold anything."""
    return HEADER.match(line) is not None
