"""The parts of an approval as rows: files hunk by hunk, commands with the verdict on each. Pure.

The approval card: what is asked, why, how risky, where to, and the keys; the diff below them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart
from cockpit.tui.clean import clean_output, single_line
from cockpit.tui.render import diffs, number_format
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph, shorten
from cockpit.tui.render.syntax import highlight
from cockpit.tui.state.entries import clean_diff
from cockpit.tui.work import approval_draft

GROUND = "surface"
MAX_HUNK_LINES = 40  # lines of one hunk in Work; the whole approval shows all of them
_VERDICT_SIGNS = {"allow": ("✓", "good"), "ask": ("?", "warn"), "deny": ("✗", "bad"), "": ("·", "muted")}
_CHECKBOXES = {"in": (" ☑ ", "good"), "some": (" ◪ ", "person"), "out": (" ☐ ", "muted")}
CardRows = list[tuple[StyledLine, str]]


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """What a person has left out and written so far; `all_of_it`: nothing is cut for want of room."""

    out: frozenset[str] = frozenset()
    edits: Mapping[str, str] = field(default_factory=dict)
    all_of_it: bool = False


def detail_rows(request: ApprovalRequested, choice: ApprovalChoice, width: int) -> CardRows:
    """What stands below the card: the verdicts on the commands, the line where the title does not say all
    of it, and the files."""
    found: CardRows = []
    blank = (StyledLine([], f"body/{GROUND}"), "")
    asked = judged_commands(request)
    whole = next((part for part in request.parts if part.id == "line"), None)
    if not (
        len(asked) == 1 and asked[0].reason in ("", request.reason) and _is_same_command(asked[0], whole)
    ):
        found += [(shade_line(line), "") for part in asked for line in _command_lines(part, width)]
    if found:
        found.insert(0, blank)
    for part in request.parts:
        if part.level or (part is whole and title_is_complete(request, width)):
            continue
        found += [blank, *part_rows(request, part, choice, width)]
    return found


def judged_commands(request: ApprovalRequested) -> list[ApprovalPart]:
    """The commands of a line with a verdict on each; what a wrapper says twice stands there once."""
    seen = {(part.level, part.title, part.reason): part for part in request.parts if part.level}
    return list(seen.values())


def title_is_complete(request: ApprovalRequested, width: int) -> bool:
    """Whether the title alone is what will run, short enough to be read there."""
    whole = next((part for part in request.parts if part.id == "line"), None)
    if whole is None:
        return not any(part.level for part in request.parts)
    is_short = cell_width(whole.title) <= 3 * (width - 6)
    return is_short and request.title == f"$ {whole.title}" and not whole.detail


def _is_same_command(part: ApprovalPart, whole: ApprovalPart | None) -> bool:
    return whole is not None and part.title == whole.title


def part_rows(request: ApprovalRequested, part: ApprovalPart, choice: ApprovalChoice, width: int) -> CardRows:
    """A part's lines, each with what choosing it does: `part:ID`, `hunk:ID`, or nothing."""
    if part.diff is not None:
        return _file_rows(request, part, choice, width)
    lines = _plain_part_lines(part, request.tool, width)
    return [(shade_line(line), "") for line in lines]


def _file_rows(
    request: ApprovalRequested, part: ApprovalPart, choice: ApprovalChoice, width: int
) -> CardRows:
    assert part.diff is not None
    found = approval_draft.part_pieces(part)
    many = approval_draft.can_choose(request)
    out = choice.out if many else frozenset()
    taken = [one for one in found if one.name not in out]
    diff = clean_diff(part.diff)
    if all(one.hunk is not None for one in found):
        added, removed = approval_draft.count_changes(
            [hunk for one in taken if (hunk := approval_draft.edited_hunk(one, choice.edits))]
        )
        diff = replace(diff, added=added, removed=removed)
    head = diffs.diff_heading(diff, width, 1)
    if many:
        state = "in" if len(taken) == len(found) else "some" if taken else "out"
        head = StyledLine([_CHECKBOXES[state], *head.pieces[1:]], right=head.right)
    if len(found) == 1:
        return _single_piece_rows(found[0], choice, head, many, width)
    rows: CardRows = [(shade_line(head), f"part:{part.id}" if many else "")]
    for number, one in enumerate(found, 1):
        does = f"hunk:{one.name}" if many or (one.row and one.row.can_edit) else ""
        lines = [_hunk_heading(one, number, len(found), one.name in out, choice, many)]
        if marks := _hunk_marks(one, choice):
            lines.append(StyledLine([("    ", "body"), *marks]))
        lines += _hunk_body(one, choice, width, one.name in out)
        rows += [(shade_line(line), does) for line in lines]
    return rows


def _single_piece_rows(
    one: approval_draft.ApprovalPiece, choice: ApprovalChoice, head: StyledLine, many: bool, width: int
) -> CardRows:
    """A file that is taken or left as one."""
    kind = "hunk" if one.row is not None else "part"
    does = f"{kind}:{one.name}" if many or (one.row and one.row.can_edit) else ""
    marks = _hunk_marks(one, choice)
    lines = [head, *([StyledLine([("   ", "body"), *marks])] if marks else [])]
    if one.hunk is None and one.name not in choice.out and one.part.diff is not None:
        lines += _truncate_lines(diffs.diff_body(clean_diff(one.part.diff), width, 1), choice)
    elif one.name not in choice.out or not many:
        lines += _hunk_body(one, choice, width, False)
    return [(shade_line(line), does) for line in lines]


