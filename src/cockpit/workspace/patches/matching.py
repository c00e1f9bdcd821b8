"""Where a chunk belongs in a text, and the text with it applied. Lines end at \\n and nowhere else.

Four ways to be equal, the strictest first: to the letter; but for a CR and a byte order mark; but for
space at the end; and, for context alone, but for space around and typographic signs. What would be
removed must be there: the last way is never used on it.
"""

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from cockpit.workspace.patches.values import Chunk, PatchRefused, Sign

BOM = "\ufeff"
LEVELS = (0, 1, 2, 3)
EXACT = (0, 1)
NOTES = {2: "matched but for space at line ends", 3: "matched context but for space and typographic signs"}
SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a chunk's old lines stand: from line `at` (counted from 0), by which way."""

    chunk: Chunk
    at: int
    level: int


@dataclass(frozen=True, slots=True)
class Patched:
    """A text with its chunks applied. `notes` say what did not match to the letter."""

    text: str
    notes: tuple[str, ...]


def patched(text: str, chunks: tuple[Chunk, ...], name: str) -> Patched:
    """`text` with all chunks. Raises `PatchRefused` with the place in both texts."""
    lines = text.split("\n")
    ends = lines.pop() if lines[-1] == "" else None
    spots: list[Spot] = []
    for number, chunk in enumerate(chunks, 1):
        where = f"{name}, part {number} (patch line {chunk.place})"
        spots.append(
            _numbered(lines, chunk, spots, where)
            if chunk.start is not None
            else _sought(lines, chunk, spots, where)
        )
    ordered = sorted(spots, key=lambda spot: spot.at)
    for one, other in pairwise(ordered):
        if one.at + len(one.chunk.old) > other.at:
            raise PatchRefused(f"{name}: two parts of the patch change line {other.at + 1}; join them")
    made = _applied(lines, ordered)
    closed = _is_closed(chunks, ends is not None or not lines)
    notes = tuple(note for number, spot in enumerate(spots, 1) if (note := _note(spot, number, name)))
    return Patched("\n".join(made) + ("\n" if made and closed else ""), notes)


def _is_closed(chunks: tuple[Chunk, ...], was: bool) -> bool:
    """Whether the new text ends in a newline: as the patch says, else as it was."""
    if any(chunk.new_open for chunk in chunks):
        return False
    return True if any(chunk.old_open for chunk in chunks) else was


def _note(spot: Spot, number: int, name: str) -> str:
    if spot.level in NOTES:
        return f"{name}: part {number} {NOTES[spot.level]} (line {spot.at + 1})"
    start = spot.chunk.start
    if start is not None and spot.chunk.old and spot.at + 1 != start and spot.chunk.lines[0][0] != "+":
        return f"{name}: part {number} found at line {spot.at + 1}, not {start}"
    return ""


def _numbered(lines: list[str], chunk: Chunk, before: list[Spot], where: str) -> Spot:
    """A unified hunk: where its number says, or where its lines stand once and to the letter."""
    old, start = chunk.old, chunk.start or 0
    if not old:
        if start > len(lines):
            raise PatchRefused(f"{where}: there is no line {start}; the file has {len(lines)}")
        return Spot(chunk, start, 0)
    shift = before[-1].at - ((before[-1].chunk.start or 1) - 1) if before and before[-1].chunk.old else 0
    for level in EXACT:
        for at in (start - 1 + shift, start - 1):
            if _fits(lines, at, chunk, level):
                return Spot(chunk, at, level)
    for level in EXACT:
        found = _all(lines, chunk, level, 0)
        if len(found) == 1:
            return Spot(chunk, found[0], level)
        if found:
            places = _places(found)
            raise PatchRefused(
                f"{where}: not at line {start}, and it fits at lines {places}; correct the number"
            )
    raise _missing(lines, chunk, where)


def _sought(lines: list[str], chunk: Chunk, before: list[Spot], where: str) -> Spot:
    """A chunk without numbers: below its anchors, else the one place where it fits."""
    start = before[-1].at + len(before[-1].chunk.old) if before else 0
    if not chunk.old:
        return Spot(chunk, _insertion(lines, chunk, start, where), 0)
    starts = _below_anchors(lines, chunk.anchors, start, where) if chunk.anchors else (start,)
    for level in LEVELS:
        found = _candidates(lines, chunk, level, starts)
        if not found and not chunk.anchors:
            found = _all(lines, chunk, level, 0)
        if len(found) > 1:
            raise PatchRefused(
                f"{where}: it fits at lines {_places(found)}",
                "add context lines, or an @@ line with the function or class above it",
            )
        if found:
            return Spot(chunk, found[0], level)
    raise _missing(lines, chunk, where)


def _candidates(lines: list[str], chunk: Chunk, level: int, starts: tuple[int, ...]) -> list[int]:
    if not chunk.anchors:
        return _all(lines, chunk, level, starts[0])
    found: list[int] = []
    for start in starts:
        below = _all(lines, chunk, level, start)
        # Without anchor text of its own the first place below is meant: that is what an anchor is for.
        if below and below[0] not in found:
            found.append(below[0])
    return found


