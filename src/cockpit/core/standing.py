"""The worktree that a session's main agent stands in: entered, left, and taken up again when the session is.

Trust, settings, rules and the transcript stay those of the session's own folder (docs/adr/0023).
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cockpit.core.agent import Agent, Standing
from cockpit.core.isolating import stand
from cockpit.errors import CockpitError
from cockpit.plugin.worktrees import Stand


class AgentWorktrees:
    """The `Worktrees` of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def now(self) -> Stand | None:
        agent, standing = self._agent, self._agent.standing
        if standing is None:
            return None
        return replace(said(standing), is_own=agent.root != (agent.host.folder or agent.host.root))

    async def enter(self, name: str, *, ref: str = "", create: bool = True, carry: bool = True) -> Stand:
        """Raises `CockpitError`; the agent stands where it stood then."""
        from cockpit.workspace.worktrees.listing import find
        from cockpit.workspace.worktrees.making import make
        from cockpit.workspace.worktrees.running import opened

        agent = self._agent
        _may_move(agent)
        if agent.standing is not None:
            raise CockpitError(f"you are in the worktree {said(agent.standing).name}", "leave it first")
        git, seen = await opened(agent.host.workspace.processes, agent.host.root)
        tree = await find(git, seen, name)
        if tree is None and not create:
            raise CockpitError(f"there is no worktree called {name}", "/worktree list shows them")
        if tree is None:
            tree = await make(git, seen, name, ref, carry)
        standing = await stand(agent, git, tree, seen.inside, of_person=True)
        _move(agent, standing)
        return said(standing)

    async def leave(self, settling: Callable[[], Awaitable[None]] | None = None) -> Stand:
        """Raises `CockpitError` where it is in none, or something still runs there."""
        agent, standing = self._agent, self._agent.standing
        _may_move(agent)
        if standing is None:
            raise CockpitError("you are in no worktree", "enter_worktree makes one")
        if any(job.running for job in standing.workspace.processes.jobs()):
            raise CockpitError("a background job runs in the worktree", "wait for it or cancel it first")
        if any(one.phase in ("queued", "running") for one in agent.agents.all()):
            raise CockpitError("subagents are at work", "wait for them or cancel them, then leave")
        left = said(standing)
        if settling is not None:
            await settling()
        _move(agent, None)
        with suppress(ValueError):
            agent.host.standings.remove(standing)
        if standing.close is not None:
            await standing.close()
        return left


def said(standing: Standing) -> Stand:
    """Where somebody stands, for plugins."""
    tree = standing.tree
    if tree is None:
        return Stand("", standing.branch, standing.root, standing.root, standing.root)
    return Stand(tree.name, tree.branch, standing.root, tree.path, tree.origin, tree.notes)


async def take_up(agent: Agent, folder: str) -> tuple[str, ...]:
    """Stand where the session stood when it ended. What is in the way, in words: it is in its own folder
    then."""
    from cockpit.workspace.worktrees.listing import ours
    from cockpit.workspace.worktrees.running import opened

    if not folder:
        return ()
    try:
        git, seen = await opened(agent.host.workspace.processes, agent.host.root)
        found = [one for one in await ours(git, seen) if Path(folder).is_relative_to(one.path)]
        if not found:
            raise CockpitError("it is gone")
        standing = await stand(agent, git, found[0], seen.inside, of_person=True)
    except (CockpitError, OSError) as error:
        return (f"this session was in the worktree {folder}, and is in {agent.host.root} now: {error}",)
    agent.standing, agent.host.folder = standing, standing.root
    return ()


def _may_move(agent: Agent) -> None:
    if agent.path != "main":
        raise CockpitError(
            "a subagent stays where it was opened", "have it opened with isolation worktree instead"
        )


def _move(agent: Agent, standing: Standing | None) -> None:
    """Stand there from the next call on; prompts and screens say so."""
    agent.standing = standing
    agent.host.folder = standing.root if standing is not None else ""
    agent.fixed_context.clear()
    agent.host.use_mode(agent.host.mode)
