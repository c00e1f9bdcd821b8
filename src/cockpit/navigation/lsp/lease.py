"""Who may ask a server now: many that only ask, or one that staged an overlay. For one loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cockpit.navigation.lsp.bells import Bell


class Lease:
    """`shared` for questions, `alone` for an overlay. Waiting is bounded by whoever waits."""

    def __init__(self) -> None:
        self._sharing = 0
        self._alone = False
        self._wanted = 0
        self._bell = Bell()

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
