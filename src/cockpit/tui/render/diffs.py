"""Draws diffs with line numbers, tinted lines, and a brighter tint for the changed part of a line."""

from cockpit.protocol.content import Diff, Hunk
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten_path, wrap

_SIGN_STYLES = {
    "+": ("added-background", "good", "added-strong"),
    "-": ("removed-background", "bad", "removed-strong"),
}


def diff_heading(diff: Diff, width: int, margin: int) -> StyledLine:
    """The heading of a file: its path at the left, the counts of changed lines at the right."""
    right: list[Piece] = [
        (f"+{diff.added}", "good"),
        (" ", "body"),
        (f"-{diff.removed}", "bad"),
        (" ", "body"),
    ]
    name = f"{diff.moved_from} → {diff.path}" if diff.moved_from else diff.path
    room = width - margin - 4 - sum(cell_width(text) for text, _ in right)
    pieces: list[Piece] = [(" " * margin, "body"), (shorten_path(name, max(8, room)), "body+b")]
    if diff.note:
        pieces.append((f"  {diff.note}", "muted+i"))
    return StyledLine(pieces, right=right, indent=margin)


def diff_body(diff: Diff, width: int, margin: int) -> list[StyledLine]:
    """The hunks, with a mark between them."""
    ends = [max(hunk.old_start + hunk.old_lines, hunk.new_start + hunk.new_lines) for hunk in diff.hunks]
    digits = len(str(max(ends, default=1)))
    between: list[Piece] = [(" " * (margin + digits), "body"), (" ⋯", "faint")]
    lines: list[StyledLine] = []
    for number, hunk in enumerate(diff.hunks):
        if number:
            lines.append(StyledLine(between, indent=margin + digits + 2))
        lines += _hunk_lines(hunk, width, margin, digits)
    return lines


def _hunk_lines(hunk: Hunk, width: int, margin: int, digits: int) -> list[StyledLine]:
    old, new = hunk.old_start, hunk.new_start
    lines: list[StyledLine] = []
    changed = _changed_parts(hunk.lines)
    for index, line in enumerate(hunk.lines):
        sign, text = line[:1], line[1:].replace("\t", "    ")
        number = old if sign == "-" else new
        label = f"{number:>{digits}} " if sign in ("+", "-", " ") else " " * (digits + 1)
        lines += _diff_line(sign, text, label, changed.get(index), width, margin)
        old += sign in ("-", " ")
        new += sign in ("+", " ")
    return lines


def _diff_line(
    sign: str, text: str, label: str, changed: tuple[int, int] | None, width: int, margin: int
) -> list[StyledLine]:
    background, sign_key, strong = _SIGN_STYLES.get(sign, ("background", "faint", "background"))
    key = f"body/{background}" if sign in "+-" else "muted"
    if sign == "\\":
        key, text = "faint+i", f"({text.strip()})"
    lead: list[Piece] = [
        (" " * margin, "body"),
        (label, f"faint/{background}"),
        (f"{sign if sign in '+-' else ' '} ", f"{sign_key}/{background}+b"),
    ]
    indent = margin + len(label) + 2
    room = max(8, width - indent - 1)
    lines: list[StyledLine] = []
    for start, end in wrap(text.replace(" ", "\u00a0"), room):
        pieces = _emphasise_change(text, start, end, changed, key, f"body/{strong}")
        lines.append(StyledLine([*lead, *pieces], key, glue="" if lines else None, indent=indent))
        lead = [(" " * margin, "body"), (" " * (len(label) + 2), f"faint/{background}")]
    return lines


def _emphasise_change(
    text: str, start: int, end: int, changed: tuple[int, int] | None, key: str, strong: str
) -> list[Piece]:
    if changed is None:
        return [(text[start:end], key)]
    first, last = max(start, min(changed[0], end)), max(start, min(changed[1], end))
    pieces = [(text[start:first], key), (text[first:last], strong), (text[last:end], key)]
    return [piece for piece in pieces if piece[0]] or [("", key)]


def _changed_parts(lines: tuple[str, ...]) -> dict[int, tuple[int, int]]:
    """Which characters differ between lines that replace each other (as many removed as added, one after the
    other). Lines that share less than a third are not compared."""
    changed: dict[int, tuple[int, int]] = {}
    index = 0
    while index < len(lines):
        removed = _count_sign(lines, index, "-")
        added = _count_sign(lines, index + removed, "+")
        if removed and removed == added:
            for offset in range(removed):
                _compare_pair(lines, index + offset, index + removed + offset, changed)
        index += max(1, removed + added)
    return changed


def _count_sign(lines: tuple[str, ...], start: int, sign: str) -> int:
    length = 0
    while start + length < len(lines) and lines[start + length].startswith(sign):
        length += 1
    return length


def _compare_pair(lines: tuple[str, ...], old: int, new: int, changed: dict[int, tuple[int, int]]) -> None:
    before, after = lines[old][1:].replace("\t", "    "), lines[new][1:].replace("\t", "    ")
    shortest = min(len(before), len(after))
    start = 0
    while start < shortest and before[start] == after[start]:
        start += 1
    tail = 0
    while tail < shortest - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    if 3 * (start + tail) < max(len(before), len(after)) or before == after:
        return
    changed[old] = (start, len(before) - tail)
    changed[new] = (start, len(after) - tail)
