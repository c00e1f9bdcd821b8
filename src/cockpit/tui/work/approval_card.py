"""The approval card: the request, its reason, risk, destination and keys; below it commands and hunks."""

from collections.abc import Callable
from dataclasses import replace

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart
from cockpit.protocol.safe_text import clean_output, single_line
from cockpit.tui.render import diffs
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph, shorten
from cockpit.tui.render.number_format import format_clock
from cockpit.tui.render.syntax import highlight
from cockpit.tui.state.entries import clean_diff
from cockpit.tui.work import approval_draft
from cockpit.tui.work.approval_draft import ApprovalChoice, ApprovalPiece

HIGH_RISK = 70
MAX_HUNK_LINES = 40
"""Lines of one hunk in Work; the view of the whole approval shows all of them."""
_ANSWER_KEYS = (
    ("allow_once", "y", "once"),
    ("allow_session", "a", "session"),
    ("allow_always", "p", "always"),
    ("reject_once", "n", "reject"),
)
_VERDICT_SIGNS = {"allow": ("✓", "good"), "ask": ("?", "warn"), "deny": ("✗", "bad"), "": ("·", "muted")}
_CHECKBOXES = {"in": (" ☑ ", "good"), "some": (" ◪ ", "person"), "out": (" ☐ ", "muted")}
_BLANK = StyledLine([], "body/surface")
_SPACE: list[Piece] = [(" ", "body/surface")]
_INDENT: list[Piece] = [("   ", "body/surface")]

CardRows = list[tuple[StyledLine, str]]
"""Lines, each with what choosing it does: `part:ID`, `hunk:ID`, or nothing."""
DetailLayout = Callable[[ApprovalRequested, ApprovalChoice, int], CardRows]


def approval_rows(
    request: ApprovalRequested,
    number: int,
    total: int,
    width: int,
    choice: ApprovalChoice,
    left: float | None,
    details: DetailLayout,
) -> CardRows:
    """The card and what is below it. `left` is the number of seconds until the approval is rejected
    automatically; `details` lays out what is below the card."""
    lines = [_title_line(request, number, total), *_fact_lines(request, width, choice)]
    lines += _warning_lines(request, width, left)
    lines += [_BLANK, *_key_lines(request, width)]
    lines += _problem_lines(request, choice, width)
    rows: CardRows = [(line, "") for line in lines]
    return rows + details(request, choice, width)


class DetailCache:
    """`detail_rows`, laid out once per choice and width: a change of thousands of lines is drawn many
    times."""

    def __init__(self) -> None:
        self._of: tuple[ApprovalRequested, ApprovalChoice, int] | None = None
        self._rows: CardRows = []

    def __call__(self, request: ApprovalRequested, choice: ApprovalChoice, width: int) -> CardRows:
        of = self._of
        if of is None or of[0] is not request or of[1] is not choice or of[2] != width:
            self._of, self._rows = (request, choice, width), detail_rows(request, choice, width)
        return self._rows


def describe_risk(risk: int) -> tuple[str, str]:
    """A label and a style for a risk of 0 to 100."""
    if risk >= HIGH_RISK:
        return "high risk", "bad"
    if risk >= 35:
        return "some risk", "warn"
    return "low risk", "good"


def _title_line(request: ApprovalRequested, number: int, total: int) -> StyledLine:
    word, key = describe_risk(request.risk)
    pieces: list[Piece] = [(" APPROVE ", "base/person+b")]
    if total > 1:
        pieces.append((f"  {number} of {total}", "muted/surface"))
    if request.agent not in ("main", ""):
        pieces.append((f"  {single_line(request.agent).removeprefix('main/')}", "machine/surface"))
    right: list[Piece] = [(f"{word} ", f"{key}/surface+b"), (f"{request.risk} ", "muted/surface")]
    return StyledLine(pieces, "body/surface", right=right)


