"""Finds where the chunks of a patch belong in a text, and applies them. Lines end at \\n and nowhere else.

Lines are compared at four levels, the strictest first: exactly; without CR and byte order mark; without space
at the end; and, for context lines only, without surrounding space and with typographic signs normalized. A
stricter match anywhere in the file is preferred to a looser one nearby.
"""

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from cockpit.workspace.patches.values import HunkPlacement, LineSign, MatchKind, PatchChunk, PatchRefused

BOM = "\ufeff"
TYPOGRAPHIC_SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)


def is_equal_line(line: str, text: str, sign: LineSign, level: int) -> bool:
    if line == text:
        return True
    match level if sign == " " else min(level, 2):
        case 0:
            return False
        case 1:
            return strip_line_end(line) == strip_line_end(text)
        case 2:
            return strip_line_end(line).rstrip() == strip_line_end(text).rstrip()
        case _:
            return normalize_line(line) == normalize_line(text)


def strip_line_end(line: str) -> str:
    return line.removesuffix("\r").removeprefix(BOM)


def normalize_line(line: str) -> str:
    return unicodedata.normalize("NFC", strip_line_end(line)).translate(TYPOGRAPHIC_SIGNS).strip()


@dataclass(frozen=True, slots=True)
class ChunkLocation:
    """A chunk in messages: `number` (from 1) in the file, `place` its line in the patch."""

    name: str
    number: int
    place: int

    def refused(self, reason: str, hint: str = "", near: int = 0) -> PatchRefused:
        text = f"{self.name}, part {self.number} (patch line {self.place}): {reason}"
        return PatchRefused(text, hint, path=self.name, hunk=self.number, place=self.place, near=near)


def no_match_error(lines: list[str], chunk: PatchChunk, location: ChunkLocation) -> PatchRefused:
    """The error for a chunk that fits nowhere, with the nearest line of the file."""
    first = next((text for sign, text in chunk.old if text.strip()), "")
    if chunk.at_end:
        return location.refused("its lines are not the last of the file", *find_nearest_line(lines, first))
    for at in range(len(lines)):
        if normalize_line(lines[at]) == normalize_line(first):
            wrong = _first_difference(lines, at, chunk)
            if wrong:
                return location.refused(wrong, "read the file again and copy the lines", at + 1)
    return location.refused(f"there is no line {first[:80]!r}", *find_nearest_line(lines, first))


def _first_difference(lines: list[str], at: int, chunk: PatchChunk) -> str:
    at -= next(step for step, (_, text) in enumerate(chunk.old) if text.strip())
    for step, (sign, text) in enumerate(chunk.old):
        line = lines[at + step] if 0 <= at + step < len(lines) else None
        if line is None:
            return f"the file ends at line {len(lines)}, before {text[:80]!r}"
        if not is_equal_line(line, text, sign, 3):
            return f"line {at + step + 1} is {line[:80]!r}, not {text[:80]!r}"
    return ""


def find_nearest_line(lines: list[str], text: str) -> tuple[str, int]:
    """What to do, and the line (from 1) most like `text`, 0 if there is none."""
    close = get_close_matches(text, lines[:20_000], 1, 0.6) if text.strip() else []
    if not close:
        return "read the file again and copy its lines", 0
    at = lines.index(close[0]) + 1
    return f"the nearest is line {at}: {close[0][:80]!r}", at


def format_line_numbers(places: list[int]) -> str:
    shown = ", ".join(str(at + 1) for at in places[:8])
    return shown + (f" and {len(places) - 8} more" if len(places) > 8 else "")


LEVELS = (0, 1, 2, 3)
EXACT_LEVELS = (0, 1)
MATCH_KINDS: tuple[MatchKind, ...] = ("exact", "line ends", "trailing space", "space or typographic signs")
MATCH_NOTES = {
    2: "matched except for space at line ends",
    3: "matched context except for space and typographic signs",
}


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """Where the old lines of a chunk are: from line `at` (from 0), matched in the way `level`."""

    chunk: PatchChunk
    at: int
    level: int


