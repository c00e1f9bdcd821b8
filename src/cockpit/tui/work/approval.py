"""The approval card: what is asked, why, how risky, where to, and the keys; the diff below them."""

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.state.safe import safe_diff
from cockpit.tui.trace import diffs
from cockpit.tui.trace.code import coloured
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened

_OPTIONS = (
    ("allow_once", "y", "once"),
    ("allow_session", "a", "session"),
    ("allow_always", "p", "always"),
    ("reject_once", "n", "reject"),
)
_GROUND = "surface"
_LEFT_OUT = "problems unknown: a part is left out"  # what was looked at was all of it


def approval_rows(
    request: ApprovalRequested, number: int, total: int, width: int, left_out: frozenset[str]
) -> list[tuple[Line, str]]:
    """The card's lines, each with what choosing it does (`part:ID`, or nothing)."""
    found: list[tuple[Line, str]] = [(_title(request, number, total), "")]
    for line in _facts(request, width):
        found.append((line, ""))
    found.append((Line([], "body/surface"), ""))
    found += [(line, "") for line in _keys(request, width)]
    left_out = frozenset() if request.whole else left_out
    note = _LEFT_OUT if request.note and left_out else request.note
    found += [(line, "") for line in _note(note, width)]
    for part in request.parts:
        found.append((Line([], "body/surface"), ""))
        found += _part(part, can_choose(request), part.id in left_out, request.tool, width)
    return found


def can_choose(request: ApprovalRequested) -> bool:
    """Whether a person may leave parts out."""
    return len(request.parts) > 1 and not request.whole


def risk_word(risk: int) -> tuple[str, str]:
    """A word and a style for a risk of 0 to 100."""
    if risk >= 70:
        return "high risk", "bad"
    if risk >= 35:
        return "some risk", "warn"
    return "low risk", "good"


def _title(request: ApprovalRequested, number: int, total: int) -> Line:
    word, key = risk_word(request.risk)
    pieces: list[Piece] = [(" APPROVE ", "base/person+b")]
    if total > 1:
        pieces.append((f"  {number} of {total}", "muted/surface"))
    if request.agent not in ("main", ""):
        pieces.append((f"  {one_line(request.agent).removeprefix('main/')}", "machine/surface"))
    right: list[Piece] = [(f"{word} ", f"{key}/surface+b"), (f"{request.risk} ", "muted/surface")]
    return Line(pieces, "body/surface", right=right)


def _facts(request: ApprovalRequested, width: int) -> list[Line]:
    space: list[Piece] = [(" ", "body/surface")]
    lines = _text(one_line(request.title, 1000), width, "body/surface+b", space, space)
    if request.reason:
        lines += _text(clean_output(request.reason), width, "muted/surface", space, space)
    if request.destination:
        arrow: list[Piece] = [(" → ", "warn/surface")]
        lines += _text(one_line(request.destination), width, "body/surface", arrow, [("   ", "body/surface")])
    return lines


def _note(note: str, width: int) -> list[Line]:
    """What language servers make of the change: new problems, none, or that nobody knows."""
    if not note:
        return []
    none, some = note.startswith("new problems: 0"), note.startswith("new problems")
    sign, key = ("✓", "good") if none else ("✗", "bad") if some else ("·", "muted")
    first: list[Piece] = [(f" {sign} ", f"{key}/surface+b")]
    lines = paragraph(
        clean_output(note),
        width - 1,
        key=f"{key}/surface",
        first=first,
        rest=[("   ", "body/surface")],
        fill="body/surface",
    )
    return [Line([], "body/surface"), *lines[:8]]


def _text(text: str, width: int, key: str, first: list[Piece], rest: list[Piece]) -> list[Line]:
    return paragraph(text, width - 1, key=key, first=first, rest=rest, fill="body/surface")


def _keys(request: ApprovalRequested, width: int) -> list[Line]:
    pieces: list[Piece] = [(" ", "body/surface")]
    lines: list[Line] = []
    used = 1
    for option, key, label in _OPTIONS:
        if option not in request.options:
            continue
        need = len(label) + 5
        if used + need - 1 > width and used > 1:
            lines.append(Line(pieces, "body/surface"))
            pieces, used = [(" ", "body/surface")], 1
        pieces += [(f" {key} ", "person/boost+b"), (f" {label} ", "body/surface")]
        used += need
    lines.append(Line(pieces, "body/surface"))
    if request.shape:
        note = f"a and p cover: {one_line(request.shape)}"
        lines += _text(note, width, "muted/surface", [(" ", "body/surface")], [("   ", "body/surface")])
    return lines


def _part(part: ApprovalPart, many: bool, out: bool, tool: str, width: int) -> list[tuple[Line, str]]:
    lines: list[Line] = []
    if part.diff is not None:
        diff = safe_diff(part.diff)
        head = diffs.head(diff, width, 1)
        if many:
            head = Line(
                [(" ☐ " if out else " ☑ ", "muted" if out else "good"), *head.pieces[1:]], right=head.right
            )
        lines = [head, *([] if out else diffs.body(diff, width, 1))]
        return [(_shaded(line), f"part:{part.id}" if many else "") for line in lines]
    if many:
        box = " ☐ " if out else " ☑ "
        lines.append(
            Line([(box, "muted" if out else "good"), (shortened(one_line(part.title), width - 5), "body+b")])
        )
    detail = clean_output(part.detail or ("" if many else part.title))
    if detail and not out:
        language = "bash" if tool == "shell" else ""
        for pieces in coloured(detail, language):
            text = "".join(text for text, _ in pieces)
            if len(text) < width - 4:
                lines.append(Line([(" │ ", "faint"), *pieces]))
            else:
                bar: list[Piece] = [(" │ ", "faint")]
                lines += paragraph(text, width - 1, first=bar, rest=bar)
    return [(_shaded(line), f"part:{part.id}" if many else "") for line in lines]


def _shaded(line: Line) -> Line:
    def on(key: str) -> str:
        if "/" in key:
            return key.replace("/background", f"/{_GROUND}")
        name, plus, flags = key.partition("+")
        return f"{name}/{_GROUND}{plus}{flags}"

    pieces = [(text, on(key)) for text, key in line.pieces]
    return Line(pieces, on(line.fill), right=[(text, on(key)) for text, key in line.right])
