"""Tells the model, once and with the step after an edit, about new problems in the edited files."""

from cockpit.builtin.tools.navigation.symbol_rows import format_problems
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import ContextSource, Register, Scope

MAX_SHOWN = 20


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(
        ContextSource("diagnostics-note", "reminder", "step", collect_problems, deadline_ms=2_500, order=60)
    )


async def collect_problems(context: Context) -> str:
    """Format the new problems. Costs nothing if no file was edited."""
    rows = (await context.navigator.news()).rows
    if not rows:
        return ""
    more = f"\n[{len(rows) - MAX_SHOWN} more: diagnostics]" if len(rows) > MAX_SHOWN else ""
    return f"New problems after your edits:\n{format_problems(rows[:MAX_SHOWN])}{more}"
