"""What the model is told of roles and running subagents: at the end of a request, so that neither the tools
nor the beginning of the conversation change when an agent comes or goes."""

from cockpit.builtin.delegate.showing import line_of
from cockpit.plugin.context import Context
from cockpit.protocol.clean import one_line

DESCRIBED = 30
NAMED = 100
LENGTH = 110


async def listed(context: Context) -> str:
    """The roles it may open, and those at work. Empty for who cannot delegate."""
    if not any(tool.name == "delegate" for tool in context.session.toolbox.tools()):
        return ""
    roles = context.agents.roles()
    if not roles:
        return ""
    lines = [f"- {one.name}: {one_line(one.description, LENGTH)}" for one in roles[:DESCRIBED]]
    if more := [one.name for one in roles[DESCRIBED:NAMED]]:
        lines.append(f"- also: {', '.join(more)}")
    own = context.session.agent
    working = [
        f"- {one.id} ({one.role}, {one.phase}): {line_of(one.task)}"
        for one in context.agents.all()
        if one.phase in ("queued", "running") and one.id.startswith(f"{own}/")
    ]
    at_work = "\nAt work now; `agents` looks after them, do not give their task again:\n" if working else ""
    return "[Roles for `delegate`:\n" + "\n".join(lines) + at_work + "\n".join(working) + "]"