def _hunk_heading(
    one: approval_draft.ApprovalPiece, number: int, total: int, out: bool, choice: ApprovalChoice, many: bool
) -> StyledLine:
    hunk = approval_draft.edited_hunk(one, choice.edits)
    added, removed = approval_draft.count_changes([hunk] if hunk is not None else [])
    box, key = _CHECKBOXES["out" if out else "in"]
    words = "faint" if out else "muted"
    pieces: list[Piece] = [(f" {box}" if many else "    ", key)]
    pieces.append((f"hunk {number} of {total}", words))
    pieces.append((f"  line {one.row.line}" if one.row else "", "faint"))
    pieces += [("  left out", "muted+i")] if out else []
    right: list[Piece] = [(f"+{added}", words if out else "good"), (" ", "body")]
    right.append((f"-{removed} ", words if out else "bad"))
    return StyledLine(pieces, right=right)


def _hunk_marks(one: approval_draft.ApprovalPiece, choice: ApprovalChoice) -> list[Piece]:
    marks: list[Piece] = [("✎ edited by you ", "person+b")] if one.name in choice.edits else []
    if one.row is not None and one.row.refused:
        marks.append(("↺ you refused this before", "warn+b"))
    return marks


def _hunk_body(
    one: approval_draft.ApprovalPiece, choice: ApprovalChoice, width: int, out: bool
) -> list[StyledLine]:
    hunk = approval_draft.edited_hunk(one, choice.edits)
    if hunk is None or one.part.diff is None:
        return []
    cut: tuple[str, ...] = ()
    if len(hunk.lines) > MAX_HUNK_LINES and not choice.all_of_it:
        hunk, cut = replace(hunk, lines=hunk.lines[:MAX_HUNK_LINES]), hunk.lines[MAX_HUNK_LINES:]
    lines = diffs.diff_body(clean_diff(replace(one.part.diff, hunks=(hunk,))), width, 1)
    if cut:
        lines.append(StyledLine([(f"   … {len(cut)} more lines; v shows all of it", "muted+i")]))
    return [_dim_line(line) for line in lines if _is_changed_line(line)] if out else lines


def _truncate_lines(lines: list[StyledLine], choice: ApprovalChoice) -> list[StyledLine]:
    if len(lines) <= MAX_HUNK_LINES or choice.all_of_it:
        return lines
    more = StyledLine([(f"   … {len(lines) - MAX_HUNK_LINES} more lines; v shows all of it", "muted+i")])
    return [*lines[:MAX_HUNK_LINES], more]


def _is_changed_line(line: StyledLine) -> bool:
    """Whether the line is a removed or added one: of what is left out the context says nothing."""
    return any("added" in key or "removed" in key for _, key in line.pieces)


def _dim_line(line: StyledLine) -> StyledLine:
    return StyledLine([(text, "faint") for text, _ in line.pieces], indent=line.indent, glue=line.glue)


def _command_lines(part: ApprovalPart, width: int) -> list[StyledLine]:
    """One command of a line: what was thought of it, and why."""
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
    """A command line, or a call's own words, as they will run."""
    lines: list[StyledLine] = []
    where = clean_output(part.detail)
    text = clean_output(part.title) if part.id == "line" or not where else where
    bar: list[Piece] = [(" │ ", "faint")]
    for pieces in highlight(text, "bash" if tool == "shell" else ""):
        whole = "".join(piece for piece, _ in pieces)
        if len(whole) < width - 4:
            lines.append(StyledLine([*bar, *pieces]))
        else:
            lines += layout_paragraph(whole, width - 1, first=bar, rest=bar)
    if part.id == "line" and where:
        lines.append(StyledLine([(" in ", "faint"), (shorten(single_line(where), width - 6), "muted")]))
    return lines


def shade_line(line: StyledLine) -> StyledLine:
    """A line drawn for the Trace, on Work's shade."""

    def on(key: str) -> str:
        if "/" in key:
            return key.replace("/background", f"/{GROUND}")
        name, plus, flags = key.partition("+")
        return f"{name}/{GROUND}{plus}{flags}"

    pieces = [(text, on(key)) for text, key in line.pieces]
    return StyledLine(pieces, on(line.fill), right=[(text, on(key)) for text, key in line.right])


DetailLayout = Callable[[ApprovalRequested, ApprovalChoice, int], CardRows]

_ANSWER_KEYS = (
    ("allow_once", "y", "once"),
    ("allow_session", "a", "session"),
    ("allow_always", "p", "always"),
    ("reject_once", "n", "reject"),
)
HIGH_RISK = 70
_PARTIAL_NOTE = "problems unknown: a part is left out"  # what was looked at was all of it


