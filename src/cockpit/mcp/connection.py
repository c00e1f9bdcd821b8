"""The connection to one server, from start to end. It does not restart a server.

One task owns it, as the SDK must be entered and left in the same task. `open()` imports the SDK in a thread.
A server that hangs, dies or sends too much makes the current call fail, and nothing else.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from cockpit.mcp.oauth.config import OAuthLoginNeeded
from cockpit.mcp.values import (
    ConnectionSettings,
    DecliningHandler,
    GreetingTimeout,
    LoginNeeded,
    McpFailed,
    McpResult,
    PageNeeded,
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

T = TypeVar("T")
ProgressCallback = Callable[[float, float | None, str], None]
# Minimum seconds between two progress reports.
PROGRESS_INTERVAL = 0.1
# Progress extends a call's time, but not beyond this.
MAX_CALL_SECONDS = 600.0
CLOSE_SECONDS = 3.0
LIST_SECONDS = 5.0
RETRY_SECONDS = 1.0


class ServerCall:
    """One request to the server: its progress, and who handles the server's own requests during it. While the
    user answers, the time of the request does not run."""

    def __init__(
        self, handler: ServerRequestHandler | None = None, progress: ProgressCallback | None = None
    ) -> None:
        self._handler: ServerRequestHandler = handler or DecliningHandler()
        self._progress = progress
        self._reported_at = 0.0
        self.started = self.last_activity = asyncio.get_running_loop().time()
        self._waited = 0.0
        self._pending_questions = 0

    def report_progress(self, done: float, total: float | None, message: str) -> None:
        self.last_activity = now = asyncio.get_running_loop().time()
        if self._progress is not None and now - self._reported_at >= PROGRESS_INTERVAL:
            self._reported_at = now
            self._progress(done, total, message)

    def seconds_left(self, seconds: float) -> float:
        """The remaining time, where `seconds` may pass without a sign of the server or the user."""
        if self._pending_questions:
            return RETRY_SECONDS
        latest = self.started + MAX_CALL_SECONDS + self._waited
        return min(self.last_activity + seconds, latest) - asyncio.get_running_loop().time()

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        with self._waiting_for_user():
            return await self._handler.form(question, fields, url)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        with self._waiting_for_user():
            return await self._handler.sample(request)

    @contextlib.contextmanager
    def _waiting_for_user(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._pending_questions += 1
        try:
            yield
        finally:
            self._pending_questions -= 1
            self.last_activity = loop.time()
            self._waited += loop.time() - began


def explain_failure(error: BaseException, response: "LastHttpResponse | None") -> McpFailed:
    """The failure behind `error`; `response` is the last HTTP response."""
    errors = list(iter_leaf_errors(error))
    for leaf in errors:
        if isinstance(leaf, McpFailed):
            return leaf
    if response is not None:
        if (problem := response.problem()) is not None:
            kind = LoginNeeded if isinstance(problem, OAuthLoginNeeded) else McpFailed
            return kind(problem.message, problem.hint)
        if response.login_challenge:
            return LoginNeeded("the server requires a login", "log in with cockpit mcp login")
        if response.status >= 400:
            return McpFailed(f"the server answered with HTTP {response.status}", "check the server's address")
    first = errors[0] if errors else error
    name = type(first).__name__
    return McpFailed(f"{single_line(str(first), 300)} ({name})" if str(first) else name)


def iter_leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors in nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for exception in error.exceptions:
            yield from iter_leaf_errors(exception)
    else:
        yield error


_current_call: ContextVar[ServerCall | None] = ContextVar("current MCP call", default=None)


class McpConnection:
    """A server that is connected once. Call `open()` first and `close()` last; the other methods in between,
    from any task of the loop. Those raise `McpFailed`."""

    def __init__(self, server: McpServer, settings: ConnectionSettings, mode: str = "auto") -> None:
        self.server = server
        self.mode = mode
        self.refused: tuple[str, ...] = ()
        self._settings = settings
        self._session: McpSession | None = None
        self._owner: asyncio.Task[None] | None = None
        self._response: LastHttpResponse | None = None
        # Set to end the connection, and by the transport when the server has ended it.
        self._ending = asyncio.Event()
        self._ended: asyncio.Future[McpFailed] = asyncio.get_running_loop().create_future()
        self._calls: list[ServerCall] = []

    @property
    def welcome(self) -> ServerWelcome | None:
        """How the server introduced itself, None before the handshake."""
        return self._session.welcome if self._session is not None else None

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended or is ending, so that no request gets through."""
        return self._ending.is_set() or self._ended.done()

    async def open(self) -> ServerWelcome:
        """Start the server and complete the handshake. Raises `LoginNeeded`, `McpFailed`, and then leaves
        nothing running."""
        await asyncio.to_thread(import_module, "cockpit.mcp.client")
        greeted: asyncio.Future[ServerWelcome] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._run(greeted), name=f"mcp {self.server.name}")
        try:
            return await asyncio.shield(greeted)
        except asyncio.CancelledError:
            greeted.cancel()
            await self.close()
            raise

    async def close(self) -> None:
        """End the server and everything it started, within a few seconds."""
        self._ending.set()
        if self._owner is None:
            return
        if self._session is None:
            # During the handshake there is nothing to close in order.
            self._owner.cancel()
        _, late = await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)
        if late:
            self._owner.cancel()
            await asyncio.wait((self._owner,), timeout=CLOSE_SECONDS)

    async def ended(self) -> McpFailed:
        """Wait until the connection is over and return the reason."""
        return await asyncio.shield(self._ended)

    async def offer(self) -> ServerOffer:
        """Everything the server offers now. `refused` says what was left out."""
        refused: list[str] = []
        tools = await self._request(lambda session: session.tools(refused), self._settings.call_seconds)
        prompts = await self._optional_list("prompts", lambda session: session.prompts(refused), refused)
        resources = await self._optional_list(
            "resources", lambda session: session.resources(refused), refused
        )
        self.refused = tuple(refused)
        return ServerOffer(tools, prompts, resources)

    async def _optional_list(
        self, name: str, request: Callable[["McpSession"], Awaitable[tuple[T, ...]]], refused: list[str]
    ) -> tuple[T, ...]:
        """A list that may fail: most servers exist for their tools, so these are not lost with it."""
        try:
            return await self._request(request, min(self._settings.call_seconds, LIST_SECONDS))
        except ServerGone:
            raise
        except McpFailed as error:
            refused.append(f"its {name} are left out: {error}")
            return ()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json],
        handler: ServerRequestHandler | None = None,
        progress: ProgressCallback | None = None,
    ) -> McpResult:
        """Call a tool. `progress` is called at most ten times a second. Each progress report and each answer
        of the user restarts the call's time limit."""
        call = ServerCall(handler, progress)
        return await self._run_call(lambda session: session.call(name, arguments, call.report_progress), call)

    async def read(self, uri: str, handler: ServerRequestHandler | None = None) -> McpResult:
        """Read a resource."""
        return await self._run_call(lambda session: session.read(uri), ServerCall(handler))

    async def prompt(
        self, name: str, arguments: Mapping[str, str], handler: ServerRequestHandler | None = None
    ) -> McpResult:
        """Fill in a prompt's arguments."""
        return await self._run_call(lambda session: session.prompt(name, arguments), ServerCall(handler))

    async def complete(
        self, ref: str, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values for an argument of a prompt or of a resource template."""
        return await self._request(lambda session: session.complete(ref, argument, value, known), 2.0)

    async def _run_call(self, request: Callable[["McpSession"], Awaitable[T]], call: ServerCall) -> T:
        """A request during which the server may ask the user. It is repeated after pages were opened."""
        seconds = self._settings.call_seconds
        self._calls.append(call)
        token = _current_call.set(call)
        try:
            try:
                return await self._request(request, seconds, call)
            except PageNeeded as needed:
                for message, url in needed.pages:
                    answer = await call.form(message or "The server wants you to open a page.", (), url)
                    if answer.action != "accept":
                        raise McpFailed(f"the user did not open {url}") from needed
                call.started = call.last_activity = asyncio.get_running_loop().time()
                return await self._request(request, seconds, call)
        finally:
            _current_call.reset(token)
            self._calls.remove(call)

    async def _request(
        self, request: Callable[["McpSession"], Awaitable[T]], seconds: float, call: ServerCall | None = None
    ) -> T:
        """Run one request until it ends, its time is over or the connection ends."""
        if self._ended.done():
            raise self._ended.result()
        if self._session is None:
            raise ServerGone("the server is not connected")
        call = call or ServerCall()
        answer = asyncio.ensure_future(request(self._session))
        try:
            while not answer.done():
                if (left := call.seconds_left(seconds)) <= 0:
                    raise McpFailed(f"{self.server.name} did not answer within {seconds:g} s")
                await asyncio.wait((answer, self._ended), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if self._ended.done() and not answer.done():
                    raise self._ended.result()
            return answer.result()
        except ServerGone:
            self._ending.set()
            raise
        finally:
            if not answer.done():
                # The SDK tells the server that the request is cancelled.
                answer.cancel()
                await asyncio.wait((answer,), timeout=1.0)

    async def _run(self, greeted: "asyncio.Future[ServerWelcome]") -> None:
        """The task that enters and leaves the SDK."""
        fault: McpFailed = ServerGone("the server ended or closed the connection")
        try:
            await self._hold_session(greeted)
        except asyncio.CancelledError:
            pass
        # The SDK and servers may raise anything: the connection is over, and the failure says why.
        except Exception as error:
            fault = explain_failure(error, self._response)
        finally:
            self._session = None
            if not self._ended.done():
                self._ended.set_result(fault)
            if not greeted.done():
                greeted.set_exception(fault)

    async def _hold_session(self, greeted: "asyncio.Future[ServerWelcome]") -> None:
        from cockpit.mcp.client import open_session
        from cockpit.mcp.http_transport import LastHttpResponse

        self._response = LastHttpResponse()
        seconds = self._settings.connect_seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                async with open_session(
                    self.server,
                    self._settings,
                    self.mode,
                    self._current_handler,
                    self._response,
                    self._ending,
                ) as session:
                    limit.reschedule(None)
                    self._session = session
                    if not greeted.done():
                        greeted.set_result(session.welcome)
                    listening = asyncio.create_task(_listen(session))
                    try:
                        await self._ending.wait()
                    finally:
                        listening.cancel()
                        await asyncio.gather(listening, return_exceptions=True)
                    limit.reschedule(asyncio.get_running_loop().time() + CLOSE_SECONDS)
        except TimeoutError as error:
            if greeted.done():
                return  # it was slow to close
            reason = f"{self.server.name} did not answer within {seconds:g} s of its start"
            raise GreetingTimeout(reason, "cockpit mcp log shows what it wrote") from error

    def _current_handler(self) -> ServerRequestHandler:
        """Who handles the server's current request. Servers of the 2026-07-28 protocol name the call they ask
        for; for older ones the latest call is assumed."""
        call = _current_call.get()
        if call is not None and call in self._calls:
            return call
        return self._calls[-1] if self._calls else DecliningHandler()


async def _listen(session: "McpSession") -> None:
    for wait in (RETRY_SECONDS, 5 * RETRY_SECONDS, 30 * RETRY_SECONDS):
        try:
            await session.listen()
            return
        except McpFailed:
            await asyncio.sleep(wait)
