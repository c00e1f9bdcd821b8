"""The MCP server: the handler of each method of the protocol, except `tools/call` (`tool_calls`).

Resources are the problems of the workspace, and the outline and text of a file. Reading a file goes through
the tool `read` with its guards, rules and audit, and is redacted. Commands and skills of files are prompts.
"""

import shlex
import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cockpit import __version__
from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.session import SharedSession
from cockpit.mcp_serve.tool_calls import ClientLogLevels, RequestContext, call_tool
from cockpit.protocol.code import FileText, ProblemRows, Problems, SymbolRows, Symbols, TextPage
from cockpit.protocol.events import ApprovalRequested, QuestionAsked, ToolCallFinished
from cockpit.protocol.messages import ToolResult
from cockpit.protocol.queries import Complete, Completions, PromptRow, Refused, ToolRow

# The single argument of a prompt whose file names no arguments.
ALL_ARGUMENTS = "arguments"
PROBLEMS, OUTLINE, FILE = "cockpit://problems", "cockpit://outline/", "cockpit://file/"
# The error code for a missing resource in protocol versions up to 2025-11-25.
NOT_FOUND = -32002
MAX_FILE_TEXT = 1_000_000
MAX_VALUES = 100
INSTRUCTIONS = (
    "cockpit's tools for one folder: reading, searching and navigating its code. Every call is judged by "
    "cockpit's rules; one that needs approval asks the user, or is denied with the reason."
)
PageParams: TypeAlias = types.PaginatedRequestParams | None


