"""Wraps the SDK's client for one server: takes and returns cockpit's own values.

Also answers the requests that a server sends to its client: forms (elicitation), sampling, roots and logging.
Imports the SDK; only `connection` imports this module, when a server starts.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from mcp import Client, types
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import CONNECTION_CLOSED, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from cockpit import __version__
from cockpit.mcp import sdk_conversion
from cockpit.mcp.http_transport import LastHttpResponse, open_http
from cockpit.mcp.protocol_compat import ProtocolCompat
from cockpit.mcp.sdk_conversion import UnsafeDefinition, clean_prose
from cockpit.mcp.stdio_transport import open_stdio
from cockpit.mcp.values import (
    ConnectionSettings,
    McpFailed,
    McpResult,
    PageNeeded,
    PromptDefinition,
    ResourceDefinition,
    ServerGone,
    ServerRequestHandler,
    ServerWelcome,
    ToolDefinition,
)
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean, single_line
from cockpit.workspace.processes.server_process import ServerLog

FormKind = Literal["text", "number", "integer", "yes_no", "choice", "choices"]
FORM_KINDS: Mapping[str, FormKind] = {"number": "number", "integer": "integer", "boolean": "yes_no"}
MAX_FIELDS = 40


def parse_fields(schema: Mapping[str, Json]) -> tuple[FormField, ...]:
    """The form fields of an elicitation schema, in its order, without names that hide characters."""
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    rows = _as_mapping(schema.get("properties")).items()
    shown = [(name, row) for name, row in rows if clean(name) == name][:MAX_FIELDS]
    return tuple(_parse_field(name, _as_mapping(row), name in names) for name, row in shown)


def fill_defaults(answer: FormAnswer, fields: tuple[FormField, ...]) -> dict[str, Json]:
    """The content of an accepted form; fields left empty get their default."""
    values: dict[str, Json] = {}
    for field in fields:
        value = answer.values.get(field.name)
        value = field.default if value is None or value == "" else value
        if value is not None:
            values[field.name] = value
    return values


def _parse_field(name: str, field_schema: Mapping[str, Json], required: bool) -> FormField:
    is_list = field_schema.get("type") == "array"
    options, labels = _parse_choices(_as_mapping(field_schema.get("items")) if is_list else field_schema)
    kind: FormKind = FORM_KINDS.get(str(field_schema.get("type")), "text")
    if is_list or options:
        kind = "choices" if is_list else "choice"
    return FormField(
        name=name,
        label=clean_prose(str(field_schema.get("title") or name), 200),
        kind=kind,
        required=required,
        options=options,
        labels=labels,
        default=field_schema.get("default"),
        note=_describe_field(field_schema),
    )


def _parse_choices(field_schema: Mapping[str, Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The values a field may have, and their labels where they differ (`enumNames`, `oneOf`, `anyOf`)."""
    titled = field_schema.get("oneOf") or field_schema.get("anyOf")
    if isinstance(titled, list):
        rows = [row for row in titled if isinstance(row, dict) and isinstance(row.get("const"), str)]
        rows = [row for row in rows if clean(str(row["const"])) == row["const"]]
        values = tuple(str(row["const"]) for row in rows)
        return values, tuple(clean_prose(str(row.get("title") or row["const"]), 200) for row in rows)
    enum = field_schema.get("enum")
    values = tuple(str(value) for value in enum) if isinstance(enum, list) else ()
    if any(clean(value) != value for value in values):
        return tuple(value for value in values if clean(value) == value), ()
    names = field_schema.get("enumNames")
    if not isinstance(names, list) or len(names) != len(values):
        return values, ()
    return values, tuple(clean_prose(str(name), 200) for name in names)


def _describe_field(field_schema: Mapping[str, Json]) -> str:
    words = [clean_prose(str(field_schema["description"]), 500)] if field_schema.get("description") else []
    if field_schema.get("format"):
        words.append(clean_prose(str(field_schema["format"]), 40))
    low = field_schema.get("minimum", field_schema.get("minLength"))
    high = field_schema.get("maximum", field_schema.get("maxLength"))
    unit = " characters" if "minLength" in field_schema or "maxLength" in field_schema else ""
    if low is not None and high is not None:
        words.append(f"{low} to {high}{unit}")
    elif low is not None or high is not None:
        words.append(f"at least {low}{unit}" if low is not None else f"at most {high}{unit}")
    return "; ".join(words)


