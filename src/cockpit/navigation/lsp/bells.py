"""Waiting for something to change, without polling. For one loop."""

import asyncio


class Bell:
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
