"""Which servers a question goes to, how long it may take, and what its failure is called. Every fault of
a server ends here as a `Silent`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cockpit.navigation.contracts import Silent
from cockpit.navigation.lsp.faults import METHOD_NOT_FOUND, Gone, Refused, Unable
from cockpit.navigation.lsp.life import Life
from cockpit.navigation.lsp.roster import Roster
from cockpit.navigation.lsp.shapes import Misshapen

if TYPE_CHECKING:
    from cockpit.navigation.lsp.server import Server

T = TypeVar("T")
WORKTREE = Silent("this is a worktree: its servers start when they are asked a second time", soon=True)
Answers = list[tuple[str, T | Silent]]


class Asking:
    """`begin` is called when a server is wanted, before it is."""

    def __init__(self, roster: Roster, begin: Callable[[], None]) -> None:
        self._roster = roster
        self._begin = begin

    def absolute(self, path: str) -> str:
        """The path servers know a file by: below the real root, with the platform's separators."""
        return str(Path(self._roster.root, path))

    def want(self, path: str) -> None:
        """Begin to start what answers for `path`; for a worktree nothing starts. Returns at once."""
        primaries, besides = self._roster.lives_of(path)
        up = [one for one in primaries if one.state in ("starting", "ready", "stopped")]
        for life in [*(up or primaries)[:1], *besides]:
            self._begin()
            life.want()

    async def chosen(self, path: str) -> list[Life]:
        """The servers for `path`, the one that answers first; they are starting, or run."""
        primaries, besides = self._roster.lives_of(path)
        if primaries or besides:
            self._begin()
        kept = []
        for life in primaries:
            if await life.is_usable():
                kept.append(life)
                break
        return kept + [life for life in besides if await life.is_usable()]

    async def lives(self, path: str, seconds: float) -> list[Life] | Silent:
        """The same within `seconds`; `Silent` says why there are none."""
        if self._roster.is_worktree is not False:
            may = await asyncio.to_thread(self._roster.may_start_for, path)
            if not may:
                return WORKTREE
        try:
            async with asyncio.timeout(seconds):
                found = await self.chosen(path)
        except TimeoutError:
            return Silent("the language server is starting", soon=True)
        return found or Silent(self._why(path))

    def _why(self, path: str) -> str:
        primaries, _ = self._roster.lives_of(path)
        if not primaries:
            return f"no language server is known for {Path(path).name}"
        first = primaries[0]
        return f"{first.spec.name}: {first.detail or first.state}"

    async def first(
        self, path: str, seconds: float, ask: Callable[["Server", str], Awaitable[T]]
    ) -> T | Silent:
        """What the server for `path` answers; the call gets it with the absolute path."""
        until = time.monotonic() + seconds
        lives = await self.lives(path, seconds)
        if isinstance(lives, Silent):
            return lives
        primary = next((one for one in lives if not one.spec.beside), None)
        if primary is None:
            return Silent(self._why(path))
        absolute = self.absolute(path)
        return await asked(primary, until, lambda server: ask(server, absolute))

    async def every(
        self, path: str, seconds: float, ask: Callable[["Server", str], Awaitable[T]]
    ) -> "Answers[T] | Silent":
        """What each of the servers for `path` answers, by name."""
        until = time.monotonic() + seconds
        lives = await self.lives(path, seconds)
        if isinstance(lives, Silent):
            return lives
        absolute = self.absolute(path)
        return await together(lives, until, lambda server, _: ask(server, absolute))


async def together(
    lives: Sequence[Life], until: float, ask: Callable[["Server", Life], Awaitable[T]]
) -> "Answers[T]":
    """What each of `lives` answers, asked at the same time."""

    async def one(life: Life) -> T | Silent:
        return await asked(life, until, lambda server: ask(server, life))

    answers = await asyncio.gather(*(one(life) for life in lives))
    return [(life.spec.name, answer) for life, answer in zip(lives, answers, strict=True)]


async def asked(life: Life, until: float, ask: Callable[["Server"], Awaitable[T]]) -> T | Silent:
    """What one server answers until then (monotonic seconds), or why it does not."""
    name = life.spec.name
    try:
        async with asyncio.timeout(until - time.monotonic()):
            return await ask(await life.ready())
    except TimeoutError:
        row = life.row()
        if row.state in ("starting", "indexing"):
            return Silent(" ".join(filter(None, (f"{name} is {row.state}", row.detail))), soon=True)
        return Silent(f"{name} did not answer in time")
    except Refused as refused:
        if refused.code == METHOD_NOT_FOUND:
            return Silent(f"{name} cannot do that, though it said so")
        return Silent(f"{name}: {str(refused)[:300]}", refused=True)
    except Gone:
        return Silent(f"{name} ended while it was asked", soon=True)
    except Unable as unable:
        return Silent(str(unable), refused=True)
    except Misshapen as wrong:
        life.log.say("cockpit", f"an answer of the wrong shape: {wrong}")
        return Silent(f"{name} gave an answer of the wrong shape")


def silence(answers: "Answers[T]") -> Silent:
    """Why nobody answered."""
    silent = [one for _, one in answers if isinstance(one, Silent)]
    reason = "; ".join(dict.fromkeys(one.reason for one in silent))
    return Silent(reason, any(one.soon for one in silent), any(one.refused for one in silent))