def _as_mapping(value: object) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


class ClientCallbacks:
    """The client callbacks of one connection. `handler` returns who handles requests at the moment."""

    def __init__(self, settings: ConnectionSettings, handler: Callable[[], ServerRequestHandler]) -> None:
        self._settings = settings
        self._handler = handler
        self._log = ServerLog(settings.log)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        match params:
            case types.ElicitRequestFormParams(message=message, requested_schema=schema):
                fields = parse_fields(schema)
                answer = await self._handler().form(sdk_conversion.clean_message(message), fields, "")
                content: Any = fill_defaults(answer, fields) if answer.action == "accept" else None
                return types.ElicitResult(action=answer.action, content=content)
            case types.ElicitRequestURLParams(message=message, url=url):
                answer = await self._handler().form(sdk_conversion.clean_message(message), (), url)
                return types.ElicitResult(action=answer.action)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        reply = await self._handler().sample(sdk_conversion.convert_sampling(params))
        if reply.refused:
            return types.ErrorData(code=-1, message=reply.refused)
        content = types.TextContent(type="text", text=reply.text)
        return types.CreateMessageResult(
            role="assistant", content=content, model=reply.model, stop_reason="endTurn"
        )

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        root = Path(self._settings.root)
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root.as_uri()), name=root.name)])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self._log.say(params.level, single_line(str(params.data), 2_000))

    async def receive(self, message: types.ServerNotification | Exception) -> None:
        match message:
            case types.ToolListChangedNotification():
                self._settings.on_change("tools")
            case types.PromptListChangedNotification():
                self._settings.on_change("prompts")
            case types.ResourceListChangedNotification() | types.ResourceUpdatedNotification():
                self._settings.on_change("resources")
            case Exception():
                self._log.say("cockpit", single_line(f"{type(message).__name__}: {message}"))
            case _:
                pass


T = TypeVar("T")
MAX_PAGES = 50
MAX_ROWS = 2_000


@asynccontextmanager
async def open_session(
    server: McpServer,
    settings: ConnectionSettings,
    mode: str,
    handler: Callable[[], ServerRequestHandler],
    response: LastHttpResponse,
    gone: asyncio.Event,
) -> AsyncIterator["McpSession"]:
    """Start or reach a server and complete its handshake. `handler` returns who handles its requests at the
    moment; `gone` is set when its process closes stdout."""
    _silence_sdk_logs()
    compat = ProtocolCompat()
    transport = (
        open_stdio(server, settings, gone, compat)
        if server.command
        else open_http(server, settings, response, compat)
    )
    callbacks = ClientCallbacks(settings, handler)
    client = Client(
        transport,
        mode=mode,
        client_info=types.Implementation(name="cockpit", version=__version__),
        elicitation_callback=callbacks.elicit,
        sampling_callback=callbacks.sample,
        list_roots_callback=callbacks.roots,
        logging_callback=callbacks.log,
        log_level="info",
        message_handler=callbacks.receive,
        cache=None,
    )
    async with client:
        yield McpSession(client, compat)


def _silence_sdk_logs() -> None:
    """Discard what the SDK logs: Python's default handler would write it over the screen."""
    logger = logging.getLogger("mcp")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