@dataclass(frozen=True, slots=True)
class PatchedText:
    """A text with its chunks applied. `notes` say what did not match exactly."""

    text: str
    notes: tuple[str, ...]
    placed: tuple[HunkPlacement, ...] = ()


def apply_chunks(text: str, chunks: tuple[PatchChunk, ...], name: str) -> PatchedText:
    """`text` with all chunks applied. Raises `PatchRefused` with the place in both texts."""
    lines = text.split("\n")
    ends = lines.pop() if lines[-1] == "" else None
    spots: list[ChunkMatch] = []
    for number, chunk in enumerate(chunks, 1):
        location = ChunkLocation(name, number, chunk.place)
        find = _match_unnumbered if chunk.start is None else _match_numbered
        spots.append(find(lines, chunk, spots, location))
    ordered = sorted(spots, key=lambda spot: spot.at)
    for first, second in pairwise(ordered):
        if first.at + len(first.chunk.old) > second.at:
            number = spots.index(second) + 1
            reason = f"two parts of the patch change line {second.at + 1}; join them"
            raise PatchRefused(f"{name}: {reason}", path=name, hunk=number, place=second.chunk.place)
    lines_after = _splice_chunks(lines, ordered)
    # The new text ends in a newline if the patch says so, else as before.
    closed = ends is not None or not lines or any(chunk.old_open for chunk in chunks)
    closed = closed and not any(chunk.new_open for chunk in chunks)
    notes = tuple(note for number, spot in enumerate(spots, 1) if (note := _match_note(spot, number, name)))
    placed = tuple(
        HunkPlacement(number, spot.chunk.place, spot.at + 1, spot.chunk.start, MATCH_KINDS[spot.level])
        for number, spot in enumerate(spots, 1)
    )
    return PatchedText("\n".join(lines_after) + ("\n" if lines_after and closed else ""), notes, placed)


def _match_note(spot: ChunkMatch, number: int, name: str) -> str:
    if spot.level in MATCH_NOTES:
        return f"{name}: part {number} {MATCH_NOTES[spot.level]} (line {spot.at + 1})"
    start = spot.chunk.start
    if start is not None and spot.chunk.old and spot.at + 1 != start and spot.chunk.lines[0][0] != "+":
        return f"{name}: part {number} found at line {spot.at + 1}, not {start}"
    return ""


def _match_numbered(
    lines: list[str], chunk: PatchChunk, before: list[ChunkMatch], location: ChunkLocation
) -> ChunkMatch:
    """A unified hunk: at its line number, or where its lines occur exactly once."""
    old, start = chunk.old, chunk.start or 0
    shift = next(
        (match.at - ((match.chunk.start or 1) - 1) for match in reversed(before) if match.chunk.old), 0
    )
    if not old:
        # There is nothing to compare: it is shifted like the hunks before it.
        at = start + shift if start else 0
        if not 0 <= at <= len(lines):
            raise location.refused(f"there is no line {at}; the file has {len(lines)}")
        return ChunkMatch(chunk, at, 0)
    for level in EXACT_LEVELS:
        for at in (start - 1 + shift, start - 1):
            if _fits(lines, at, chunk, level):
                return ChunkMatch(chunk, at, level)
    for level in EXACT_LEVELS:
        places = _find_all(lines, chunk, level, 0)
        if len(places) == 1:
            return ChunkMatch(chunk, places[0], level)
        if places:
            at_lines = format_line_numbers(places)
            reason = f"not at line {start}, and it fits at lines {at_lines}; correct the number"
            raise location.refused(reason)
    raise no_match_error(lines, chunk, location)


