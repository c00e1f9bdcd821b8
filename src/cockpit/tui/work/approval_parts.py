"""The parts of an approval as rows: files hunk by hunk, commands with the verdict on each. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.state.safe import safe_diff
from cockpit.tui.trace import diffs
from cockpit.tui.trace.code import coloured
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, width_of
from cockpit.tui.work import choosing

GROUND = "surface"
LONGEST = 40  # lines of one hunk in Work; the whole approval shows all of them
_LEVELS = {"allow": ("✓", "good"), "ask": ("?", "warn"), "deny": ("✗", "bad"), "": ("·", "muted")}
_BOXES = {"in": (" ☑ ", "good"), "some": (" ◪ ", "person"), "out": (" ☐ ", "muted")}
Rows = list[tuple[Line, str]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person has left out and written so far; `all_of_it`: nothing is cut for want of room."""

    out: frozenset[str] = frozenset()
    edits: Mapping[str, str] = field(default_factory=dict)
    all_of_it: bool = False


def parts_below(request: ApprovalRequested, choice: Choice, width: int) -> Rows:
    """What stands below the card: the verdicts on the commands, the line where the title does not say all
    of it, and the files."""
    found: Rows = []
    blank = (Line([], f"body/{GROUND}"), "")
    asked = commands(request)
    whole = next((part for part in request.parts if part.id == "line"), None)
    if not (len(asked) == 1 and asked[0].reason in ("", request.reason) and _is_same(asked[0], whole)):
        found += [(shaded(line), "") for part in asked for line in _command(part, width)]
    if found:
        found.insert(0, blank)
    for part in request.parts:
        if part.level or (part is whole and says_all(request, width)):
            continue
        found += [blank, *part_rows(request, part, choice, width)]
    return found


def commands(request: ApprovalRequested) -> list[ApprovalPart]:
    """The commands of a line with a verdict on each; what a wrapper says twice stands there once."""
    seen = {(part.level, part.title, part.reason): part for part in request.parts if part.level}
    return list(seen.values())


def says_all(request: ApprovalRequested, width: int) -> bool:
    """Whether the title alone is what will run, short enough to be read there."""
    whole = next((part for part in request.parts if part.id == "line"), None)
    if whole is None:
        return not any(part.level for part in request.parts)
    is_short = width_of(whole.title) <= 3 * (width - 6)
    return is_short and request.title == f"$ {whole.title}" and not whole.detail


def _is_same(part: ApprovalPart, whole: ApprovalPart | None) -> bool:
    return whole is not None and part.title == whole.title


def part_rows(request: ApprovalRequested, part: ApprovalPart, choice: Choice, width: int) -> Rows:
    """A part's lines, each with what choosing it does: `part:ID`, `hunk:ID`, or nothing."""
    if part.diff is not None:
        return _file(request, part, choice, width)
    lines = _text(part, request.tool, width)
    return [(shaded(line), "") for line in lines]


def _file(request: ApprovalRequested, part: ApprovalPart, choice: Choice, width: int) -> Rows:
    assert part.diff is not None
    found = choosing.pieces_of(part)
    many = choosing.can_choose(request)
    out = choice.out if many else frozenset()
    taken = [one for one in found if one.name not in out]
    diff = safe_diff(part.diff)
    if all(one.hunk is not None for one in found):
        added, removed = choosing.counts(
            [hunk for one in taken if (hunk := choosing.shown(one, choice.edits))]
        )
        diff = replace(diff, added=added, removed=removed)
    head = diffs.head(diff, width, 1)
    if many:
        state = "in" if len(taken) == len(found) else "some" if taken else "out"
        head = Line([_BOXES[state], *head.pieces[1:]], right=head.right)
    if len(found) == 1:
        return _single(found[0], choice, head, many, width)
    rows: Rows = [(shaded(head), f"part:{part.id}" if many else "")]
    for number, one in enumerate(found, 1):
        does = f"hunk:{one.name}" if many or (one.row and one.row.can_edit) else ""
        lines = [_hunk_head(one, number, len(found), one.name in out, choice, many)]
        if marks := _marks(one, choice):
            lines.append(Line([("    ", "body"), *marks]))
        lines += _body(one, choice, width, one.name in out)
        rows += [(shaded(line), does) for line in lines]
    return rows


