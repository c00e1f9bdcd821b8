"""Creates a subagent from the agent that opens it: its role, its limits, and rights no wider than its
opener's. Small models get smaller limits.
"""

import asyncio
from dataclasses import dataclass, replace

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.models import TIERS, ModelUnknown, choose_model
from cockpit.core.agent.session_state import stricter_mode
from cockpit.core.agent.turn_limits import Budget, TurnLimits
from cockpit.core.permission.rules import RoleRights, unknown_entries
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.core.transcript.history import ConversationHistory
from cockpit.errors import CockpitError
from cockpit.formats.role_tools import OTHER_AGENTS_TOOLS, ROLE_ALIASES, resolve_role_name
from cockpit.plugin.agents import Quota
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Role, Skill
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import Mode
from cockpit.settings.files import EffectiveSettings
from cockpit.suggestions import closest_names, did_you_mean

# Used where settings give no usable value (0 steps, a limit of 0).
DEFAULT_CONCURRENCY = 8
DEFAULT_DEPTH = 1
DEFAULT_STEPS = 100
DEFAULT_OUTPUT = 12_000
SMALL_WINDOW = 32_000
# A small model that still works after that repeats itself, and its window is full of its own text.
SMALL_STEPS = 15
SMALL_BODY = 8_000
SMALL_SHARE = 0.3
SMALL_TEXT = 1_600


@dataclass(frozen=True, slots=True)
class SubagentLimits:
    """`limits` are those of its budget, `output` the characters of its report that its opener reads, `body`
    the maximum tokens of its conversation (None: its window)."""

    limits: TurnLimits
    output: int
    body: int | None
    instructions: int | None


def max_concurrent(settings: EffectiveSettings) -> int:
    return max(1, int(settings.number("agents.limit") or DEFAULT_CONCURRENCY))


def max_depth(settings: EffectiveSettings) -> int:
    """How deep agents may open agents: 1 only the main agent, 0 none."""
    depth = settings.number("agents.depth")
    return DEFAULT_DEPTH if depth is None else max(0, int(depth))


def subagent_limits(parent: Agent, role: Role, quota: Quota | None, window: int) -> SubagentLimits:
    """The limits of an agent of `role` with a context window of `window` tokens: the smallest of those of the
    role, the opener and the settings. The budget of `parent` applies in addition."""
    settings, requested = parent.services.settings, quota or Quota()
    small = window < SMALL_WINDOW
    left = parent.budget.left().get("steps")
    steps = _smallest(
        role.max_steps,
        role.quota.steps,
        requested.steps,
        settings.number("agents.steps") or DEFAULT_STEPS,
        SMALL_STEPS if small else None,
        left if left is None else max(1.0, left),
    )
    read_by = SMALL_TEXT if parent.window() < SMALL_WINDOW else None
    output = _smallest(
        role.quota.output, requested.output, settings.number("agents.output") or DEFAULT_OUTPUT, read_by
    )
    limits = TurnLimits(
        steps=int(steps or DEFAULT_STEPS),
        tokens=_as_int(_smallest(role.quota.tokens, requested.tokens, settings.number("agents.tokens"))),
        seconds=_smallest(role.quota.seconds, requested.seconds, settings.number("agents.seconds")),
    )
    return SubagentLimits(
        limits,
        int(output or DEFAULT_OUTPUT),
        min(SMALL_BODY, int(SMALL_SHARE * window)) if small else None,
        SMALL_TEXT if small else None,
    )


def _smallest(*candidates: float | None) -> float | None:
    """The smallest of the values; 0 and None set no limit."""
    values = [value for value in candidates if value]
    return min(values) if values else None


def _as_int(number: float | None) -> int | None:
    return None if number is None else int(number)


# Exists also when the plugin with the other roles is switched off.
GENERAL_ROLE = Role(
    "general",
    "Does one task and reports.",
    "Do the task you are given and report what you found.",
    aliases=ROLE_ALIASES["general"],
)


def list_roles(catalog: PluginCatalog) -> tuple[Role, ...]:
    """Every role, by name."""
    found = {GENERAL_ROLE.name: GENERAL_ROLE} | {role.name: role for role in catalog.all(Role)}
    return tuple(found[name] for name in sorted(found))


