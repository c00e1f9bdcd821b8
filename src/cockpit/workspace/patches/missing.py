"""Words for a hunk that fits nowhere: which one, in which file, and what is nearest. Pure."""

from dataclasses import dataclass
from difflib import get_close_matches

from cockpit.workspace.patches.comparing import plain, same
from cockpit.workspace.patches.values import Chunk, PatchRefused


@dataclass(frozen=True, slots=True)
class Where:
    """A hunk as its reader knows it: `number` (from 1) in the file, `place` its line in the patch."""

    name: str
    number: int
    place: int

    def refused(self, reason: str, hint: str = "", near: int = 0) -> PatchRefused:
        text = f"{self.name}, part {self.number} (patch line {self.place}): {reason}"
        return PatchRefused(text, hint, path=self.name, hunk=self.number, place=self.place, near=near)


def missing(lines: list[str], chunk: Chunk, where: Where) -> PatchRefused:
    first = next((text for sign, text in chunk.old if text.strip()), "")
    if chunk.at_end:
        return where.refused("its lines are not the last of the file", *nearest(lines, first))
    for at in range(len(lines)):
        if plain(lines[at]) == plain(first):
            wrong = _first_difference(lines, at, chunk)
            if wrong:
                return where.refused(wrong, "read the file again and copy the lines", at + 1)
    return where.refused(f"there is no line {first[:80]!r}", *nearest(lines, first))


def _first_difference(lines: list[str], at: int, chunk: Chunk) -> str:
    at -= next(step for step, (_, text) in enumerate(chunk.old) if text.strip())
    for step, (sign, text) in enumerate(chunk.old):
        here = lines[at + step] if 0 <= at + step < len(lines) else None
        if here is None:
            return f"the file ends at line {len(lines)}, before {text[:80]!r}"
        if not same(here, text, sign, 3):
            return f"line {at + step + 1} is {here[:80]!r}, not {text[:80]!r}"
    return ""


def nearest(lines: list[str], text: str) -> tuple[str, int]:
    """What to do, and the line (from 1) that is most like `text`, 0 where none is."""
    close = get_close_matches(text, lines[:20_000], 1, 0.6) if text.strip() else []
    if not close:
        return "read the file again and copy its lines", 0
    at = lines.index(close[0]) + 1
    return f"the nearest is line {at}: {close[0][:80]!r}", at


def places(found: list[int]) -> str:
    shown = ", ".join(str(at + 1) for at in found[:8])
    return shown + (f" and {len(found) - 8} more" if len(found) > 8 else "")