class McpSession:
    """One connected server. Every method raises `McpFailed`, or `ServerGone` where the connection is over."""

    def __init__(self, client: Client, compat: ProtocolCompat) -> None:
        self._client = client
        self._compat = compat
        self.welcome: ServerWelcome = sdk_conversion.convert_welcome(
            client.protocol_version, client.server_info, client.server_capabilities, client.instructions
        )

    async def tools(self, refused: list[str]) -> tuple[ToolDefinition, ...]:
        """The server's tools. Tools that cannot be made safe are left out, with the reason in `refused`."""
        fetch = self._client.list_tools
        return await self._list("tools", "tools", fetch, sdk_conversion.convert_tool, refused)

    async def prompts(self, refused: list[str]) -> tuple[PromptDefinition, ...]:
        fetch = self._client.list_prompts
        return await self._list("prompts", "prompts", fetch, sdk_conversion.convert_prompt, refused)

    async def resources(self, refused: list[str]) -> tuple[ResourceDefinition, ...]:
        fetch, convert = self._client.list_resources, sdk_conversion.convert_resource
        fixed = await self._list("resources", "resources", fetch, convert, refused)
        fetch_templates, convert_template = (
            self._client.list_resource_templates,
            sdk_conversion.convert_resource,
        )
        try:
            more = await self._list(
                "resources", "resource_templates", fetch_templates, convert_template, refused
            )
        except McpFailed:
            return fixed  # many servers have resources but no templates
        return (*fixed, *more)

    async def _list(
        self,
        capability: str,
        field: str,
        fetch: Callable[..., Awaitable[Any]],
        convert: Callable[[Any], T],
        refused: list[str],
    ) -> tuple[T, ...]:
        """All pages of a list, up to a limit, in case a server never stops paging."""
        if capability not in self.welcome.can:
            return ()
        rows: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            with _translate_errors():
                page = await fetch(cursor=cursor)
            rows += getattr(page, field)
            cursor = page.next_cursor
            if cursor is None or len(rows) >= MAX_ROWS:
                break
        refused += self._compat.left_out()
        # Converting hundreds of schemas would block the loop.
        return await asyncio.to_thread(_convert_rows, field, rows[:MAX_ROWS], convert, refused)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Json],
        on_progress: Callable[[float, float | None, str], None],
    ) -> McpResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            on_progress(progress, total, single_line(message or "", 300))

        with _translate_errors():
            result = await self._client.call_tool(name, dict(arguments), progress_callback=report)
        return sdk_conversion.convert_result(result)

    async def read(self, uri: str) -> McpResult:
        with _translate_errors():
            return sdk_conversion.convert_resource_text(await self._client.read_resource(uri))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> McpResult:
        with _translate_errors():
            return sdk_conversion.convert_prompt_text(
                await self._client.get_prompt(name, dict(arguments) or None)
            )

    async def complete(
        self, ref: str, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values for an argument of the prompt `ref`, or of a resource template (its name contains `://`)."""
        if "completions" not in self.welcome.can:
            return ()
        about: types.ResourceTemplateReference | types.PromptReference
        if "://" in ref:
            about = types.ResourceTemplateReference(type="ref/resource", uri=ref)
        else:
            about = types.PromptReference(type="ref/prompt", name=ref)
        with _translate_errors():
            result = await self._client.complete(
                about, {"name": argument, "value": value}, dict(known) or None
            )
        return tuple(single_line(value, 200) for value in result.completion.values)

    async def listen(self) -> None:
        """Wait for changes of the offer until the stream ends. Older servers notify by themselves."""
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
        with _translate_errors():
            async with listening as events:
                # Each event also reaches the message handler, which reports it.
                async for _ in events:
                    pass


def _convert_rows(
    field: str, rows: list[Any], convert: Callable[[Any], T], refused: list[str]
) -> tuple[T, ...]:
    kind = field.rpartition("_")[2].removesuffix("s")
    out: dict[str, T] = {}
    for row in rows:
        key = str(getattr(row, "uri", "") or getattr(row, "uri_template", "") or row.name)
        if key in out:
            refused.append(f"{kind} {single_line(key, 80)} is left out: it is listed twice")
            continue
        try:
            out[key] = convert(row)
        except UnsafeDefinition as error:
            refused.append(f"{kind} {single_line(row.name, 80)} is left out: {error}")
    return tuple(out.values())


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except MCPError as error:
        raise _translate_error(error) from error
    except ValidationError as error:
        raise McpFailed(f"its answer does not fit the protocol: {single_line(str(error), 300)}") from error
    except SubscriptionLost as error:
        raise McpFailed("it no longer reports changes") from error
    except RuntimeError as error:
        # The SDK raises this when structured content does not match the tool's own schema.
        raise McpFailed(single_line(str(error), 400)) from error


def _translate_error(error: MCPError) -> McpFailed:
    text = single_line(error.message, 1_000)
    if error.code == CONNECTION_CLOSED or text == "Session terminated":
        return ServerGone("the connection to the server ended")
    if error.code == URL_ELICITATION_REQUIRED and isinstance(error.data, dict):
        rows = error.data.get("elicitations") or []
        pages = [row for row in rows if isinstance(row, dict) and isinstance(row.get("url"), str)]
        return PageNeeded(tuple((single_line(str(row.get("message", ""))), row["url"]) for row in pages))
    if error.code == METHOD_NOT_FOUND:
        return McpFailed(f"the server does not support that: {text}")
    return McpFailed(text or f"error {error.code}")
