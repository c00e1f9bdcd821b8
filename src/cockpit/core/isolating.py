"""A worktree for an agent: where its tools work in place of the session's folder."""

from cockpit.core.agent import Agent, Standing
from cockpit.errors import CockpitError


async def isolate(parent: Agent, id: str) -> Standing:
    """A new worktree for the agent `id`, from the HEAD that `parent` works on. Raises `CockpitError`."""
    raise CockpitError("worktrees are not there yet", "open the agent without isolation")
