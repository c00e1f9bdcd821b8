"""What is done once a second while servers run: idle ones end, hung ones begin again, memory is kept, other
processes are shown the rows and heard. Decides nothing else."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cockpit.navigation.lsp import measuring, status
from cockpit.navigation.lsp.life import Life
from cockpit.navigation.lsp.roster import Roster
from cockpit.protocol.code import ServerRow

if TYPE_CHECKING:
    from cockpit.navigation.lsp.server import Server

Command = Callable[[status.Verb, str], Awaitable[str]]


class Keeping:
    """Runs from the first server on until it is closed."""

    def __init__(self, roster: Roster, command: Command) -> None:
        self._roster = roster
        self._command = command
        self._task: asyncio.Task[None] | None = None
        self._shown: tuple[ServerRow, ...] = ()
        self._measured = 0.0
        self._closed = False
        self._again: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, where it does not run yet. Returns at once."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run(), name="lsp-keeping")

    async def close(self) -> None:
        """Stop, and take away what other processes see."""
        self._closed = True
        task, self._task = self._task, None
        if self._again is not None:
            self._again.cancel()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            await asyncio.to_thread(status.clear, self._roster.folder, os.getpid())

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._roster.limits.every)

    async def look(self) -> None:
        """One round."""
        limits, now = self._roster.limits, time.monotonic()
        for life in tuple(self._roster.lives.values()):
            await self._one(life, now)
        if now - self._measured >= limits.measured_every:
            self._measured = now
            await self._measure()
        rows = self._roster.rows()
        if rows != self._shown:
            self._shown = rows
            await asyncio.to_thread(status.show, self._roster.folder, rows)
        asked = await asyncio.to_thread(status.asked, self._roster.folder)
        if asked is not None:
            verb, name, token = asked
            words = await self._command(verb, name)
            await asyncio.to_thread(status.answer, self._roster.folder, token, words)

    async def _one(self, life: Life, now: float) -> None:
        server = life.server
        if server is None:
            return
        if server.is_hung(now):
            await life.gave_up("answered nothing any more and was ended")
        elif now - life.used > self._roster.limits.idle:
            await life.stop("idle; starts again when needed")
        elif server.refreshed != server.incoming.refreshed:
            server.refreshed = server.incoming.refreshed
            self._again = asyncio.create_task(_ask_again(server))

    async def _measure(self) -> None:
        up = {
            life.server.child.pid: life
            for life in self._roster.lives.values()
            if life.server is not None and life.server.child is not None
        }
        for pid, size in (await asyncio.to_thread(measuring.megabytes, tuple(up))).items():
            up[pid].megabytes = size
        await self._roster.fit()


async def _ask_again(server: "Server") -> None:
    """The server says that the problems it was pulled for may be others now."""
    from cockpit.navigation.lsp import telling

    await telling.told(server, ())
