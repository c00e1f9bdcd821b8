"""The connection to one server, from start to end. It does not restart a server.

One task owns it, as the SDK must be entered and left in the same task. `open()` imports the SDK in a thread.
A server that hangs, dies or floods makes the current call fail, and nothing else.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from cockpit.mcp.oauth.config import OAuthLoginNeeded as Unanswered
from cockpit.mcp.values import (
    ConnectionSettings,
    DecliningHandler,
    GreetingTimeout,
    LoginNeeded,
    McpFailed,
    McpResult,
    PromptDefinition,
    PromptText,
    ResourceDefinition,
    SamplingReply,
    SamplingRequest,
    ServerGone,
    ServerOffer,
    ServerRequestHandler,
    ServerWelcome,
)
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import single_line

if TYPE_CHECKING:
    from cockpit.mcp.client import McpSession
    from cockpit.mcp.http_transport import LastHttpResponse


ProgressCallback = Callable[[float, float | None, str], None]
# Minimum seconds between two progress reports.
PROGRESS_INTERVAL = 0.1


def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Report no progress."""


class CallProgress:
    """What a call heard from its server, and when."""

    def __init__(self, progress: ProgressCallback, handler: ServerRequestHandler | None) -> None:
        self.handler: ServerRequestHandler = handler or DecliningHandler()
        self.heard = 0.0
        self.waited = 0.0
        self.pending_questions = 0
        self._progress = progress
        self._said = 0.0

    def take(self, done: float, total: float | None, message: str) -> None:
        self.heard = now = asyncio.get_running_loop().time()
        if now - self._said >= PROGRESS_INTERVAL:
            self._said = now
            self._progress(done, total, message)


