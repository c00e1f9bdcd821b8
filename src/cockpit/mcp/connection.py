"""The connection to one server, from its start to its end: greeted, asked, ended. Does not start again.

One task owns it: the SDK must be entered and left in the same one. The SDK is imported by `open()`, in a
thread. A server that hangs, dies or floods makes the call at hand fail, and nothing else.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from cockpit.mcp.calls import Asked, Progress, Told, silent
from cockpit.mcp.values import (
    Asking,
    McpFailed,
    Nobody,
    Offer,
    Outcome,
    PromptDefinition,
    PromptText,
    ResourceDefinition,
    ServerGone,
    Silent,
    Terms,
    Welcome,
)
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    from cockpit.mcp.client import Talk
    from cockpit.mcp.http import Answers

T = TypeVar("T")
# A call that tells of progress may take longer than its time, but not for ever.
LONGEST = 600.0
LEAVING = 3.0
LISTING = 5.0
AGAIN = 1.0


_asking: ContextVar["Asked | None"] = ContextVar("asking", default=None)


class Connection:
    """A server that is connected once. `open()` first, `close()` at last; the rest in between, from any
    task of the loop."""

    def __init__(self, server: McpServer, terms: Terms, mode: str = "auto") -> None:
        self.server = server
        self.terms = terms
        self.mode = mode
        self.refused: tuple[str, ...] = ()
        self._talk: Talk | None = None
        self._owner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._gone = asyncio.Event()
        self._over: asyncio.Future[McpFailed] = asyncio.get_running_loop().create_future()
        self._calls: list[Asked] = []

    @property
    def welcome(self) -> Welcome | None:
        """How the server introduced itself, None before it did."""
        return self._talk.welcome if self._talk is not None else None

    @property
    def is_over(self) -> bool:
        """Whether it ended, or is about to: no request gets through any more."""
        return self._gone.is_set() or self._over.done()

    async def open(self) -> Welcome:
        """Start it and greet it. Raises `LoginNeeded`, `McpFailed`; nothing is left behind then."""
        await asyncio.to_thread(import_module, "cockpit.mcp.client")
        greeted: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(greeted), name=f"mcp {self.server.name}")
        try:
            return await asyncio.shield(greeted)
        except asyncio.CancelledError:
            greeted.cancel()
            await self.close()
            raise

    async def close(self) -> None:
        """End it, and what it started, within a few seconds."""
        self._stop.set()
        if self._owner is None:
            return
        if self._talk is None:
            # It is still being greeted: nothing of it can be left in good order.
            self._owner.cancel()
        _, late = await asyncio.wait((self._owner,), timeout=LEAVING)
        if late:
            self._owner.cancel()
            await asyncio.wait((self._owner,), timeout=LEAVING)

    async def ended(self) -> McpFailed:
        """Wait until the connection is over; why."""
        return await asyncio.shield(self._over)

    async def offer(self) -> Offer:
        """All that it offers now. `refused` says what of it was left out."""

        seconds = self.terms.call_seconds
        refused: list[str] = []
        tools = await self._ask(lambda talk: talk.tools(refused), seconds)
        prompts: tuple[PromptDefinition, ...] = ()
        resources: tuple[ResourceDefinition, ...] = ()
        # Tools are what most servers are for: they are not lost to a list that cannot be read.
        try:
            prompts = await self._ask(lambda talk: talk.prompts(refused), min(seconds, LISTING))
        except ServerGone:
            raise
        except McpFailed as error:
            refused.append(f"its prompts are left out: {error}")
        try:
            resources = await self._ask(lambda talk: talk.resources(refused), min(seconds, LISTING))
        except ServerGone:
            raise
        except McpFailed as error:
            refused.append(f"its resources are left out: {error}")
        self.refused = tuple(refused)
        return Offer(tools, prompts, resources)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json],
        asking: Asking | None = None,
        progress: Progress = silent,
        seconds: float = 0.0,
    ) -> Outcome:
        """Call a tool. `progress` hears of it at most ten times a second; each word of it, and each moment
        in which a person is asked, leaves it its whole time again. Raises `McpFailed`."""

        async def ask(talk: "Talk") -> Outcome:
            return await talk.call(name, arguments, told.take)

        told = Told(progress, asking)
        return await self._asked(ask, told, seconds or self.terms.call_seconds)

    async def read(self, uri: str, asking: Asking | None = None) -> Outcome:
        """Read a resource. Raises `McpFailed`."""
        return await self._asked(lambda talk: talk.read(uri), Told(silent, asking), self.terms.call_seconds)

    async def prompt(
        self, name: str, arguments: Mapping[str, str], asking: Asking | None = None
    ) -> PromptText:
        """A prompt with its arguments. Raises `McpFailed`."""
        told = Told(silent, asking)
        return await self._asked(lambda talk: talk.prompt(name, arguments), told, self.terms.call_seconds)

    async def complete(
        self, ref: str, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values for an argument of a prompt, or of a template of addresses. Raises `McpFailed`."""
        return await self._ask(lambda talk: talk.complete(ref, argument, value, known), 2.0)

    async def _asked(self, make: Callable[["Talk"], Awaitable[T]], told: "Told", seconds: float) -> T:
        from cockpit.mcp.client import PageNeeded

        asked = Asked(told)
        self._calls.append(asked)
        token = _asking.set(asked)
        try:
            try:
                return await self._ask(make, seconds, told)
            except PageNeeded as needed:
                for message, url in needed.pages:
                    answer = await asked.form(message or "The server wants a page opened.", (), url)
                    if answer.action != "accept":
                        raise McpFailed(f"the person did not open {url}") from needed
                return await self._ask(make, seconds, told)
        finally:
            _asking.reset(token)
            self._calls.remove(asked)

    async def _ask(
        self, make: Callable[["Talk"], Awaitable[T]], seconds: float, told: "Told | None" = None
    ) -> T:
        """Run one request to its end, to its deadline or to the end of the connection."""
        talk = self._talk
        if talk is None or self._over.done():
            raise self._over.result() if self._over.done() else ServerGone("the server is not connected")
        loop = asyncio.get_running_loop()
        asking = asyncio.ensure_future(make(talk))
        started = heard = loop.time()
        try:
            while not asking.done():
                heard = max(heard, told.heard) if told is not None else heard
                late = min(heard + seconds, started + LONGEST + (told.waited if told is not None else 0.0))
                left = late - loop.time()
                if told is not None and told.is_asking:
                    left = AGAIN
                if left <= 0:
                    raise McpFailed(f"{self.server.name} did not answer within {seconds:g} s")
                await asyncio.wait((asking, self._over), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if self._over.done() and not asking.done():
                    raise self._over.result()
            return asking.result()
        except ServerGone:
            self._gone.set()
            raise
        finally:
            if not asking.done():
                # The SDK tells the server that nobody waits any more.
                asking.cancel()
                await asyncio.wait((asking,), timeout=1.0)

    async def _own(self, greeted: "asyncio.Future[Welcome]") -> None:
        """The task that enters the SDK and leaves it."""
        fault: McpFailed = ServerGone("the server ended, or closed the connection")
        try:
            await self._connected(greeted)
        except asyncio.CancelledError:
            pass
        # Foreign code: whatever it raises, the connection is over and says why.
        except Exception as error:
            from cockpit.mcp.faults import meaning

            fault = meaning(error, self._answers)
        finally:
            self._talk = None
            if not self._over.done():
                self._over.set_result(fault)
            if not greeted.done():
                greeted.set_exception(fault)

    _answers: "Answers | None" = None

    async def _connected(self, greeted: "asyncio.Future[Welcome]") -> None:
        from cockpit.mcp.client import talk
        from cockpit.mcp.http import Answers

        self._answers = answers = Answers()
        seconds = self.terms.connect_seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                async with talk(self.server, self.terms, self.mode, self._who, answers, self._gone) as made:
                    limit.reschedule(None)
                    self._talk = made
                    if not greeted.done():
                        greeted.set_result(made.welcome)
                    async with self._listening(made):
                        await _first(self._stop, self._gone)
                    limit.reschedule(asyncio.get_running_loop().time() + LEAVING)
        except TimeoutError as error:
            if greeted.done():
                return  # it was slow to leave
            reason = f"{self.server.name} did not answer within {seconds:g} s of its start"
            raise Silent(reason, "cockpit mcp log shows what it wrote") from error

    @asynccontextmanager
    async def _listening(self, made: "Talk") -> AsyncIterator[None]:
        """Hears of changes, and of the end, while the body runs."""
        hearing = asyncio.create_task(self._hear(made))
        try:
            yield
        finally:
            hearing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hearing

    async def _hear(self, made: "Talk") -> None:
        for wait in (AGAIN, 5 * AGAIN, 30 * AGAIN):
            try:
                await made.listen()
            except McpFailed:
                await asyncio.sleep(wait)
            else:
                return

    def _who(self) -> Asking:
        """Who answers what the server asks now: of the later era it is the call that waits; older servers
        do not say for which call they ask, so the latest one answers."""
        asked = _asking.get()
        if asked is not None and asked in self._calls:
            return asked
        return self._calls[-1] if self._calls else Nobody()


async def _first(*events: asyncio.Event) -> None:
    """Wait for one of them."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
