"""Creates a subagent for the agent that opens it: its role, its limits, and rights no wider than those of its
opener. Small models get smaller limits.
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
from cockpit.protocol.messages import Mode
from cockpit.settings.files import EffectiveSettings
from cockpit.suggestions import closest_names, did_you_mean

# Used where settings give no usable value (0 steps, a limit of 0).
DEFAULT_CONCURRENCY = 8
DEFAULT_DEPTH = 1
DEFAULT_STEPS = 100
DEFAULT_OUTPUT = 12_000
SMALL_WINDOW = 32_000
# A small model that needs more steps repeats itself, and its window is full of its own text.
SMALL_STEPS = 15
SMALL_BODY = 8_000
SMALL_SHARE = 0.3
SMALL_TEXT = 1_600


@dataclass(frozen=True, slots=True)
class SubagentLimits:
    """`limits` are those of its budget, `output` the characters of its report that its opener reads, `body`
    the maximum tokens of its conversation (None: its window), `instructions` the maximum characters of its
    role's instructions."""

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
    reader_limit = SMALL_TEXT if parent.window() < SMALL_WINDOW else None
    output = _smallest(
        role.quota.output, requested.output, settings.number("agents.output") or DEFAULT_OUTPUT, reader_limit
    )
    tokens = _smallest(role.quota.tokens, requested.tokens, settings.number("agents.tokens"))
    seconds = _smallest(role.quota.seconds, requested.seconds, settings.number("agents.seconds"))
    return SubagentLimits(
        TurnLimits(int(steps or DEFAULT_STEPS), tokens=int(tokens) if tokens else None, seconds=seconds),
        int(output or DEFAULT_OUTPUT),
        min(SMALL_BODY, int(SMALL_SHARE * window)) if small else None,
        SMALL_TEXT if small else None,
    )


def _smallest(*candidates: float | None) -> float | None:
    """The smallest of the values; 0 and None set no limit."""
    return min((value for value in candidates if value), default=None)


# Exists also when the plugin with the other roles is switched off.
GENERAL_ROLE = Role(
    "general",
    "Does one task and reports.",
    "Do the given task and report the result.",
    aliases=ROLE_ALIASES["general"],
)


def list_roles(catalog: PluginCatalog) -> tuple[Role, ...]:
    """Every role, by name."""
    roles = {role.name: role for role in (GENERAL_ROLE, *catalog.all(Role))}
    return tuple(roles[name] for name in sorted(roles))


def find_role(catalog: PluginCatalog, name: str) -> Role:
    """The role called `name`: exactly, by an alias, or with other case and separators. Raises
    `CockpitError`."""
    roles = list_roles(catalog)
    if (exact := match_role(roles, name)) is not None:
        return exact
    normalised = _normalise_name(name or GENERAL_ROLE.name)
    for role in roles:
        if normalised in map(_normalise_name, (role.name, *role.aliases)):
            return role
    names = [name for role in roles for name in (role.name, *role.aliases)]
    known = f"roles: {', '.join(role.name for role in roles)}"
    hint = did_you_mean(closest_names(name, names, limit=3), known)
    raise CockpitError(f"there is no role called {name}", hint)


def match_role(roles: tuple[Role, ...], name: str) -> Role | None:
    """The role with exactly that name or alias: a project's `review` is also the `reviewer`."""
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
        f"{hint} Correct the list, or remove it".lstrip(),
    )


def role_model(parent: Agent, role: Role) -> str:
    """The model for an agent of `role`: the role's when it is available, else that of the opener."""
    services, own = parent.services, parent.model or parent.state.model
    if role.model in ("", "inherit"):
        return own
    if role.model in TIERS:
        return role.model if services.settings.table("models.tiers").get(role.model) else own
    try:
        missing, hint = choose_model(services.catalog, services.settings, role.model).provider.ready(), ""
    except ModelUnknown as error:
        missing, hint = error.message, error.hint
    if missing:
        parent.warn(f"the role {role.name}: {missing}; {own} is used", hint)
    return own if missing else role.model


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
    spent_from = budget or parent.budget
    child = Agent(
        path=path,
        services=parent.services,
        state=parent.state,
        history=ConversationHistory(path),
        toolbox=AgentToolbox(catalog, withholds=rights.withholds),
        budget=spent_from,
        role=role,
        model=role_model(parent, role),
        depth=parent.depth + 1,
        opened_planning=parent.is_planning or planning,
        rights=rights,
        folder=parent.folder,
    )
    limits = subagent_limits(parent, role, quota, child.window())
    child.agents = parent.agents
    child.budget = spent_from.child(limits.limits)
    child.max_history = limits.body
    strictest = stricter_mode(parent.mode, stricter_mode(mode or "full", role.mode))
    child.role = replace(role, mode=strictest, instructions=_shorten(role.instructions, limits.instructions))
    listed = [tool.name for tool in catalog.all(Tool) if tool.deferred and tool.name in (role.tools or ())]
    if listed:
        child.toolbox.search(f"select:{','.join(listed)}")
    return child


async def first_message(agent: Agent, task: str) -> str:
    """The task, preceded by the full text of the role's skills."""
    parts: list[str] = []
    for name in agent.role.skills if agent.role is not None else ():
        skill = agent.services.catalog.get(Skill, name)
        if skill is None:
            parts.append(f"[The skill {name} does not exist.]")
        else:
            parts.append(f"[The skill {name}]\n{(await asyncio.to_thread(skill.body)).strip()}")
    return "\n\n".join((*parts, task))


def _shorten(text: str, limit: int | None) -> str:
    """Shorten instructions for a small model."""
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()}\n[... the instructions are cut here]"