class CallHandler:
    """Handles a server's requests during one call. While the user answers, the call's time does not run."""

    def __init__(self, progress_state: CallProgress) -> None:
        self._state = progress_state

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        with self._waiting_for_user():
            return await self._state.handler.form(question, fields, url)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        with self._waiting_for_user():
            return await self._state.handler.sample(request)

    @contextlib.contextmanager
    def _waiting_for_user(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._state.pending_questions += 1
        try:
            yield
        finally:
            self._state.pending_questions -= 1
            self._state.heard = loop.time()
            self._state.waited += loop.time() - began


def explain_failure(error: BaseException, answers: "LastHttpResponse | None") -> McpFailed:
    """The failure behind `error`; `answers` is the last HTTP response."""
    errors = list(iter_leaf_errors(error))
    for finding in errors:
        if isinstance(finding, McpFailed):
            return finding
    problem = answers.problem() if answers is not None else None
    if isinstance(problem, Unanswered):
        return LoginNeeded(problem.message, problem.hint)
    if problem is not None:
        return McpFailed(problem.message, problem.hint)
    if answers is not None and answers.login_challenge:
        return LoginNeeded("the server requires a login", "log in with cockpit mcp login")
    if answers is not None and answers.status >= 400:
        return McpFailed(f"the server answered with HTTP {answers.status}", "check the server's address")
    first = errors[0] if errors else error
    text = single_line(str(first), 300) or type(first).__name__
    return McpFailed(f"{text} ({type(first).__name__})" if str(first) else text)


def iter_leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors in nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for exception in error.exceptions:
            yield from iter_leaf_errors(exception)
    else:
        yield error


T = TypeVar("T")
# Progress extends a call's time, but not beyond this.
MAX_CALL_SECONDS = 600.0
CLOSE_SECONDS = 3.0
LIST_SECONDS = 5.0
RETRY_SECONDS = 1.0


_current_call: ContextVar["CallHandler | None"] = ContextVar("asking", default=None)


class McpConnection:
    """A server that is connected once. Call `open()` first and `close()` last; the other methods in between,
    from any task of the loop."""

    def __init__(self, server: McpServer, terms: ConnectionSettings, mode: str = "auto") -> None:
        self.server = server
        self.terms = terms
        self.mode = mode
        self.refused: tuple[str, ...] = ()
        self._talk: McpSession | None = None
        self._owner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._gone = asyncio.Event()
        self._over: asyncio.Future[McpFailed] = asyncio.get_running_loop().create_future()
        self._calls: list[CallHandler] = []

    @property
    def welcome(self) -> ServerWelcome | None:
        """How the server introduced itself, None before the handshake."""
        return self._talk.welcome if self._talk is not None else None

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended or is ending, so that no request gets through."""
        return self._gone.is_set() or self._over.done()

    async def open(self) -> ServerWelcome:
        """Start the server and complete the handshake. Raises `LoginNeeded`, `McpFailed`, and then leaves
        nothing running."""
        await asyncio.to_thread(import_module, "cockpit.mcp.client")
        greeted: asyncio.Future[ServerWelcome] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(greeted), name=f"mcp {self.server.name}")
        try:
            return await asyncio.shield(greeted)
        except asyncio.CancelledError:
            greeted.cancel()
            await self.close()
            raise

    async def close(self) -> None:
        """End the server and everything it started, within a few seconds."""
        self._stop.set()
        if self._owner is None:
            return
        if self._talk is None:
            # During the handshake there is nothing to close in order.
            self._owner.cancel()
        _, late = await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)
        if late:
            self._owner.cancel()
            await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)

    async def ended(self) -> McpFailed:
        """Wait until the connection is over and return the reason."""
        return await asyncio.shield(self._over)

    async def offer(self) -> ServerOffer:
        """Everything the server offers now. `refused` says what was left out."""

        seconds = self.terms.call_seconds
        refused: list[str] = []
        tools = await self._ask(lambda talk: talk.tools(refused), seconds)
        prompts: tuple[PromptDefinition, ...] = ()
        resources: tuple[ResourceDefinition, ...] = ()
        # Most servers exist for their tools, so these are not lost when another list cannot be read.
        try:
            prompts = await self._ask(lambda talk: talk.prompts(refused), min(seconds, LIST_SECONDS))
        except ServerGone:
            raise
        except McpFailed as error:
            refused.append(f"its prompts are left out: {error}")
        try:
            resources = await self._ask(lambda talk: talk.resources(refused), min(seconds, LIST_SECONDS))
        except ServerGone:
            raise
        except McpFailed as error:
            refused.append(f"its resources are left out: {error}")
        self.refused = tuple(refused)
        return ServerOffer(tools, prompts, resources)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json],
        handler: ServerRequestHandler | None = None,
        progress: ProgressCallback = ignore_progress,
        seconds: float = 0.0,
    ) -> McpResult:
        """Call a tool. Raises `McpFailed`.

        `progress` is called at most ten times a second. Each progress report and each answer of the user
        restarts the call's time limit.
        """

        async def ask(talk: "McpSession") -> McpResult:
            return await talk.call(name, arguments, progress_state.take)

        progress_state = CallProgress(progress, handler)
        return await self._asked(ask, progress_state, seconds or self.terms.call_seconds)

    async def read(self, uri: str, handler: ServerRequestHandler | None = None) -> McpResult:
        """Read a resource. Raises `McpFailed`."""
        return await self._asked(
            lambda talk: talk.read(uri), CallProgress(ignore_progress, handler), self.terms.call_seconds
        )

    async def prompt(
        self, name: str, arguments: Mapping[str, str], handler: ServerRequestHandler | None = None
    ) -> PromptText:
        """Fill in a prompt's arguments. Raises `McpFailed`."""
        progress_state = CallProgress(ignore_progress, handler)
        return await self._asked(
            lambda talk: talk.prompt(name, arguments), progress_state, self.terms.call_seconds
        )

    async def complete(
        self, ref: str, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values for an argument of a prompt or of a resource template. Raises `McpFailed`."""
        return await self._ask(lambda talk: talk.complete(ref, argument, value, known), 2.0)

    async def _asked(
        self, make: Callable[["McpSession"], Awaitable[T]], progress_state: "CallProgress", seconds: float
    ) -> T:
        from cockpit.mcp.client import PageNeeded

        handler = CallHandler(progress_state)
        self._calls.append(handler)
        token = _current_call.set(handler)
        try:
            try:
                return await self._ask(make, seconds, progress_state)
            except PageNeeded as needed:
                for message, url in needed.pages:
                    answer = await handler.form(message or "The server wants you to open a page.", (), url)
                    if answer.action != "accept":
                        raise McpFailed(f"the user did not open {url}") from needed
                return await self._ask(make, seconds, progress_state)
        finally:
            _current_call.reset(token)
            self._calls.remove(handler)

    async def _ask(
        self,
        make: Callable[["McpSession"], Awaitable[T]],
        seconds: float,
        progress_state: "CallProgress | None" = None,
    ) -> T:
        """Run one request until it ends, its time is over or the connection ends."""
        talk = self._talk
        if talk is None or self._over.done():
            raise self._over.result() if self._over.done() else ServerGone("the server is not connected")
        loop = asyncio.get_running_loop()
        handler = asyncio.ensure_future(make(talk))
        started = heard = loop.time()
        try:
            while not handler.done():
                heard = max(heard, progress_state.heard) if progress_state is not None else heard
                late = min(
                    heard + seconds,
                    started
                    + MAX_CALL_SECONDS
                    + (progress_state.waited if progress_state is not None else 0.0),
                )
                left = late - loop.time()
                if progress_state is not None and progress_state.pending_questions:
                    left = RETRY_SECONDS
                if left <= 0:
                    raise McpFailed(f"{self.server.name} did not answer within {seconds:g} s")
                await asyncio.wait((handler, self._over), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if self._over.done() and not handler.done():
                    raise self._over.result()
            return handler.result()
        except ServerGone:
            self._gone.set()
            raise
        finally:
            if not handler.done():
                # The SDK tells the server that the request is cancelled.
                handler.cancel()
                await asyncio.wait((handler,), timeout=1.0)

    async def _own(self, greeted: "asyncio.Future[ServerWelcome]") -> None:
        """The task that enters and leaves the SDK."""
        fault: McpFailed = ServerGone("the server ended or closed the connection")
        try:
            await self._connected(greeted)
        except asyncio.CancelledError:
            pass
        # The SDK and servers may raise anything: the connection is over, and the failure says why.
        except Exception as error:
            fault = explain_failure(error, self._answers)
        finally:
            self._talk = None
            if not self._over.done():
                self._over.set_result(fault)
            if not greeted.done():
                greeted.set_exception(fault)

    _answers: "LastHttpResponse | None" = None

    async def _connected(self, greeted: "asyncio.Future[ServerWelcome]") -> None:
        from cockpit.mcp.client import open_session
        from cockpit.mcp.http_transport import LastHttpResponse

        self._answers = answers = LastHttpResponse()
        seconds = self.terms.connect_seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                async with open_session(
                    self.server, self.terms, self.mode, self._who, answers, self._gone
                ) as session:
                    limit.reschedule(None)
                    self._talk = session
                    if not greeted.done():
                        greeted.set_result(session.welcome)
                    async with self._listening(session):
                        await _wait_for_any(self._stop, self._gone)
                    limit.reschedule(asyncio.get_running_loop().time() + CLOSE_SECONDS)
        except TimeoutError as error:
            if greeted.done():
                return  # it was slow to close
            reason = f"{self.server.name} did not answer within {seconds:g} s of its start"
            raise GreetingTimeout(reason, "cockpit mcp log shows what it wrote") from error

    @asynccontextmanager
    async def _listening(self, session: "McpSession") -> AsyncIterator[None]:
        """Listen for changes and for the end while the body runs."""
        hearing = asyncio.create_task(self._hear(session))
        try:
            yield
        finally:
            hearing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hearing

    async def _hear(self, session: "McpSession") -> None:
        for wait in (RETRY_SECONDS, 5 * RETRY_SECONDS, 30 * RETRY_SECONDS):
            try:
                await session.listen()
            except McpFailed:
                await asyncio.sleep(wait)
            else:
                return

    def _who(self) -> ServerRequestHandler:
        """Who handles the server's current request.

        Servers of the 2026-07-28 protocol name the call they ask for; for older ones the latest call is
        assumed.
        """
        handler = _current_call.get()
        if handler is not None and handler in self._calls:
            return handler
        return self._calls[-1] if self._calls else DecliningHandler()


async def _wait_for_any(*events: asyncio.Event) -> None:
    """Wait for one of the events."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
