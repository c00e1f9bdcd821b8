"""A plan as lines: what each step would do, how its command is judged, how to check and to go back. Pure."""

from cockpit.protocol.events import PlanChanged
from cockpit.protocol.rows import PlanStep
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.screens.sheet import shaded
from cockpit.tui.trace.contents import markdown
from cockpit.tui.trace.layout import Line, Piece, paragraph, width_of

LEVELS = {"allow": ("runs unasked", "good"), "ask": ("asks you", "person"), "deny": ("refused", "bad")}
SIGNS = {"command": "$", "edit": "✎", "note": "·"}
_MARGIN = 4


def plan_lines(plan: PlanChanged, edited: str, width: int) -> list[Line]:
    """The plan as it was proposed, or as the person has `edited` it."""
    if edited or not plan.steps:
        return shaded(markdown(clean_output(edited or plan.text), width, 0))
    lines = [Line([(one_line(plan.title, 200), "heading+b")])]
    if summary := _summary(plan.text):
        lines += [Line([]), *markdown(clean_output(summary), width, 0)]
    lines.append(Line([]))
    for number, step in enumerate(plan.steps, 1):
        lines += _step(step, number, width)
    for heading, rows in (("Verify", plan.verification), ("Roll back", plan.rollback)):
        if rows:
            lines += [Line([]), Line([(heading, "heading+b")]), *_listed(rows, width)]
    return shaded(lines)


def _summary(text: str) -> str:
    """What stands between the title and the first heading below it."""
    _, _, rest = text.partition("\n")
    return rest.partition("\n## ")[0].strip()


def _step(step: PlanStep, number: int, width: int) -> list[Line]:
    named = one_line(step.command or step.path, 400)
    word, key = LEVELS.get(step.level, ("", "muted"))
    if step.kind == "command" and not word and step.read_only:
        word = "said to read only"
    right: list[Piece] = [(f"{word} ", key)] if word else []
    head: list[Piece] = [(f"{number:>2} ", "faint"), (f"{SIGNS[step.kind]} ", "machine")]
    room = width - width_of(word) - 2
    rest: list[Piece] = [(" " * 5, "body")]
    if not named:
        return paragraph(one_line(step.purpose, 1000), width - 1, key="body", first=head, rest=rest)
    lines = paragraph(named, room, key="body+b", first=head, rest=rest)
    lines[0].right = right
    lines += paragraph(one_line(step.purpose, 1000), width - 1, key="muted", first=rest, rest=rest)
    if step.level == "deny" and step.reason:
        lines += paragraph(one_line(step.reason, 400), width - 1, key="bad", first=rest, rest=rest)
    return lines


def _listed(rows: tuple[str, ...], width: int) -> list[Line]:
    first: list[Piece] = [("   · ", "faint")]
    rest: list[Piece] = [(" " * 5, "body")]
    return [
        line
        for one in rows
        for line in paragraph(one_line(one, 400), width - 1, key="body", first=first, rest=rest)
    ]
