"""The MCP server: assigns each method of the protocol to the code that handles it.

Commands and skills of files are offered as prompts.
"""

import shlex
import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from cockpit import __version__
from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.resources import WorkspaceResources
from cockpit.mcp_serve.session import SharedSession
from cockpit.mcp_serve.tool_calls import ClientLogLevels, RequestContext, call_tool
from cockpit.protocol.queries import PromptRow, ToolRow

# The single argument of a prompt whose file names no arguments.
ALL_ARGUMENTS = "arguments"


async def list_prompts(served: SharedSession) -> list[Prompt]:
    return [_convert_prompt(row) for row in (await served.prompts()).rows]


async def get_prompt(served: SharedSession, name: str, values: Mapping[str, str]) -> GetPromptResult:
    """The prompt `name` with its arguments filled in. Raises `MCPError`."""
    row = next((row for row in (await served.prompts()).rows if row.name == name), None)
    if row is None:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
    try:
        text = await served.expand(name, _argument_text(row, values))
    except CockpitError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    return GetPromptResult(
        description=row.description,
        messages=[PromptMessage(role="user", content=TextContent(text=text))],
    )


def _convert_prompt(row: PromptRow) -> Prompt:
    if row.arguments:
        arguments = [PromptArgument(name=argument, required=False) for argument in row.arguments]
    else:
        arguments = [PromptArgument(name=ALL_ARGUMENTS, description=row.hint or None, required=False)]
    return Prompt(name=row.name, description=row.description, arguments=arguments)


def _argument_text(row: PromptRow, values: Mapping[str, str]) -> str:
    """The text after the command's name, with arguments quoted so that each stays one word."""
    if not row.arguments:
        return values.get(ALL_ARGUMENTS, "")
    words = [values.get(name, "") for name in row.arguments]
    while words and not words[-1]:
        words.pop()
    return shlex.join(words)


PageParams: TypeAlias = PaginatedRequestParams | None
INSTRUCTIONS = (
    "cockpit's tools for one folder: reading, searching and navigating its code. Every call is judged by "
    "cockpit's rules; one that needs approval asks the user, or is denied with the reason."
)


def make_server(served: SharedSession, exposed: ExposedTools) -> Server[Any]:
    """A server with the exposed tools of `served`, for every transport and protocol version."""
    # Logging is deprecated in the SDK, but older clients still use it.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    offer = _RequestHandlers(served, exposed)
    server: Server[Any] = Server(
        "cockpit",
        version=__version__,
        title="cockpit",
        instructions=INSTRUCTIONS,
        on_list_tools=offer.list_tools,
        on_call_tool=offer.call_tool,
        on_list_resources=offer.list_resources,
        on_list_resource_templates=offer.list_templates,
        on_read_resource=offer.read_resource,
        on_list_prompts=offer.list_prompts,
        on_get_prompt=offer.get_prompt,
        on_completion=offer.complete,
    )
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, offer.set_level)
    return server


class _RequestHandlers:
    """Handles the methods of one server."""

    def __init__(self, served: SharedSession, exposed: ExposedTools) -> None:
        self._served = served
        self._exposed = exposed
        self._levels = ClientLogLevels()
        self._resources = WorkspaceResources(served, exposed, self._levels)

    async def list_tools(self, ctx: RequestContext, page: PageParams) -> ListToolsResult:
        rows = self._exposed.rows(await self._served.tools())
        return ListToolsResult(tools=[convert_tool(row) for row in rows])

    async def call_tool(
        self, ctx: RequestContext, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        return await call_tool(self._served, self._exposed, self._levels, ctx, params)

    async def list_resources(self, ctx: RequestContext, page: PageParams) -> ListResourcesResult:
        return ListResourcesResult(resources=await self._resources.listed())

    async def list_templates(self, ctx: RequestContext, page: PageParams) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=await self._resources.templates())

    async def read_resource(
        self, ctx: RequestContext, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await self._resources.read(ctx, str(params.uri))

    async def list_prompts(self, ctx: RequestContext, page: PageParams) -> ListPromptsResult:
        return ListPromptsResult(prompts=await list_prompts(self._served))

    async def get_prompt(self, ctx: RequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        return await get_prompt(self._served, params.name, params.arguments or {})

    async def complete(self, ctx: RequestContext, params: CompleteRequestParams) -> CompleteResult:
        values: list[str] = []
        if not isinstance(params.ref, PromptReference) and params.argument.name == "path":
            values = await self._resources.completed(params.argument.value)
        return CompleteResult(completion=Completion(values=values, total=len(values), has_more=False))

    async def set_level(self, ctx: RequestContext, params: SetLevelRequestParams) -> EmptyResult:
        self._levels.set(ctx, params.level)
        return EmptyResult()


def convert_tool(row: ToolRow) -> Tool:
    """A tool as its client sees it. The hints hold for every call."""
    schema = {"type": "object", **row.parameters}
    hints = ToolAnnotations(
        read_only_hint=row.looks_only,
        destructive_hint=not row.looks_only and row.kind not in ("think", "fetch"),
        idempotent_hint=row.looks_only,
        open_world_hint="net.egress" in row.capabilities or row.kind == "execute",
    )
    return Tool(name=row.name, description=row.description, input_schema=schema, annotations=hints)
