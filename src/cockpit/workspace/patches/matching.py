"""Where a chunk belongs in a text, and the text with it applied. Lines end at \\n and nowhere else.

`comparing` says when two lines are equal; a stricter way anywhere beats a laxer one nearby.
"""

from dataclasses import dataclass
from itertools import pairwise

from cockpit.workspace.patches.comparing import BOM, plain, same
from cockpit.workspace.patches.missing import Where, missing, nearest, places
from cockpit.workspace.patches.values import Chunk, How, PatchRefused, Placed

LEVELS = (0, 1, 2, 3)
EXACT = (0, 1)
HOW: tuple[How, ...] = ("exact", "line ends", "trailing space", "space or typographic signs")
NOTES = {2: "matched but for space at line ends", 3: "matched context but for space and typographic signs"}


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
    placed: tuple[Placed, ...] = ()


def patched(text: str, chunks: tuple[Chunk, ...], name: str) -> Patched:
    """`text` with all chunks. Raises `PatchRefused` with the place in both texts."""
    lines = text.split("\n")
    ends = lines.pop() if lines[-1] == "" else None
    spots: list[Spot] = []
    for number, chunk in enumerate(chunks, 1):
        where = Where(name, number, chunk.place)
        spots.append(
            _numbered(lines, chunk, spots, where)
            if chunk.start is not None
            else _sought(lines, chunk, spots, where)
        )
    ordered = sorted(spots, key=lambda spot: spot.at)
    for one, other in pairwise(ordered):
        if one.at + len(one.chunk.old) > other.at:
            number = spots.index(other) + 1
            reason = f"two parts of the patch change line {other.at + 1}; join them"
            raise PatchRefused(f"{name}: {reason}", path=name, hunk=number, place=other.chunk.place)
    made = _applied(lines, ordered)
    closed = _is_closed(chunks, ends is not None or not lines)
    notes = tuple(note for number, spot in enumerate(spots, 1) if (note := _note(spot, number, name)))
    placed = tuple(
        Placed(number, spot.chunk.place, spot.at + 1, spot.chunk.start, HOW[spot.level])
        for number, spot in enumerate(spots, 1)
    )
    return Patched("\n".join(made) + ("\n" if made and closed else ""), notes, placed)


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


def _numbered(lines: list[str], chunk: Chunk, before: list[Spot], where: Where) -> Spot:
    """A unified hunk: where its number says, or where its lines stand once and to the letter."""
    old, start = chunk.old, chunk.start or 0
    shift = next((one.at - ((one.chunk.start or 1) - 1) for one in reversed(before) if one.chunk.old), 0)
    if not old:
        # Nothing to compare with: it goes where the hunks before it went.
        at = start + shift if start else 0
        if not 0 <= at <= len(lines):
            raise where.refused(f"there is no line {at}; the file has {len(lines)}")
        return Spot(chunk, at, 0)
    for level in EXACT:
        for at in (start - 1 + shift, start - 1):
            if _fits(lines, at, chunk, level):
                return Spot(chunk, at, level)
    for level in EXACT:
        found = _all(lines, chunk, level, 0)
        if len(found) == 1:
            return Spot(chunk, found[0], level)
        if found:
            at_lines = places(found)
            raise where.refused(f"not at line {start}, and it fits at lines {at_lines}; correct the number")
    raise missing(lines, chunk, where)


def _sought(lines: list[str], chunk: Chunk, before: list[Spot], where: Where) -> Spot:
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
            raise where.refused(
                f"it fits at lines {places(found)}",
                "add context lines, or an @@ line with the function or class above it",
            )
        if found:
            return Spot(chunk, found[0], level)
    raise missing(lines, chunk, where)


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


def _below_anchors(lines: list[str], anchors: tuple[str, ...], start: int, where: Where) -> tuple[int, ...]:
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
            raise where.refused(f"there is no line {anchor!r} to anchor at", *nearest(lines, anchor))
        starts = tuple(found)
    return starts


def _anchor_hits(lines: list[str], anchor: str, start: int) -> list[int]:
    for fits in (lambda line: line.strip() == anchor, lambda line: plain(line) == plain(anchor)):
        if hits := [at for at in range(start, len(lines)) if fits(lines[at])]:
            return hits
    return []


def _insertion(lines: list[str], chunk: Chunk, start: int, where: Where) -> int:
    """Where lines go that say nothing of what is around: below the anchor, else at the end."""
    if not chunk.anchors:
        return len(lines)
    found = _below_anchors(lines, chunk.anchors, start, where)
    if len(found) > 1:
        at_lines = places([at - 1 for at in found])
        raise where.refused(f"the anchor stands at lines {at_lines}; add a second @@ line above it")
    return found[0]


def _all(lines: list[str], chunk: Chunk, level: int, start: int) -> list[int]:
    last = len(lines) - len(chunk.old)
    first = last if chunk.at_end else start
    return [at for at in range(max(first, 0), last + 1) if _fits(lines, at, chunk, level)]


def _fits(lines: list[str], at: int, chunk: Chunk, level: int) -> bool:
    old = chunk.old
    if at < 0 or at + len(old) > len(lines) or (chunk.at_end and at + len(old) != len(lines)):
        return False
    return all(same(lines[at + step], text, sign, level) for step, (sign, text) in enumerate(old))


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
