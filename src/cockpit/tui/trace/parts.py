"""How a part of Markdown is drawn: part and width to lines."""

from cockpit.tui.trace.code import coloured
from cockpit.tui.trace.inline import inline
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, width_of, wrap
from cockpit.tui.trace.markdown import Part
from cockpit.tui.trace.tables import table

PROSE = 100
"""Prose is not set wider than this, however wide the terminal is: longer lines are hard to read."""

_BULLETS = ("•", "◦", "▪")


def draw(part: Part, width: int, margin: int, key: str = "body") -> list[Line]:
    """The lines of `part` in `width` cells, set in by `margin`. A gap before it is not drawn here."""
    space = " " * (margin + part.indent)
    match part.kind:
        case "paragraph":
            return _prose(_flowed(part.lines), width, [(space, key)], key)
        case "heading":
            return _heading(part, width, space)
        case "bullet":
            return _bullet(part, width, space, key)
        case "quote":
            bar = [(space, key), ("│ ", "faint")]
            return _prose(_flowed(part.lines), width, bar, "muted+i")
        case "rule":
            return [Line([(space, key), ("─" * max(3, min(width, PROSE) - len(space) - 2), "faint")])]
        case "code":
            return code(part.text, part.language, width, len(space), labelled=not part.marker)
        case "table":
            return table(part.lines, width, len(space))


def estimate(part: Part, width: int, margin: int) -> int:
    """About how many lines `draw` would give; quick, and exact for a short line of plain text."""
    room = max(10, min(width, PROSE) - margin - part.indent - 1)
    if part.kind == "code":
        return sum(1 + len(line) // max(10, width - margin - 4) for line in part.lines)
    if part.kind in ("table", "rule"):
        return max(1, len(part.lines))
    length = sum(len(line) + 1 for line in part.lines)
    return 1 + (length - 1) // room


def code(
    text: str, language: str, width: int, margin: int, first: int = 0, labelled: bool = True
) -> list[Line]:
    """Source on a shade of its own, with line numbers from `first` on (0: none)."""
    space = " " * margin
    rows = coloured(text.rstrip("\n"), language)
    digits = len(str(first + len(rows))) if first else 0
    room = max(8, width - margin - 3 - (digits + 1 if digits else 0))
    lines: list[Line] = []
    for number, row in enumerate(rows):
        label = f"{first + number:>{digits}} " if digits else ""
        head: list[Piece] = [(space, "body"), (" " + label, "faint/surface")]
        for index, pieces in enumerate(_hard_wrapped(row, room)):
            lead = head if not index else [(space, "body"), (" " + " " * len(label), "faint/surface")]
            shaded = [(piece, _on(key, "surface")) for piece, key in pieces]
            lines.append(
                Line(
                    [*lead, *shaded],
                    "body/surface",
                    glue="" if index else None,
                    indent=margin + 1 + len(label),
                )
            )
    if language and lines and labelled:
        lines[0].right = [(f" {shortened(language, 16)} ", "faint/surface+i")]
    return lines


def _on(key: str, background: str) -> str:
    if "/" in key:
        return key
    name, plus, flags = key.partition("+")
    return f"{name}/{background}{plus}{flags}"


def _hard_wrapped(row: list[Piece], room: int) -> list[list[Piece]]:
    """A row of code cut at `room` cells; its indentation stays its own."""
    text = "".join(piece[0] for piece in row)
    if "\t" in text:
        row = [(piece.replace("\t", "    "), key) for piece, key in row]
        text = text.replace("\t", "    ")
    if width_of(text) <= room:
        return [row]
    rows: list[list[Piece]] = [[]]
    used = 0
    for piece, key in row:
        rest = piece
        while rest:
            start, end = wrap(rest.replace(" ", "\u00a0"), max(1, room - used))[0]
            if used and width_of(rest[start:end]) > room - used:
                rows.append([])
                used = 0
                continue
            rows[-1].append((rest[:end], key))
            used += width_of(rest[:end])
            rest = rest[end:]
            if used >= room and rest:
                rows.append([])
                used = 0
    return rows


def _flowed(lines: list[str]) -> str:
    """Source lines as one flow: two spaces or a backslash at an end break the line, nothing else."""
    if len(lines) == 1:
        return lines[0].strip()
    out: list[str] = []
    for line in lines:
        hard = line.endswith(("  ", "\\"))
        out.append(line.rstrip().removesuffix("\\") + ("\n" if hard else " "))
    return "".join(out).strip()


def _prose(source: str, width: int, prefix: list[Piece], key: str) -> list[Line]:
    text, spans = inline(source, key)
    return paragraph(text, min(width, PROSE) - 1, spans=spans, key=key, first=prefix, rest=prefix)


def _heading(part: Part, width: int, space: str) -> list[Line]:
    key = "heading+b" if part.level <= 2 else "body+b"
    text, spans = inline(part.text, key)
    prefix = [(space, key)]
    lines = paragraph(text, min(width, PROSE) - 1, spans=spans, key=key, first=prefix, rest=prefix)
    if part.level == 1:
        length = max(width_of(line.text) for line in lines) - len(space)
        lines.append(Line([(space, key), ("━" * length, "faint")], indent=len(space) + length))
    return lines


def _bullet(part: Part, width: int, space: str, key: str) -> list[Line]:
    source = _flowed(part.lines)
    sign = part.marker if part.marker[0].isdigit() else _BULLETS[min(part.indent // 2, 2)]
    sign_key = "machine"
    for box, drawn, box_key in (("[ ] ", "☐", "muted"), ("[x] ", "☑", "good"), ("[X] ", "☑", "good")):
        if source.startswith(box):
            source, sign, sign_key = source[4:], drawn, box_key
    text, spans = inline(source, key)
    first: list[Piece] = [(space, key), (sign + " ", sign_key)]
    rest: list[Piece] = [(space + " " * (width_of(sign) + 1), key)]
    return paragraph(text, min(width, PROSE) - 1, spans=spans, key=key, first=first, rest=rest)
