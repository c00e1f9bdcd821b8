"""The SDK's client for one server, behind our own values. Imports the SDK: only `connection` imports it, when
a server starts.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from mcp import Client, types
from mcp.client._transport import TransportStreams
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import CONNECTION_CLOSED, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from cockpit import __version__
from cockpit.mcp import reading
from cockpit.mcp.callbacks import Callbacks
from cockpit.mcp.cleaning import Unsafe
from cockpit.mcp.era import Era
from cockpit.mcp.http import Answers, http
from cockpit.mcp.stdio import stdio
from cockpit.mcp.values import (
    Asking,
    McpFailed,
    Outcome,
    PromptDefinition,
    PromptText,
    ResourceDefinition,
    ServerGone,
    Terms,
    ToolDefinition,
    Welcome,
)
from cockpit.plugin.values import McpServer
from cockpit.protocol.clean import one_line
from cockpit.protocol.messages import Json
from cockpit.workspace.logs import Log

T = TypeVar("T")
PAGES = 50
MOST = 2_000
Progress = Callable[[float, float | None, str], None]


class PageNeeded(McpFailed):
    """The server wants a person to open `pages` (a message, an address) before it answers."""

    def __init__(self, pages: tuple[tuple[str, str], ...]) -> None:
        super().__init__("a page must be opened first", "; ".join(url for _, url in pages))
        self.pages = pages


@asynccontextmanager
async def talk(
    server: McpServer,
    terms: Terms,
    mode: str,
    asking: Callable[[], Asking],
    answers: Answers,
    gone: asyncio.Event,
) -> AsyncIterator["Talk"]:
    """A server that was started, reached and greeted. `asking` is who answers now what it wants to know;
    `gone` is set when its process has nothing more to say."""
    _quiet()
    log = Log(terms.log)
    era = Era()
    transport = stdio(server, terms, gone, era) if server.command else http(server, terms, answers, era)
    callbacks = Callbacks(terms, asking, log)
    client = Client(
        _Transport(transport),
        mode=mode,
        client_info=types.Implementation(name="cockpit", version=__version__),
        elicitation_callback=callbacks.elicit,
        sampling_callback=callbacks.sample,
        list_roots_callback=callbacks.roots,
        logging_callback=callbacks.log,
        log_level="info",
        message_handler=callbacks.heard,
        cache=None,
    )
    async with client:
        yield Talk(client, terms, era)


def _quiet() -> None:
    """What the SDK logs goes nowhere: Python's last resort would write it over the screen."""
    logger = logging.getLogger("mcp")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Transport:
    """A context of streams, as the SDK takes it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> TransportStreams:
        streams: TransportStreams = await self._inner.__aenter__()
        return streams

    async def __aexit__(self, *raised: Any) -> bool | None:
        result: bool | None = await self._inner.__aexit__(*raised)
        return result


class Talk:
    """One greeted server. Every method raises `McpFailed`, `ServerGone` where the connection is over."""

    def __init__(self, client: Client, terms: Terms, era: Era) -> None:
        self._client = client
        self._era = era
        self._terms = terms
        self.welcome: Welcome = reading.welcome(
            client.protocol_version, client.server_info, client.server_capabilities, client.instructions
        )

    async def tools(self, refused: list[str]) -> tuple[ToolDefinition, ...]:
        """What it offers; what cannot be made safe is left out, and `refused` is told why."""
        if "tools" not in self.welcome.can:
            return ()

        async def page(cursor: str | None) -> tuple[list[types.Tool], str | None]:
            result = await self._client.list_tools(cursor=cursor)
            return result.tools, result.next_cursor

        return await self._taken("tool", await _pages(page), reading.tool, refused)

    async def prompts(self, refused: list[str]) -> tuple[PromptDefinition, ...]:
        if "prompts" not in self.welcome.can:
            return ()

        async def page(cursor: str | None) -> tuple[list[types.Prompt], str | None]:
            result = await self._client.list_prompts(cursor=cursor)
            return result.prompts, result.next_cursor

        return await self._taken("prompt", await _pages(page), reading.prompt, refused)

    async def resources(self, refused: list[str]) -> tuple[ResourceDefinition, ...]:
        if "resources" not in self.welcome.can:
            return ()

        async def page(cursor: str | None) -> tuple[list[types.Resource], str | None]:
            result = await self._client.list_resources(cursor=cursor)
            return result.resources, result.next_cursor

        async def templates(cursor: str | None) -> tuple[list[types.ResourceTemplate], str | None]:
            result = await self._client.list_resource_templates(cursor=cursor)
            return result.resource_templates, result.next_cursor

        fixed = await self._taken("resource", await _pages(page), reading.resource, refused)
        try:
            open_ones = await _pages(templates)
        except McpFailed:
            return fixed  # many servers have resources and know no templates
        return (*fixed, *await self._taken("template", open_ones, reading.template, refused))

    async def call(self, name: str, arguments: Mapping[str, Json], heard: Progress) -> Outcome:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            heard(progress, total, one_line(message or "", 300))

        with _faults():
            result = await self._client.call_tool(name, dict(arguments), progress_callback=told)
        return reading.outcome(result)

    async def read(self, uri: str) -> Outcome:
        with _faults():
            return reading.resource_text(await self._client.read_resource(uri))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> PromptText:
        with _faults():
            return reading.prompt_text(await self._client.get_prompt(name, dict(arguments) or None))

    async def complete(
        self, ref: str, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values for an argument of the prompt `ref`, or of a template of addresses (it holds `://`)."""
        if "completions" not in self.welcome.can:
            return ()
        about: types.ResourceTemplateReference | types.PromptReference
        if "://" in ref:
            about = types.ResourceTemplateReference(type="ref/resource", uri=ref)
        else:
            about = types.PromptReference(type="ref/prompt", name=ref)
        with _faults():
            result = await self._client.complete(
                about, {"name": argument, "value": value}, dict(known) or None
            )
        return tuple(one_line(one, 200) for one in result.completion.values)

    async def listen(self) -> None:
        """Hear of changes of the offer until the stream ends. Older servers tell of them by themselves."""
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        can = self._client.server_capabilities
        tools = bool(can.tools and can.tools.list_changed)
        prompts = bool(can.prompts and can.prompts.list_changed)
        resources = bool(can.resources and can.resources.list_changed)
        if not (tools or prompts or resources):
            return
        listening = self._client.listen(
            tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
        )
        with _faults():
            async with listening as events:
                # Each event also reaches the message handler, which tells of it.
                async for _ in events:
                    pass

    async def _taken(
        self, what: str, ones: list[Any], read: Callable[[Any], T], refused: list[str]
    ) -> tuple[T, ...]:
        refused += self._era.left_out()
        # Hundreds of schemas are gone through: not on the loop, which answers keys.
        return await asyncio.to_thread(_read, what, ones, read, refused)


