"""One call of a server while it runs: what it heard, and the person behind it."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from cockpit.mcp.values import Asking, Nobody, SamplingReply, SamplingRequest
from cockpit.plugin.context import FormAnswer
from cockpit.protocol.asking import FormField

Progress = Callable[[float, float | None, str], None]
# Somebody who looks on sees no more.
BETWEEN = 0.1


def silent(done: float, total: float | None, message: str) -> None:
    """Nobody looks on."""


class Told:
    """What a call heard of its server, and when."""

    def __init__(self, progress: Progress, asking: Asking | None) -> None:
        self.asking: Asking = asking or Nobody()
        self.heard = 0.0
        self.waited = 0.0
        self.is_asking = 0
        self._progress = progress
        self._said = 0.0

    def take(self, done: float, total: float | None, message: str) -> None:
        self.heard = now = asyncio.get_running_loop().time()
        if now - self._said >= BETWEEN:
            self._said = now
            self._progress(done, total, message)


class Asked:
    """The person behind one call. While they are asked the call's time stands still."""

    def __init__(self, told: Told) -> None:
        self._told = told

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        with self._asking():
            return await self._told.asking.form(question, fields, url)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        with self._asking():
            return await self._told.asking.sample(request)

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._told.is_asking += 1
        try:
            yield
        finally:
            self._told.is_asking -= 1
            self._told.heard = loop.time()
            self._told.waited += loop.time() - began
