"""Plan mode in the state: where it stands, and the one entry of the plan that waits."""

from cockpit.protocol import events
from cockpit.tui.clean import clean, one_line
from cockpit.tui.state.entries import Plan
from cockpit.tui.state.state import State


def changed(state: State, event: events.PlanChanged) -> None:
    """A plan is one entry: what becomes of it is said where it stands."""
    state.plan = event
    at, waiting = state.plan_at, event.state == "pending"
    entry = state.entries[at] if 0 <= at < len(state.entries) else None
    if isinstance(entry, Plan) and not (waiting and entry.text != clean(event.text)):
        entry.text, entry.note = clean(event.text or entry.text), one_line(event.note)
        entry.state = {"idle": "set aside", "planning": "set aside"}.get(event.state, event.state)
        state.touch(at)
    elif event.text and event.state not in ("idle", "planning"):
        state.plan_at = state.add(Plan(clean(event.text), event.state, one_line(event.note)))
    if not waiting:
        state.plan_at = -1