def _read(what: str, ones: list[Any], read: Callable[[Any], T], refused: list[str]) -> tuple[T, ...]:
    out: dict[str, T] = {}
    for one in ones:
        key = str(getattr(one, "uri", "") or getattr(one, "uri_template", "") or one.name)
        if key in out:
            refused.append(f"{what} {one_line(key, 80)} is left out: it is there twice")
            continue
        try:
            out[key] = read(one)
        except Unsafe as error:
            refused.append(f"{what} {one_line(one.name, 80)} is left out: {error}")
    return tuple(out.values())


async def _pages(page: Callable[[str | None], Awaitable[tuple[list[T], str | None]]]) -> list[T]:
    """All pages of a list, up to a bound: a server that pages for ever ends here."""
    rows: list[T] = []
    cursor: str | None = None
    for _ in range(PAGES):
        with _faults():
            more, cursor = await page(cursor)
        rows += more
        if cursor is None or len(rows) >= MOST:
            break
    return rows[:MOST]


@contextmanager
def _faults() -> Iterator[None]:
    """The SDK's errors as ours."""
    try:
        yield
    except MCPError as error:
        raise _fault(error) from error
    except ValidationError as error:
        raise McpFailed(f"its answer does not fit the protocol: {one_line(str(error), 300)}") from error
    except SubscriptionLost as error:
        raise McpFailed("it no longer tells of changes") from error
    except RuntimeError as error:
        # The SDK says so when structured content does not fit the tool's own schema.
        raise McpFailed(one_line(str(error), 400)) from error


def _fault(error: MCPError) -> McpFailed:
    said = one_line(error.message, 1_000)
    if error.code == CONNECTION_CLOSED or said == "Session terminated":
        return ServerGone("the connection to the server ended")
    if error.code == URL_ELICITATION_REQUIRED and isinstance(error.data, dict):
        rows = error.data.get("elicitations") or []
        pages = [row for row in rows if isinstance(row, dict) and isinstance(row.get("url"), str)]
        return PageNeeded(tuple((one_line(str(row.get("message", ""))), row["url"]) for row in pages))
    if error.code == METHOD_NOT_FOUND:
        return McpFailed(f"the server does not know that: {said}")
    return McpFailed(said or f"error {error.code}")
