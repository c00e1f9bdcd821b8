"""Plan mode in Work: one line of where it stands, and the way to the plan that waits. Pure."""

from cockpit.protocol.events import ApprovalRequested
from cockpit.tui import figures
from cockpit.tui.clean import one_line
from cockpit.tui.state.state import State
from cockpit.tui.trace.layout import Line, Piece, shortened
from cockpit.tui.work.lines import Row, row, title


def plan_rows(state: State, width: int) -> list[Row]:
    """Nothing unless the session plans; an approval that asks for the plan is a card of its own."""
    plan = state.plan
    if state.mode != "plan" or plan.request in state.approvals:
        return []
    if plan.state == "pending":
        name = shortened(one_line(plan.title) or "the plan", max(8, width - 24))
        steps = figures.count(len(plan.steps), "step") if plan.steps else ""
        found = [Row(title("PLAN", "waits for you", "function"))]
        found.append(Row(row((" ▸ ", "function"), (name, "body+b"), right=[(f"{steps} ", "muted")]), "plan:"))
        return [*found, Row(row(("   Enter or F9 reviews it, /do approves it", "muted")))]
    said = {"rejected": "rejected; the model may propose another one"}.get(plan.state, "")
    text = said or "only looks, until you accept a plan"
    return [Row(title("PLAN", "", "function")), Row(row((f"   {shortened(text, width - 4)}", "muted")))]


def plan_card(state: State, request: ApprovalRequested, width: int) -> list[Row]:
    """A plan that waits, as an approval; its text stands in the Trace and in its review."""
    plan = state.plan
    head: list[Piece] = [(" PLAN ", "base/function+b"), ("  waits for you", "muted/surface")]
    steps = figures.count(len(plan.steps), "step") if plan.steps else ""
    keys: list[Piece] = [(" ", "body/surface")]
    for key, label in (("v", "review"), ("y", f"accept, mode {plan.mode or 'ask'}"), ("n", "reject")):
        keys += [(f" {key} ", "person/boost+b"), (f" {label} ", "body/surface")]
    name = shortened(one_line(plan.title or request.title), max(8, width - 2))
    found = [
        Row(Line(head, "body/surface", right=[(f"{steps} ", "muted/surface")])),
        Row(row((" ", "body"), (name, "body+b")), "plan:"),
    ]
    if request.expires:
        said = f"no answer within {figures.span(request.expires)} is a no"
        found.append(Row(row((f" {said}", "person"))))
    return [*found, Row(row()), Row(Line(keys, "body/surface"))]