def approval_rows(
    request: ApprovalRequested,
    number: int,
    total: int,
    width: int,
    choice: ApprovalChoice,
    left: float | None = None,
    below: DetailLayout = detail_rows,
) -> CardRows:
    """The card's lines, each with what choosing it does (`part:ID`, `hunk:ID`, or nothing). `left` are the
    seconds until it answers itself with no; `below` lays out what stands below the card."""
    lines = [_title_line(request, number, total), *_fact_lines(request, width, choice)]
    lines += _warning_lines(request, width, left)
    lines.append(StyledLine([], "body/surface"))
    lines += _key_lines(request, width)
    out = choice.out if approval_draft.can_choose(request) else frozenset()
    note = _PARTIAL_NOTE if request.note and (out or choice.edits) else request.note
    found: CardRows = [(line, "") for line in (*lines, *_note_lines(note, width))]
    return found + below(request, choice, width)


class DetailCache:
    """What stands below the card, laid out once: a change of thousands of lines is drawn many times."""

    def __init__(self) -> None:
        self._of: tuple[ApprovalRequested, ApprovalChoice, int] | None = None
        self._rows: CardRows = []

    def __call__(self, request: ApprovalRequested, choice: ApprovalChoice, width: int) -> CardRows:
        of = self._of
        if of is None or of[0] is not request or of[1] is not choice or of[2] != width:
            self._of, self._rows = (request, choice, width), detail_rows(request, choice, width)
        return self._rows


def describe_risk(risk: int) -> tuple[str, str]:
    """A word and a style for a risk of 0 to 100."""
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
    space: list[Piece] = [(" ", "body/surface")]
    title = single_line(request.title, 1000)
    if not choice.all_of_it and not title_is_complete(request, width):
        title = shorten(title, 2 * (width - 4))  # all of it stands below
    lines = _card_text(title, width, "body/surface+b", space, space)
    if request.reason:
        lines += _card_text(clean_output(request.reason), width, "muted/surface", space, space)
    if request.destination:
        arrow: list[Piece] = [(" → ", "warn/surface")]
        lines += _card_text(
            single_line(request.destination), width, "body/surface", arrow, [("   ", "body/surface")]
        )
    if request.held:
        is_held = request.held.startswith("held")
        key = "muted" if is_held else "warn"
        sign: list[Piece] = [(" ▢ " if is_held else " ▲ ", f"{key}/surface")]
        lines += _card_text(
            clean_output(request.held), width, f"{key}/surface", sign, [("   ", "body/surface")]
        )
    if request.alternative:
        instead: list[Piece] = [(" ↪ ", "good/surface")]
        words = f"instead: {clean_output(request.alternative)}"
        lines += _card_text(words, width, "body/surface", instead, [("   ", "body/surface")])
    return lines


def _warning_lines(request: ApprovalRequested, width: int, left: float | None) -> list[StyledLine]:
    """A danger, and a clock that runs."""
    lines: list[StyledLine] = []
    rest: list[Piece] = [("   ", "body/surface")]
    if request.risk >= HIGH_RISK and (
        len(judged_commands(request)) > 1 or not title_is_complete(request, width)
    ):
        sign: list[Piece] = [(" ▲ ", "bad/surface+b")]
        words = "read every part of this before you answer"
        lines += _card_text(words, width, "bad/surface", sign, rest)
    if request.expires and left is not None:
        clock: list[Piece] = [(" ◷ ", "warn/surface")]
        words = f"answers itself with no in {number_format.format_clock(max(0.0, left))}"
        lines += _card_text(words, width, "warn/surface", clock, rest)
    return lines


def _note_lines(note: str, width: int) -> list[StyledLine]:
    """What language servers make of the change: new problems, none, or that nobody knows."""
    if not note:
        return []
    none, some = note.startswith("new problems: 0"), note.startswith("new problems")
    sign, key = ("✓", "good") if none else ("✗", "bad") if some else ("·", "muted")
    first: list[Piece] = [(f" {sign} ", f"{key}/surface+b")]
    lines = layout_paragraph(
        clean_output(note),
        width - 1,
        key=f"{key}/surface",
        first=first,
        rest=[("   ", "body/surface")],
        fill="body/surface",
    )
    return [StyledLine([], "body/surface"), *lines[:8]]


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
        lines += _card_text(
            covered, width, "muted/surface", [(" ", "body/surface")], [("   ", "body/surface")]
        )
    own = ["Space takes or leaves"] if approval_draft.can_choose(request) else []
    own += ["e edits a hunk"] if approval_draft.can_edit(request) else []
    if own:
        words = ", ".join(own)
        rest: list[Piece] = [("   ", "body/surface")]
        lines += _card_text(f"F5, then {words}", width, "faint/surface", [(" ", "body/surface")], rest)
    return lines


def _describe_rules(request: ApprovalRequested) -> list[str]:
    """What `a` and `p` would let run from now on, and for how long."""
    session, always = (single_line(", ".join(rules), 400) for rules in (request.remembers, request.keeps))
    if session != always:
        return [f"a covers {session}, until the session ends", f"p covers {always}, for good here"]
    if shape := session or single_line(request.shape, 400):
        return [f"a and p cover {shape}; p for good here"]
    return []
