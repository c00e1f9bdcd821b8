"""Synchronisation of coroutines on one event loop: a change signal, and the lease of a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ChangeSignal:
    """Wakes everybody who waits whenever something changed, without polling."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next `notify`; False if `seconds` pass before."""
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
    """Access to a server: `shared` for questions, `exclusive` for showing it an overlay of unsaved texts. The
    caller bounds the wait."""

    def __init__(self) -> None:
        self._shared_count = 0
        self._is_exclusive = False
        self._exclusive_waiting = 0
        self._signal = ChangeSignal()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        # A request for exclusive use goes first, or steady questions would block it for ever.
        while self._is_exclusive or self._exclusive_waiting:
            await self._signal.wait()
        self._shared_count += 1
        try:
            yield
        finally:
            self._shared_count -= 1
            self._signal.notify()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        self._exclusive_waiting += 1
        try:
            while self._is_exclusive or self._shared_count:
                await self._signal.wait()
            self._is_exclusive = True
        finally:
            self._exclusive_waiting -= 1
            self._signal.notify()
        try:
            yield
        finally:
            self._is_exclusive = False
            self._signal.notify()