def _fact_lines(request: ApprovalRequested, width: int, choice: ApprovalChoice) -> list[StyledLine]:
    title = single_line(request.title, 1000)
    if not choice.all_of_it and not title_is_complete(request, width):
        title = shorten(title, 2 * (width - 4))  # the whole of it is below
    lines = _card_text(title, width, "body/surface+b", _SPACE, _SPACE)
    if request.reason:
        lines += _card_text(clean_output(request.reason), width, "muted/surface", _SPACE, _SPACE)
    if request.destination:
        arrow: list[Piece] = [(" → ", "warn/surface")]
        lines += _card_text(single_line(request.destination), width, "body/surface", arrow, _INDENT)
    if request.held:
        key = "muted" if request.confined else "warn"
        sign: list[Piece] = [(" ▢ " if request.confined else " ▲ ", f"{key}/surface")]
        lines += _card_text(clean_output(request.held), width, f"{key}/surface", sign, _INDENT)
    if request.alternative:
        instead: list[Piece] = [(" ↪ ", "good/surface")]
        words = f"instead: {clean_output(request.alternative)}"
        lines += _card_text(words, width, "body/surface", instead, _INDENT)
    return lines


def _warning_lines(request: ApprovalRequested, width: int, left: float | None) -> list[StyledLine]:
    """A high risk that the title does not show in full, and the time left to answer."""
    lines: list[StyledLine] = []
    if request.risk >= HIGH_RISK and (
        len(judged_commands(request)) > 1 or not title_is_complete(request, width)
    ):
        sign: list[Piece] = [(" ▲ ", "bad/surface+b")]
        words = "read every part of this before you answer"
        lines += _card_text(words, width, "bad/surface", sign, _INDENT)
    if request.expires and left is not None:
        clock: list[Piece] = [(" ◷ ", "warn/surface")]
        words = f"rejected automatically in {format_clock(max(0.0, left))}"
        lines += _card_text(words, width, "warn/surface", clock, _INDENT)
    return lines


def _problem_lines(request: ApprovalRequested, choice: ApprovalChoice, width: int) -> list[StyledLine]:
    note, count = request.note, request.new_problems
    if not note:
        return []
    if choice.edits or (choice.left_out and approval_draft.can_choose(request)):
        note, count = "problems unknown: a part is left out", None  # the check was of the whole change
    sign, key = ("·", "muted") if count is None else ("✗", "bad") if count else ("✓", "good")
    first: list[Piece] = [(f" {sign} ", f"{key}/surface+b")]
    return [_BLANK, *_card_text(clean_output(note), width, f"{key}/surface", first, _INDENT)[:8]]


def _card_text(text: str, width: int, key: str, first: list[Piece], rest: list[Piece]) -> list[StyledLine]:
    return layout_paragraph(text, width - 1, key=key, first=first, rest=rest, fill="body/surface")


def _key_lines(request: ApprovalRequested, width: int) -> list[StyledLine]:
    pieces: list[Piece] = [(" ", "body/surface")]
    lines: list[StyledLine] = []
    used = 1
    for option, key, label in _ANSWER_KEYS:
        if option not in request.options:
            continue
        need = len(label) + 5
        if used + need - 1 > width and used > 1:
            lines.append(StyledLine(pieces, "body/surface"))
            pieces, used = [(" ", "body/surface")], 1
        pieces += [(f" {key} ", "person/boost+b"), (f" {label} ", "body/surface")]
        used += need
    lines.append(StyledLine(pieces, "body/surface"))
    for covered in _describe_rules(request):
        lines += _card_text(covered, width, "muted/surface", _SPACE, _INDENT)
    own = ["Space accepts or leaves out"] if approval_draft.can_choose(request) else []
    own += ["e edits a hunk"] if approval_draft.can_edit(request) else []
    if own:
        lines += _card_text(f"F5, then {', '.join(own)}", width, "faint/surface", _SPACE, _INDENT)
    return lines


def _describe_rules(request: ApprovalRequested) -> list[str]:
    session, always = (single_line(", ".join(rules), 400) for rules in (request.remembers, request.keeps))
    if session != always:
        return [
            f"a covers {session}, until the session ends",
            f"p covers {always}, permanently in this folder",
        ]
    if shape := session or single_line(request.shape, 400):
        return [f"a and p cover {shape}; p permanently"]
    return []


