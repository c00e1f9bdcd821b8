"""The approval card: what is asked, why, how risky, where to, and the keys; the diff below them."""

from collections.abc import Callable

from cockpit.protocol.events import ApprovalRequested
from cockpit.tui import figures
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened
from cockpit.tui.work import choosing
from cockpit.tui.work.approval_parts import Choice, Rows, commands, parts_below, says_all

Below = Callable[[ApprovalRequested, Choice, int], Rows]

_OPTIONS = (
    ("allow_once", "y", "once"),
    ("allow_session", "a", "session"),
    ("allow_always", "p", "always"),
    ("reject_once", "n", "reject"),
)
HIGH = 70
_LEFT_OUT = "problems unknown: a part is left out"  # what was looked at was all of it


def approval_rows(
    request: ApprovalRequested,
    number: int,
    total: int,
    width: int,
    choice: Choice,
    left: float | None = None,
    below: Below = parts_below,
) -> Rows:
    """The card's lines, each with what choosing it does (`part:ID`, `hunk:ID`, or nothing). `left` are the
    seconds until it answers itself with no; `below` lays out what stands below the card."""
    lines = [_title(request, number, total), *_facts(request, width, choice)]
    lines += _warnings(request, width, left)
    lines.append(Line([], "body/surface"))
    lines += _keys(request, width)
    out = choice.out if choosing.can_choose(request) else frozenset()
    note = _LEFT_OUT if request.note and (out or choice.edits) else request.note
    found: Rows = [(line, "") for line in (*lines, *_note(note, width))]
    return found + below(request, choice, width)


class Laid:
    """What stands below the card, laid out once: a change of thousands of lines is drawn many times."""

    def __init__(self) -> None:
        self._of: tuple[ApprovalRequested, Choice, int] | None = None
        self._rows: Rows = []

    def __call__(self, request: ApprovalRequested, choice: Choice, width: int) -> Rows:
        of = self._of
        if of is None or of[0] is not request or of[1] is not choice or of[2] != width:
            self._of, self._rows = (request, choice, width), parts_below(request, choice, width)
        return self._rows


def risk_word(risk: int) -> tuple[str, str]:
    """A word and a style for a risk of 0 to 100."""
    if risk >= HIGH:
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


def _facts(request: ApprovalRequested, width: int, choice: Choice) -> list[Line]:
    space: list[Piece] = [(" ", "body/surface")]
    title = one_line(request.title, 1000)
    if not choice.all_of_it and not says_all(request, width):
        title = shortened(title, 2 * (width - 4))  # all of it stands below
    lines = _text(title, width, "body/surface+b", space, space)
    if request.reason:
        lines += _text(clean_output(request.reason), width, "muted/surface", space, space)
    if request.destination:
        arrow: list[Piece] = [(" → ", "warn/surface")]
        lines += _text(one_line(request.destination), width, "body/surface", arrow, [("   ", "body/surface")])
    if request.held:
        is_held = request.held.startswith("held")
        key = "muted" if is_held else "warn"
        sign: list[Piece] = [(" ▢ " if is_held else " ▲ ", f"{key}/surface")]
        lines += _text(clean_output(request.held), width, f"{key}/surface", sign, [("   ", "body/surface")])
    if request.alternative:
        instead: list[Piece] = [(" ↪ ", "good/surface")]
        words = f"instead: {clean_output(request.alternative)}"
        lines += _text(words, width, "body/surface", instead, [("   ", "body/surface")])
    return lines


def _warnings(request: ApprovalRequested, width: int, left: float | None) -> list[Line]:
    """A danger, and a clock that runs."""
    lines: list[Line] = []
    rest: list[Piece] = [("   ", "body/surface")]
    if request.risk >= HIGH and (len(commands(request)) > 1 or not says_all(request, width)):
        sign: list[Piece] = [(" ▲ ", "bad/surface+b")]
        words = "read every part of this before you answer"
        lines += _text(words, width, "bad/surface", sign, rest)
    if request.expires and left is not None:
        clock: list[Piece] = [(" ◷ ", "warn/surface")]
        words = f"answers itself with no in {figures.clock(max(0.0, left))}"
        lines += _text(words, width, "warn/surface", clock, rest)
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
    for covered in _covered(request):
        lines += _text(covered, width, "muted/surface", [(" ", "body/surface")], [("   ", "body/surface")])
    own = ["Space takes or leaves"] if choosing.can_choose(request) else []
    own += ["e edits a hunk"] if choosing.can_edit(request) else []
    if own:
        words = ", ".join(own)
        rest: list[Piece] = [("   ", "body/surface")]
        lines += _text(f"F5, then {words}", width, "faint/surface", [(" ", "body/surface")], rest)
    return lines


def _covered(request: ApprovalRequested) -> list[str]:
    """What `a` and `p` would let run from now on, and for how long."""
    session, always = (one_line(", ".join(rules), 400) for rules in (request.remembers, request.keeps))
    if session != always:
        return [f"a covers {session}, until the session ends", f"p covers {always}, for good here"]
    if shape := session or one_line(request.shape, 400):
        return [f"a and p cover {shape}; p for good here"]
    return []
