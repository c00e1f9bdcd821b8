"""New problems of the files that were edited, told to the model once, with the step after the edit."""

from cockpit.builtin.navigation.showing import problems
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import ContextSource, Register, Scope

SHOWN = 20


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("diagnostics-note", "reminder", "step", collect, deadline_ms=2_500, order=60))


async def collect(context: Context) -> str:
    """Empty where nothing was edited, which costs nothing."""
    found = await context.navigator.news()
    if not found.rows:
        return ""
    more = f"\n[{len(found.rows) - SHOWN} more: diagnostics]" if len(found.rows) > SHOWN else ""
    return f"New problems after your edits:\n{problems(found.rows[:SHOWN])}{more}"