def detail_rows(request: ApprovalRequested, choice: ApprovalChoice, width: int) -> CardRows:
    """What is below the card: the verdicts on the commands, the command line where the title does not show
    all of it, and the files."""
    rows: CardRows = []
    commands = judged_commands(request)
    line = next((part for part in request.parts if part.id == "line"), None)
    match commands:
        case [command] if line and command.title == line.title and command.reason in ("", request.reason):
            pass  # the card says the same
        case _:
            rows += _shaded([row for command in commands for row in _command_lines(command, width)])
    if rows:
        rows.insert(0, (_BLANK, ""))
    for part in request.parts:
        if part.level or (part is line and title_is_complete(request, width)):
            continue
        rows.append((_BLANK, ""))
        if part.diff is not None:
            rows += _file_rows(request, part, choice, width)
        else:
            rows += _shaded(_plain_part_lines(part, request.tool, width))
    return rows


def judged_commands(request: ApprovalRequested) -> list[ApprovalPart]:
    """The commands of a line that have a verdict, each once, even where a wrapper repeats it."""
    commands = {(part.level, part.title, part.reason): part for part in request.parts if part.level}
    return list(commands.values())


def title_is_complete(request: ApprovalRequested, width: int) -> bool:
    """Whether the title shows all of what will run, and is short enough to be read there."""
    whole = next((part for part in request.parts if part.id == "line"), None)
    if whole is None:
        return not any(part.level for part in request.parts)
    is_short = cell_width(whole.title) <= 3 * (width - 6)
    return is_short and request.title == f"$ {whole.title}" and not whole.detail


def _file_rows(
    request: ApprovalRequested, part: ApprovalPart, choice: ApprovalChoice, width: int
) -> CardRows:
    assert part.diff is not None
    pieces = approval_draft.part_pieces(part)
    can_choose = approval_draft.can_choose(request)
    left_out = choice.left_out if can_choose else frozenset()
    accepted = [piece for piece in pieces if piece.name not in left_out]
    diff = clean_diff(part.diff)
    if all(piece.hunk is not None for piece in pieces):
        hunks = [approval_draft.edited_hunk(piece, choice.edits) for piece in accepted]
        added, removed = approval_draft.count_changes([hunk for hunk in hunks if hunk is not None])
        diff = replace(diff, added=added, removed=removed)
    heading = diffs.diff_heading(diff, width, 1)
    if can_choose:
        state = "in" if len(accepted) == len(pieces) else "some" if accepted else "out"
        heading = StyledLine([_CHECKBOXES[state], *heading.pieces[1:]], right=heading.right)
    if len(pieces) == 1:
        return _single_piece_rows(pieces[0], choice, heading, can_choose, width)
    rows = _shaded([heading], f"part:{part.id}" if can_choose else "")
    for number, piece in enumerate(pieces, 1):
        is_out = piece.name in left_out
        action = f"hunk:{piece.name}" if can_choose or (piece.row and piece.row.can_edit) else ""
        lines = [_hunk_heading(piece, f"hunk {number} of {len(pieces)}", is_out, choice, can_choose)]
        if marks := _hunk_marks(piece, choice):
            lines.append(StyledLine([("    ", "body"), *marks]))
        body = _hunk_body(piece, choice, width)
        lines += [_dim_line(line) for line in body if _is_changed_line(line)] if is_out else body
        rows += _shaded(lines, action)
    return rows


def _single_piece_rows(
    piece: ApprovalPiece, choice: ApprovalChoice, heading: StyledLine, can_choose: bool, width: int
) -> CardRows:
    kind = "hunk" if piece.row is not None else "part"
    action = f"{kind}:{piece.name}" if can_choose or (piece.row and piece.row.can_edit) else ""
    marks = _hunk_marks(piece, choice)
    lines = [heading, *([StyledLine([("   ", "body"), *marks])] if marks else [])]
    if piece.name in choice.left_out and (can_choose or piece.hunk is None):
        return _shaded(lines, action)
    if piece.hunk is not None:
        lines += _hunk_body(piece, choice, width)
    elif piece.part.diff is not None:
        body = diffs.diff_body(clean_diff(piece.part.diff), width, 1)
        shown = len(body) if choice.all_of_it else MAX_HUNK_LINES
        lines += body[:shown]
        lines += _more_line(len(body) - shown)
    return _shaded(lines, action)


