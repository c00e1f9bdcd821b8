"""Worktrees as a plugin may touch them: where an agent stands, and moving the session into one and back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stand:
    """The worktree that an agent works in. `root` is its folder there, `top` that of the whole worktree,
    `origin` the tree it was made from; `notes` say what it holds besides the commit. `is_own`: it was made
    for this agent alone, a subagent.
    """

    name: str
    branch: str
    root: str
    top: str
    origin: str
    notes: tuple[str, ...] = ()
    is_own: bool = False


class Worktrees(Protocol):
    """One agent's. Every method raises `CockpitError` with what to do instead."""

    @property
    def now(self) -> Stand | None:
        """Where it stands; None for the session's own folder."""
        ...

    async def enter(self, name: str, *, ref: str = "", create: bool = True, carry: bool = True) -> Stand:
        """Work in the worktree `name` from now on. One that is not there is made, from `ref` ("": the commit
        that is checked out, with what is not committed if `carry`), unless `create` is False."""
        ...

    async def leave(self, settling: Callable[[], Awaitable[None]] | None = None) -> Stand:
        """Work in the session's folder again. `settling` is awaited first, when nothing is in the way: what
        it raises is raised, and the agent stays. The worktree is left as it is then."""
        ...
