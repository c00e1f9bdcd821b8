"""Skills that run in a subagent: the text is its task, its report is what comes back."""

from dataclasses import replace

from cockpit.builtin.skills.allowing import names
from cockpit.builtin.skills.rendering import rendered
from cockpit.builtin.skills.state import STATE
from cockpit.plugin.agents import Role
from cockpit.plugin.context import Context
from cockpit.plugin.values import Skill

DEFAULT = "general"


async def forked(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    """The report of the subagent; for one in the background, what it is called. Raises `CockpitError` for
    a role nobody knows and where no agent may be opened."""
    role = narrowed(context.agents.role(skill.role or DEFAULT), skill, context)
    task = await rendered(skill, arguments, context, typed)
    # What the skill allows is held there by the same guard: its turn begins with this very task.
    STATE.expect(context.session.id, task, skill)
    call = context.call.call.id if context.call is not None else ""
    background = skill.background or role.background
    handle = await context.agents.open(role, task, background=background, name=_slug(skill), call=call)
    if background:
        return f"the skill {skill.name} runs in the background as {handle.id}; its report will be told"
    report = await handle.wait()
    return f"[Report of the skill {skill.name}, by {handle.id}]\n\n{report.text}"


def narrowed(role: Role, skill: Skill, context: Context) -> Role:
    """`role` with the model of the skill, and at most its tools. Never more than the role has."""
    tools = role.tools
    if skill.allowed_tools is not None:
        there = context.session.toolbox.tools()
        own = [one for one in there if any(names(pattern, one) for pattern in skill.allowed_tools)]
        if tools is not None:
            own = [one for one in own if any(names(pattern, one) for pattern in tools)]
        tools = tuple(one.name for one in own)
    return replace(role, tools=tools, model=skill.model or role.model, effort=skill.effort or role.effort)


def _slug(skill: Skill) -> str:
    return skill.name.replace(":", "-")
