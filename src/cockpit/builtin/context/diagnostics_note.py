"""New problems of the files that were edited, told to the model once, with the step after the edit."""

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
    """Empty where nothing was edited, which costs nothing."""
    found = await context.navigator.news()
    if not found.rows:
        return ""
    more = f"\n[{len(found.rows) - MAX_SHOWN} more: diagnostics]" if len(found.rows) > MAX_SHOWN else ""
    return f"New problems after your edits:\n{format_problems(found.rows[:MAX_SHOWN])}{more}"
