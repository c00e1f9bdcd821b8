"""Waiting for something to change, without polling. For one loop.

Who may ask a server now: many that only ask, or one that staged an overlay. For one loop.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ChangeSignal:
    """Rung whenever something changed; `heard` waits for the next ringing."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        for one in self._waiting:
            if not one.done():
                one.set_result(None)

    async def heard(self, seconds: float | None = None) -> bool:
        """Wait for a ringing; False when `seconds` passed before."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True


class ServerLease:
    """`shared` for questions, `alone` for an overlay. Waiting is bounded by whoever waits."""

    def __init__(self) -> None:
        self._sharing = 0
        self._alone = False
        self._wanted = 0
        self._bell = ChangeSignal()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        # Who wants it alone goes first, or steady questions would keep it out for ever.
        while self._alone or self._wanted:
            await self._bell.heard()
        self._sharing += 1
        try:
            yield
        finally:
            self._sharing -= 1
            self._bell.ring()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        self._wanted += 1
        try:
            while self._alone or self._sharing:
                await self._bell.heard()
            self._alone = True
        finally:
            self._wanted -= 1
            self._bell.ring()
        try:
            yield
        finally:
            self._alone = False
            self._bell.ring()