def _hunk_heading(
    piece: ApprovalPiece, title: str, is_out: bool, choice: ApprovalChoice, can_choose: bool
) -> StyledLine:
    hunk = approval_draft.edited_hunk(piece, choice.edits)
    added, removed = approval_draft.count_changes([hunk] if hunk is not None else [])
    box, box_key = _CHECKBOXES["out" if is_out else "in"]
    key = "faint" if is_out else "muted"
    pieces: list[Piece] = [(f" {box}" if can_choose else "    ", box_key), (title, key)]
    pieces.append((f"  line {piece.row.line}" if piece.row else "", "faint"))
    pieces += [("  left out", "muted+i")] if is_out else []
    right: list[Piece] = [(f"+{added}", key if is_out else "good"), (" ", "body")]
    right.append((f"-{removed} ", key if is_out else "bad"))
    return StyledLine(pieces, right=right)


def _hunk_marks(piece: ApprovalPiece, choice: ApprovalChoice) -> list[Piece]:
    marks: list[Piece] = [("✎ edited by you ", "person+b")] if piece.name in choice.edits else []
    if piece.row is not None and piece.row.refused:
        marks.append(("↺ you refused this before", "warn+b"))
    return marks


def _hunk_body(piece: ApprovalPiece, choice: ApprovalChoice, width: int) -> list[StyledLine]:
    hunk = approval_draft.edited_hunk(piece, choice.edits)
    if hunk is None or piece.part.diff is None:
        return []
    count = len(hunk.lines)
    shown = count if choice.all_of_it else min(count, MAX_HUNK_LINES)
    diff = replace(piece.part.diff, hunks=(replace(hunk, lines=hunk.lines[:shown]),))
    return [*diffs.diff_body(clean_diff(diff), width, 1), *_more_line(count - shown)]


def _more_line(count: int) -> list[StyledLine]:
    return [StyledLine([(f"   … {count} more lines; v shows all of it", "muted+i")])] if count > 0 else []


def _is_changed_line(line: StyledLine) -> bool:
    return any("added" in key or "removed" in key for _, key in line.pieces)


def _dim_line(line: StyledLine) -> StyledLine:
    return StyledLine([(text, "faint") for text, _ in line.pieces], indent=line.indent, glue=line.glue)


def _command_lines(part: ApprovalPart, width: int) -> list[StyledLine]:
    sign, key = _VERDICT_SIGNS[part.level]
    first: list[Piece] = [(f" {sign} ", f"{key}+b")]
    lines = layout_paragraph(
        single_line(part.title, 2000), width - 1, key="body", first=first, rest=[("   ", "body")]
    )
    if part.reason:
        indent: list[Piece] = [("   ", "body")]
        lines += layout_paragraph(
            clean_output(part.reason), width - 1, key="muted", first=indent, rest=indent
        )
    return lines


def _plain_part_lines(part: ApprovalPart, tool: str, width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    detail = clean_output(part.detail)
    text = clean_output(part.title) if part.id == "line" or not detail else detail
    bar: list[Piece] = [(" │ ", "faint")]
    for pieces in highlight(text, "bash" if tool == "shell" else ""):
        whole = "".join(piece for piece, _ in pieces)
        if len(whole) < width - 4:
            lines.append(StyledLine([*bar, *pieces]))
        else:
            lines += layout_paragraph(whole, width - 1, first=bar, rest=bar)
    if part.id == "line" and detail:
        lines.append(StyledLine([(" in ", "faint"), (shorten(single_line(detail), width - 6), "muted")]))
    return lines


def _shaded(lines: list[StyledLine], action: str = "") -> CardRows:
    return [(line.on("surface"), action) for line in lines]
