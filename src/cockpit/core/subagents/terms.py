"""What a subagent may spend, and how small models are spared. Reads settings; counts nothing."""

from dataclasses import dataclass

from cockpit.core.agent import Agent
from cockpit.core.budget import Limits
from cockpit.plugin.agents import Quota
from cockpit.plugin.values import Role
from cockpit.settings.files import Settings

# Where settings say nothing usable (0 steps, a limit of 0).
LIMIT = 8
DEPTH = 1
STEPS = 100
OUTPUT = 12_000
SMALL_WINDOW = 32_000
# A small model that is still at it then goes round in circles, and its window is full of itself.
SMALL_STEPS = 15
SMALL_BODY = 8_000
SMALL_SHARE = 0.3
SMALL_TEXT = 1_600


@dataclass(frozen=True, slots=True)
class Terms:
    """`limits` are its budget's, `output` the characters of its report that its opener reads, `body` the
    tokens of its conversation at most (None: its window)."""

    limits: Limits
    output: int
    body: int | None
    instructions: int | None


def running_at_once(settings: Settings) -> int:
    return max(1, int(settings.number("agents.limit") or LIMIT))


def depth(settings: Settings) -> int:
    """How deep agents open agents: 1 is the main agent's alone, 0 none at all."""
    said = settings.number("agents.depth")
    return DEPTH if said is None else max(0, int(said))


def terms(parent: Agent, role: Role, quota: Quota | None, window: int) -> Terms:
    """What holds for an agent of `role` with a context window of `window` tokens: the least of what the
    role, its opener and the settings say. What `parent` has left holds besides, as its budget's parent."""
    settings, asked = parent.host.settings, quota or Quota()
    small = window < SMALL_WINDOW
    left = parent.budget.left().get("steps")
    steps = _least(
        role.max_steps,
        role.quota.steps,
        asked.steps,
        settings.number("agents.steps") or STEPS,
        SMALL_STEPS if small else None,
        left if left is None else max(1.0, left),
    )
    read_by = SMALL_TEXT if parent.window() < SMALL_WINDOW else None
    output = _least(role.quota.output, asked.output, settings.number("agents.output") or OUTPUT, read_by)
    limits = Limits(
        steps=int(steps or STEPS),
        tokens=_whole(_least(role.quota.tokens, asked.tokens, settings.number("agents.tokens"))),
        seconds=_least(role.quota.seconds, asked.seconds, settings.number("agents.seconds")),
    )
    return Terms(
        limits,
        int(output or OUTPUT),
        min(SMALL_BODY, int(SMALL_SHARE * window)) if small else None,
        SMALL_TEXT if small else None,
    )


def _least(*given: float | None) -> float | None:
    """The smallest of those that are said; 0 says nothing."""
    said = [one for one in given if one]
    return min(said) if said else None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