def _match_unnumbered(
    lines: list[str], chunk: PatchChunk, before: list[ChunkMatch], location: ChunkLocation
) -> ChunkMatch:
    """A chunk without line numbers: below its anchors, else the only place where it fits."""
    start = before[-1].at + len(before[-1].chunk.old) if before else 0
    if not chunk.old:
        return ChunkMatch(chunk, _find_insertion(lines, chunk, start, location), 0)
    starts = _below_anchors(lines, chunk.anchors, start, location) if chunk.anchors else (start,)
    for level in LEVELS:
        places = _candidates(lines, chunk, level, starts)
        if not places and not chunk.anchors:
            places = _find_all(lines, chunk, level, 0)
        if len(places) > 1:
            raise location.refused(
                f"it fits at lines {format_line_numbers(places)}",
                "add context lines, or an @@ line with the function or class above it",
            )
        if places:
            return ChunkMatch(chunk, places[0], level)
    raise no_match_error(lines, chunk, location)


def _candidates(lines: list[str], chunk: PatchChunk, level: int, starts: tuple[int, ...]) -> list[int]:
    if not chunk.anchors:
        return _find_all(lines, chunk, level, starts[0])
    places: list[int] = []
    for start in starts:
        below = _find_all(lines, chunk, level, start)
        # An anchor means the first place below it.
        if below and below[0] not in places:
            places.append(below[0])
    return places


def _below_anchors(
    lines: list[str], anchors: tuple[str, ...], start: int, location: ChunkLocation
) -> tuple[int, ...]:
    """The lines after the last anchor, one for each place where the anchors occur in order."""
    starts: tuple[int, ...] = (start,)
    for anchor in anchors:
        places: list[int] = []
        for begin in starts:
            hits = _anchor_hits(lines, anchor, begin) or (
                _anchor_hits(lines, anchor, 0) if begin == start else []
            )
            places += [hit + 1 for hit in hits if hit + 1 not in places]
        if not places:
            reason = f"there is no line {anchor!r} to anchor at"
            raise location.refused(reason, *find_nearest_line(lines, anchor))
        starts = tuple(places)
    return starts


def _anchor_hits(lines: list[str], anchor: str, start: int) -> list[int]:
    for fits in (
        lambda line: line.strip() == anchor,
        lambda line: normalize_line(line) == normalize_line(anchor),
    ):
        if hits := [at for at in range(start, len(lines)) if fits(lines[at])]:
            return hits
    return []


def _find_insertion(lines: list[str], chunk: PatchChunk, start: int, location: ChunkLocation) -> int:
    """Where lines without context go: below the anchor, else at the end."""
    if not chunk.anchors:
        return len(lines)
    places = _below_anchors(lines, chunk.anchors, start, location)
    if len(places) > 1:
        at_lines = format_line_numbers([at - 1 for at in places])
        raise location.refused(f"the anchor occurs at lines {at_lines}; add a second @@ line above it")
    return places[0]


def _find_all(lines: list[str], chunk: PatchChunk, level: int, start: int) -> list[int]:
    last = len(lines) - len(chunk.old)
    first = last if chunk.at_end else start
    return [at for at in range(max(first, 0), last + 1) if _fits(lines, at, chunk, level)]


def _fits(lines: list[str], at: int, chunk: PatchChunk, level: int) -> bool:
    old = chunk.old
    if at < 0 or at + len(old) > len(lines) or (chunk.at_end and at + len(old) != len(lines)):
        return False
    return all(is_equal_line(lines[at + step], text, sign, level) for step, (sign, text) in enumerate(old))


def _splice_chunks(lines: list[str], spots: list[ChunkMatch]) -> list[str]:
    out: list[str] = []
    at = 0
    crlf = sum(line.endswith("\r") for line in lines) * 2 > len(lines)
    for spot in spots:
        out += lines[at : spot.at]
        at = spot.at + len(spot.chunk.old)
        out += _replace_lines(lines[spot.at : at], spot, crlf)
    out += lines[at:]
    first_lines = [line for spot in spots for line in spot.chunk.lines[:1]]
    removes_mark = any(sign == "-" and text.startswith(BOM) for sign, text in first_lines)
    if lines and lines[0].startswith(BOM) and out and not removes_mark:
        out[0] = BOM + out[0].removeprefix(BOM)
    return out


def _replace_lines(old: list[str], spot: ChunkMatch, crlf: bool) -> list[str]:
    """The new lines of the chunk: context as in the file, added lines with the line ends around them."""
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