def _below_anchors(lines: list[str], anchors: tuple[str, ...], start: int, where: str) -> tuple[int, ...]:
    """The lines that follow the last anchor: one for each place where the anchors stand in order."""
    starts: tuple[int, ...] = (start,)
    for anchor in anchors:
        found: list[int] = []
        for begin in starts:
            hits = _anchor_hits(lines, anchor, begin) or (
                _anchor_hits(lines, anchor, 0) if begin == start else []
            )
            found += [hit + 1 for hit in hits if hit + 1 not in found]
        if not found:
            raise PatchRefused(f"{where}: there is no line {anchor!r} to anchor at", _nearest(lines, anchor))
        starts = tuple(found)
    return starts


def _anchor_hits(lines: list[str], anchor: str, start: int) -> list[int]:
    for same in (lambda line: line.strip() == anchor, lambda line: _plain(line) == _plain(anchor)):
        if hits := [at for at in range(start, len(lines)) if same(lines[at])]:
            return hits
    return []


def _insertion(lines: list[str], chunk: Chunk, start: int, where: str) -> int:
    """Where lines go that say nothing of what is around: below the anchor, else at the end."""
    if not chunk.anchors:
        return len(lines)
    found = _below_anchors(lines, chunk.anchors, start, where)
    if len(found) > 1:
        places = _places([at - 1 for at in found])
        raise PatchRefused(f"{where}: the anchor stands at lines {places}; add a second @@ line above it")
    return found[0]


def _all(lines: list[str], chunk: Chunk, level: int, start: int) -> list[int]:
    last = len(lines) - len(chunk.old)
    first = last if chunk.at_end else start
    return [at for at in range(max(first, 0), last + 1) if _fits(lines, at, chunk, level)]


def _fits(lines: list[str], at: int, chunk: Chunk, level: int) -> bool:
    old = chunk.old
    if at < 0 or at + len(old) > len(lines) or (chunk.at_end and at + len(old) != len(lines)):
        return False
    return all(_same(lines[at + step], text, sign, level) for step, (sign, text) in enumerate(old))


def _same(line: str, text: str, sign: Sign, level: int) -> bool:
    if line == text:
        return True
    match level if sign == " " else min(level, 2):
        case 0:
            return False
        case 1:
            return _bare(line) == _bare(text)
        case 2:
            return _bare(line).rstrip() == _bare(text).rstrip()
        case _:
            return _plain(line) == _plain(text)


def _bare(line: str) -> str:
    return line.removesuffix("\r").removeprefix(BOM)


def _plain(line: str) -> str:
    return unicodedata.normalize("NFC", _bare(line)).translate(SIGNS).strip()


def _applied(lines: list[str], spots: list[Spot]) -> list[str]:
    out: list[str] = []
    at = 0
    crlf = sum(line.endswith("\r") for line in lines) * 2 > len(lines)
    for spot in spots:
        out += lines[at : spot.at]
        at = spot.at + len(spot.chunk.old)
        out += _replaced(lines[spot.at : at], spot, crlf)
    out += lines[at:]
    if lines and lines[0].startswith(BOM) and out and not _drops_mark(spots):
        out[0] = BOM + out[0].removeprefix(BOM)
    return out


def _drops_mark(spots: list[Spot]) -> bool:
    """Whether the patch itself says that the byte order mark goes."""
    return any(sign == "-" and text.startswith(BOM) for spot in spots for sign, text in spot.chunk.lines[:1])


def _replaced(old: list[str], spot: Spot, crlf: bool) -> list[str]:
    """The chunk's new lines: context as the file has it, additions with the line ends around them."""
    to_the_letter = spot.level == 0 and (bool(old) or spot.chunk.start is not None)
    if old:
        crlf = sum(line.endswith("\r") for line in old) * 2 > len(old)
    out: list[str] = []
    at = 0
    for sign, text in spot.chunk.lines:
        if sign == "+":
            out.append(text if to_the_letter else text.removesuffix("\r") + ("\r" if crlf else ""))
            continue
        if sign == " ":
            out.append(old[at])
        at += 1
    return out


def _missing(lines: list[str], chunk: Chunk, where: str) -> PatchRefused:
    first = next((text for sign, text in chunk.old if text.strip()), "")
    if chunk.at_end:
        return PatchRefused(f"{where}: its lines are not the last of the file", _nearest(lines, first))
    for at in range(len(lines)):
        if _plain(lines[at]) == _plain(first):
            wrong = _first_difference(lines, at, chunk)
            if wrong:
                return PatchRefused(f"{where}: {wrong}", "read the file again and copy the lines")
    return PatchRefused(f"{where}: there is no line {first[:80]!r}", _nearest(lines, first))


def _first_difference(lines: list[str], at: int, chunk: Chunk) -> str:
    at -= next(step for step, (_, text) in enumerate(chunk.old) if text.strip())
    for step, (sign, text) in enumerate(chunk.old):
        here = lines[at + step] if 0 <= at + step < len(lines) else None
        if here is None:
            return f"the file ends at line {len(lines)}, before {text[:80]!r}"
        if not _same(here, text, sign, 3):
            return f"line {at + step + 1} is {here[:80]!r}, not {text[:80]!r}"
    return ""


def _nearest(lines: list[str], text: str) -> str:
    close = get_close_matches(text, lines[:20_000], 1, 0.6) if text.strip() else []
    if not close:
        return "read the file again and copy its lines"
    return f"the nearest is line {lines.index(close[0]) + 1}: {close[0][:80]!r}"


def _places(found: list[int]) -> str:
    shown = ", ".join(str(at + 1) for at in found[:8])
    return shown + (f" and {len(found) - 8} more" if len(found) > 8 else "")