def make_server(served: SharedSession, exposed: ExposedTools) -> Server[Any]:
    """A server with the exposed tools of `served`, for every transport and protocol version."""
    # Logging is deprecated in the SDK, but older clients still use it.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    handlers = _RequestHandlers(served, exposed)
    server: Server[Any] = Server(
        "cockpit",
        version=__version__,
        title="cockpit",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    return server


class _RequestHandlers:
    """Handles the methods of one server. There are no resources if the tool `read` is not exposed."""

    def __init__(self, served: SharedSession, exposed: ExposedTools) -> None:
        self._served = served
        self._exposed = exposed
        self._levels = ClientLogLevels()

    async def list_tools(self, ctx: RequestContext, page: PageParams) -> types.ListToolsResult:
        rows = self._exposed.rows(await self._served.tools())
        return types.ListToolsResult(tools=[_convert_tool(row) for row in rows])

    async def call_tool(
        self, ctx: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        return await call_tool(self._served, self._exposed, self._levels, ctx, params)

    async def list_resources(self, ctx: RequestContext, page: PageParams) -> types.ListResourcesResult:
        about = "Errors and warnings of the files checked so far, as rows of path, line, message"
        problems = types.Resource(uri=PROBLEMS, name="problems", description=about, mime_type="text/plain")
        return types.ListResourcesResult(resources=[problems] if await self._exposes_read() else [])

    async def list_templates(
        self, ctx: RequestContext, page: PageParams
    ) -> types.ListResourceTemplatesResult:
        outline = "The definitions in a file of the workspace, with their lines"
        templates = [
            _make_template(OUTLINE, "outline", outline),
            _make_template(FILE, "file", "The text of a file of the workspace"),
        ]
        exposed = await self._exposes_read()
        return types.ListResourceTemplatesResult(resource_templates=templates if exposed else [])

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if not await self._exposes_read():
            raise _resource_not_found(ctx, uri)
        try:
            text = await self._resource_text(ctx, uri)
        except CockpitError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from error
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, ctx: RequestContext, page: PageParams) -> types.ListPromptsResult:
        rows = (await self._served.prompts()).rows
        return types.ListPromptsResult(prompts=[_convert_prompt(row) for row in rows])

    async def get_prompt(
        self, ctx: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        row = next((row for row in (await self._served.prompts()).rows if row.name == params.name), None)
        if row is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        try:
            text = await self._served.expand(row.name, _argument_text(row, params.arguments or {}))
        except CockpitError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=row.description, messages=[message])

    async def complete(
        self, ctx: RequestContext, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Completes the path in the URI of a resource template."""
        values: list[str] = []
        if not isinstance(params.ref, types.PromptReference) and params.argument.name == "path":
            typed = params.argument.value
            reply = await self._served.ask(Complete("@", f"@{typed}", len(typed) + 1))
            rows = reply.rows if isinstance(reply, Completions) else ()
            paths = (row.insert.strip().removeprefix("@").strip('"') for row in rows)
            values = [path for path in paths if path and not path.endswith("/")][:MAX_VALUES]
        completion = types.Completion(values=values, total=len(values), has_more=False)
        return types.CompleteResult(completion=completion)

    async def set_level(self, ctx: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._levels.set(ctx, params.level)
        return types.EmptyResult()

    async def _exposes_read(self) -> bool:
        return any(row.name == "read" for row in self._exposed.rows(await self._served.tools()))

    async def _resource_text(self, ctx: RequestContext, uri: str) -> str:
        if uri == PROBLEMS:
            reply = await self._served.ask(Problems())
            rows = reply.rows if isinstance(reply, ProblemRows) else ()
            return "\n".join(f"{row.path}:{row.line}: {row.severity}: {row.message}" for row in rows)
        for prefix in (OUTLINE, FILE):
            if uri.startswith(prefix) and (path := unquote(uri.removeprefix(prefix))):
                await self._require_readable(ctx, uri, path)
                return await (self._outline(path) if prefix == OUTLINE else self._file_text(path))
        raise _resource_not_found(ctx, uri)

    async def _require_readable(self, ctx: RequestContext, uri: str, path: str) -> None:
        """Raise `MCPError` unless the tool `read` can read the file; it reads one line of it."""
        result = await self._read_first_line(path)
        if result.outcome == "ok":
            return
        if result.outcome == "error":
            reply = await (await self._served.channel()).ask(FileText(path, 1, 1))
            if isinstance(reply, Refused) and reply.cause == "missing_file":
                raise _resource_not_found(ctx, uri)
        raise MCPError(types.INVALID_PARAMS, result.text, {"uri": uri})

    async def _read_first_line(self, path: str) -> ToolResult:
        call = await self._served.begin("read", {"path": path, "lines": 1})
        async for event in call.events():
            match event:
                case ApprovalRequested() | QuestionAsked():
                    reason = "a resource cannot ask the user; call the tool `read` instead"
                    await self._served.decline(event, reason)
                case ToolCallFinished(result=result):
                    return result
                case _:
                    pass
        raise CockpitError("the session was closed", "start cockpit mcp-serve again")

    async def _outline(self, path: str) -> str:
        reply = await self._served.ask(Symbols("", path))
        rows = reply.rows if isinstance(reply, SymbolRows) else ()
        return "\n".join(f"{row.first}-{row.last}\t{row.kind}\t{row.container or row.name}" for row in rows)

    async def _file_text(self, path: str) -> str:
        reply = await self._served.ask(FileText(path))
        text = reply.text if isinstance(reply, TextPage) else ""
        if len(text) > MAX_FILE_TEXT:
            reason = f"the file has {len(text):,} characters, more than {MAX_FILE_TEXT:,}"
            raise CockpitError(reason, "call the tool `read` with `start` and `lines`")
        return text


def _convert_tool(row: ToolRow) -> types.Tool:
    """A tool as its client sees it. The hints hold for every call."""
    schema = {"type": "object", **row.parameters}
    hints = types.ToolAnnotations(
        read_only_hint=row.looks_only,
        destructive_hint=not row.looks_only and row.kind not in ("think", "fetch"),
        idempotent_hint=row.looks_only,
        open_world_hint="net.egress" in row.capabilities or row.kind == "execute",
    )
    return types.Tool(name=row.name, description=row.description, input_schema=schema, annotations=hints)


def _convert_prompt(row: PromptRow) -> types.Prompt:
    if row.arguments:
        arguments = [types.PromptArgument(name=argument, required=False) for argument in row.arguments]
    else:
        hint = row.hint or None
        arguments = [types.PromptArgument(name=ALL_ARGUMENTS, description=hint, required=False)]
    return types.Prompt(name=row.name, description=row.description, arguments=arguments)


def _argument_text(row: PromptRow, values: Mapping[str, str]) -> str:
    """The text after the command's name, with arguments quoted so that each stays one word."""
    if not row.arguments:
        return values.get(ALL_ARGUMENTS, "")
    words = [values.get(name, "") for name in row.arguments]
    while words and not words[-1]:
        words.pop()
    return shlex.join(words)


def _make_template(prefix: str, name: str, about: str) -> types.ResourceTemplate:
    uri = f"{prefix}{{+path}}"
    return types.ResourceTemplate(uri_template=uri, name=name, description=about, mime_type="text/plain")


def _resource_not_found(ctx: RequestContext, uri: str) -> MCPError:
    code = types.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else NOT_FOUND
    scheme = urlsplit(uri).scheme or "none"
    return MCPError(code, f"Resource not found ({scheme})", {"uri": uri})