def _single(one: choosing.Piece, choice: Choice, head: Line, many: bool, width: int) -> Rows:
    """A file that is taken or left as one."""
    kind = "hunk" if one.row is not None else "part"
    does = f"{kind}:{one.name}" if many or (one.row and one.row.can_edit) else ""
    marks = _marks(one, choice)
    lines = [head, *([Line([("   ", "body"), *marks])] if marks else [])]
    if one.hunk is None and one.name not in choice.out and one.part.diff is not None:
        lines += _cut(diffs.body(safe_diff(one.part.diff), width, 1), choice)
    elif one.name not in choice.out or not many:
        lines += _body(one, choice, width, False)
    return [(shaded(line), does) for line in lines]


def _hunk_head(one: choosing.Piece, number: int, total: int, out: bool, choice: Choice, many: bool) -> Line:
    hunk = choosing.shown(one, choice.edits)
    added, removed = choosing.counts([hunk] if hunk is not None else [])
    box, key = _BOXES["out" if out else "in"]
    words = "faint" if out else "muted"
    pieces: list[Piece] = [(f" {box}" if many else "    ", key)]
    pieces.append((f"hunk {number} of {total}", words))
    pieces.append((f"  line {one.row.line}" if one.row else "", "faint"))
    pieces += [("  left out", "muted+i")] if out else []
    right: list[Piece] = [(f"+{added}", words if out else "good"), (" ", "body")]
    right.append((f"-{removed} ", words if out else "bad"))
    return Line(pieces, right=right)


def _marks(one: choosing.Piece, choice: Choice) -> list[Piece]:
    marks: list[Piece] = [("✎ edited by you ", "person+b")] if one.name in choice.edits else []
    if one.row is not None and one.row.refused:
        marks.append(("↺ you refused this before", "warn+b"))
    return marks


def _body(one: choosing.Piece, choice: Choice, width: int, out: bool) -> list[Line]:
    hunk = choosing.shown(one, choice.edits)
    if hunk is None or one.part.diff is None:
        return []
    cut: tuple[str, ...] = ()
    if len(hunk.lines) > LONGEST and not choice.all_of_it:
        hunk, cut = replace(hunk, lines=hunk.lines[:LONGEST]), hunk.lines[LONGEST:]
    lines = diffs.body(safe_diff(replace(one.part.diff, hunks=(hunk,))), width, 1)
    if cut:
        lines.append(Line([(f"   … {len(cut)} more lines; v shows all of it", "muted+i")]))
    return [_dimmed(line) for line in lines if _changes(line)] if out else lines


def _cut(lines: list[Line], choice: Choice) -> list[Line]:
    if len(lines) <= LONGEST or choice.all_of_it:
        return lines
    more = Line([(f"   … {len(lines) - LONGEST} more lines; v shows all of it", "muted+i")])
    return [*lines[:LONGEST], more]


def _changes(line: Line) -> bool:
    """Whether the line is a removed or added one: of what is left out the context says nothing."""
    return any("added" in key or "removed" in key for _, key in line.pieces)


def _dimmed(line: Line) -> Line:
    return Line([(text, "faint") for text, _ in line.pieces], indent=line.indent, glue=line.glue)


def _command(part: ApprovalPart, width: int) -> list[Line]:
    """One command of a line: what was thought of it, and why."""
    sign, key = _LEVELS[part.level]
    first: list[Piece] = [(f" {sign} ", f"{key}+b")]
    lines = paragraph(one_line(part.title, 2000), width - 1, key="body", first=first, rest=[("   ", "body")])
    if part.reason:
        indent: list[Piece] = [("   ", "body")]
        lines += paragraph(clean_output(part.reason), width - 1, key="muted", first=indent, rest=indent)
    return lines


def _text(part: ApprovalPart, tool: str, width: int) -> list[Line]:
    """A command line, or a call's own words, as they will run."""
    lines: list[Line] = []
    where = clean_output(part.detail)
    text = clean_output(part.title) if part.id == "line" or not where else where
    bar: list[Piece] = [(" │ ", "faint")]
    for pieces in coloured(text, "bash" if tool == "shell" else ""):
        whole = "".join(piece for piece, _ in pieces)
        if len(whole) < width - 4:
            lines.append(Line([*bar, *pieces]))
        else:
            lines += paragraph(whole, width - 1, first=bar, rest=bar)
    if part.id == "line" and where:
        lines.append(Line([(" in ", "faint"), (shortened(one_line(where), width - 6), "muted")]))
    return lines


def shaded(line: Line) -> Line:
    """A line drawn for the Trace, on Work's shade."""

    def on(key: str) -> str:
        if "/" in key:
            return key.replace("/background", f"/{GROUND}")
        name, plus, flags = key.partition("+")
        return f"{name}/{GROUND}{plus}{flags}"

    pieces = [(text, on(key)) for text, key in line.pieces]
    return Line(pieces, on(line.fill), right=[(text, on(key)) for text, key in line.right])
