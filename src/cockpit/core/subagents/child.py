"""A subagent made out of the agent that opens it: its rights or fewer, a budget below its own, a conversation
that begins with its task."""

import asyncio
from dataclasses import replace

from cockpit.core.agent import Agent, stricter_mode
from cockpit.core.budget import Budget
from cockpit.core.history import History
from cockpit.core.subagents.rights import Rights
from cockpit.core.subagents.roles import model_of
from cockpit.core.subagents.terms import depth, terms
from cockpit.core.toolbox import Toolbox
from cockpit.plugin.agents import Quota
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Role, Skill
from cockpit.protocol.messages import Mode


def child_of(
    parent: Agent,
    path: str,
    role: Role,
    *,
    background: bool = False,
    quota: Quota | None = None,
    budget: Budget | None = None,
    mode: Mode | None = None,
    planning: bool = False,
) -> Agent:
    """An agent with the parent's rights or fewer. `budget` is what it may spend of (the parent's own where it
    is left out); `mode` and `planning` hold besides those of the parent, for one that was opened before."""
    catalog = parent.host.catalog
    deeper = parent.depth + 1 < depth(parent.host.settings)
    rights = Rights(role, parent.rights, deeper, background)
    child = Agent(
        path=path,
        host=parent.host,
        history=History(path),
        toolbox=Toolbox(catalog, withholds=rights.withholds),
        budget=budget or parent.budget,
        role=replace(role, mode=stricter_mode(parent.mode, stricter_mode(mode or "full", role.mode))),
        model=model_of(parent, role),
        depth=parent.depth + 1,
        opened_planning=parent.is_planning or planning,
        rights=rights,
        standing=parent.standing,
    )
    said = terms(parent, role, quota, child.window())
    child.agents = parent.agents
    child.budget = (budget or parent.budget).child(said.limits)
    child.body = said.body
    child.role = replace(child.role or role, instructions=_short(role.instructions, said.instructions))
    wanted = [tool.name for tool in catalog.all(Tool) if tool.deferred and tool.name in (role.tools or ())]
    if wanted:
        child.toolbox.search(f"select:{','.join(wanted)}")
    return child


async def first_words(agent: Agent, task: str) -> str:
    """The task with the skills that the role is given, each whole."""
    role = agent.role
    parts: list[str] = []
    for name in role.skills if role is not None else ():
        skill = agent.host.catalog.get(Skill, name)
        if skill is not None:
            body = await asyncio.to_thread(skill.body)
            parts.append(f"[The skill {name}]\n{body.strip()}")
        else:
            parts.append(f"[The skill {name} is not there.]")
    return "\n\n".join((*parts, task))


def _short(text: str, most: int | None) -> str:
    """Instructions for a small model: it cannot hold long ones and its task."""
    if most is None or len(text) <= most:
        return text
    return f"{text[:most].rstrip()}\n[... the instructions go on; what stands here is the most of them]"