def find_role(catalog: PluginCatalog, name: str) -> Role:
    """The role called `name`: exactly, by an alias, or with other case and separators. Raises
    `CockpitError`."""
    roles = list_roles(catalog)
    normalised = _normalise_name(name or GENERAL_ROLE.name)
    if (exact := match_role(roles, name)) is not None:
        return exact
    for role in roles:
        if normalised in map(_normalise_name, (role.name, *role.aliases)):
            return role
    every = [*(one.name for one in roles), *(alias for one in roles for alias in one.aliases)]
    known = f"roles: {', '.join(one.name for one in roles)}"
    hint = did_you_mean(closest_names(name, every, limit=3), known)
    raise CockpitError(f"there is no role called {name}", hint)


def match_role(roles: tuple[Role, ...], name: str) -> Role | None:
    """The role of exactly that name or alias: a project's `review` is also the `reviewer`."""
    by_name = {role.name: role for role in roles}
    by_alias = {alias: role for role in reversed(roles) for alias in role.aliases}
    return by_name.get(name) or by_alias.get(name) or by_name.get(resolve_role_name(name))


def check_role_tools(role: Role, catalog: PluginCatalog) -> None:
    """Raises `CockpitError` for a role that lists an unknown tool."""
    tools = catalog.all(Tool)
    unknown = [
        entry
        for entry in unknown_entries(role.tools or (), tools)
        if entry.partition("(")[0] not in OTHER_AGENTS_TOOLS
    ]
    # Our own roles may list tools of a plugin that is switched off.
    if not unknown or (role.origin is not None and role.origin.layer == "built-in"):
        return
    every = [*(tool.name for tool in tools), *(alias.name for tool in tools for alias in tool.aliases)]
    hint = did_you_mean(closest_names(unknown[0], every, limit=3, cutoff=0.5))
    where = f" ({role.origin.file})" if role.origin is not None else ""
    raise CockpitError(
        f"the role {role.name} lists a tool that does not exist: {unknown[0]}{where}",
        f"{hint} Correct its list, or remove it".lstrip(),
    )


def role_model(parent: Agent, role: Role) -> str:
    """The model for an agent of `role`: the role's when it is available, else that of the opener."""
    services, own = parent.services, parent.model or parent.state.model
    if role.model in ("", "inherit"):
        return own
    if role.model in TIERS:
        return role.model if services.settings.table("models.tiers").get(role.model) else own
    try:
        choice = choose_model(services.catalog, services.settings, role.model)
    except ModelUnknown as error:
        services.log.emit(
            Warned(f"the role {role.name}: {error.message}; {own} is used", error.hint), parent.path
        )
        return own
    if missing := choice.provider.ready():
        services.log.emit(Warned(f"the role {role.name}: {missing}; {own} is used"), parent.path)
        return own
    return role.model


def _normalise_name(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def create_child(
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
    """An agent with the parent's rights or fewer.

    `budget` replaces the parent's as the budget it spends from. `mode` and `planning` apply in addition to
    those of the parent, for an agent that was opened before a restart.
    """
    catalog = parent.services.catalog
    deeper = parent.depth + 1 < max_depth(parent.services.settings)
    rights = RoleRights(role, parent.rights, deeper, background)
    child = Agent(
        path=path,
        services=parent.services,
        state=parent.state,
        history=ConversationHistory(path),
        toolbox=AgentToolbox(catalog, withholds=rights.withholds),
        budget=budget or parent.budget,
        role=replace(role, mode=stricter_mode(parent.mode, stricter_mode(mode or "full", role.mode))),
        model=role_model(parent, role),
        depth=parent.depth + 1,
        opened_planning=parent.is_planning or planning,
        rights=rights,
        folder=parent.folder,
    )
    limits = subagent_limits(parent, role, quota, child.window())
    child.agents = parent.agents
    child.budget = (budget or parent.budget).child(limits.limits)
    child.max_history = limits.body
    child.role = replace(child.role or role, instructions=_shorten(role.instructions, limits.instructions))
    listed = [tool.name for tool in catalog.all(Tool) if tool.deferred and tool.name in (role.tools or ())]
    if listed:
        child.toolbox.search(f"select:{','.join(listed)}")
    return child


async def first_message(agent: Agent, task: str) -> str:
    """The task, preceded by the full text of the role's skills."""
    role = agent.role
    parts: list[str] = []
    for name in role.skills if role is not None else ():
        skill = agent.services.catalog.get(Skill, name)
        if skill is not None:
            body = await asyncio.to_thread(skill.body)
            parts.append(f"[The skill {name}]\n{body.strip()}")
        else:
            parts.append(f"[The skill {name} is not there.]")
    return "\n\n".join((*parts, task))


def _shorten(text: str, most: int | None) -> str:
    """Shorten instructions for a small model."""
    if most is None or len(text) <= most:
        return text
    return f"{text[:most].rstrip()}\n[... the instructions go on; what stands here is the most of them]"
