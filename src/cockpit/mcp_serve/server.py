"""The server itself: each method of the protocol to the part that answers it."""

import warnings
from typing import Any, TypeAlias

from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
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
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    Tool,
    ToolAnnotations,
)

from cockpit import __version__
from cockpit.mcp_serve import prompts
from cockpit.mcp_serve.calls import call_tool
from cockpit.mcp_serve.exposing import Exposed
from cockpit.mcp_serve.levels import Levels, Request
from cockpit.mcp_serve.resources import Resources
from cockpit.mcp_serve.served import Served
from cockpit.protocol.offering import ToolRow

Page: TypeAlias = PaginatedRequestParams | None
INSTRUCTIONS = (
    "cockpit's tools for one folder: reading, searching and navigating its code. Every call is judged by "
    "cockpit's rules; one that needs a person asks them, or is denied with the reason."
)


def server_of(served: Served, exposed: Exposed) -> Server[Any]:
    """A server whose tools are those of `served` that are exposed; for every transport and both eras."""
    # Logging is of the older era, and deprecated in the SDK: it is served to those who still speak it.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    offer = _Offer(served, exposed)
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


class _Offer:
    """The methods of one server."""

    def __init__(self, served: Served, exposed: Exposed) -> None:
        self._served = served
        self._exposed = exposed
        self._levels = Levels()
        self._resources = Resources(served, exposed, self._levels)

    async def list_tools(self, ctx: Request, page: Page) -> ListToolsResult:
        rows = self._exposed.rows(await self._served.tools())
        return ListToolsResult(tools=[tool_of(row) for row in rows])

    async def call_tool(
        self, ctx: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        return await call_tool(self._served, self._exposed, self._levels, ctx, params)

    async def list_resources(self, ctx: Request, page: Page) -> ListResourcesResult:
        return ListResourcesResult(resources=await self._resources.listed())

    async def list_templates(self, ctx: Request, page: Page) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=await self._resources.templates())

    async def read_resource(self, ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._resources.read(ctx, str(params.uri))

    async def list_prompts(self, ctx: Request, page: Page) -> ListPromptsResult:
        return ListPromptsResult(prompts=await prompts.listed(self._served))

    async def get_prompt(self, ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
        return await prompts.gotten(self._served, params.name, params.arguments or {})

    async def complete(self, ctx: Request, params: CompleteRequestParams) -> CompleteResult:
        values: list[str] = []
        if not isinstance(params.ref, PromptReference) and params.argument.name == "path":
            values = await self._resources.completed(params.argument.value)
        return CompleteResult(completion=Completion(values=values, total=len(values), has_more=False))

    async def set_level(self, ctx: Request, params: SetLevelRequestParams) -> EmptyResult:
        self._levels.set(ctx, params.level)
        return EmptyResult()


def tool_of(row: ToolRow) -> Tool:
    """A tool as its client sees it. The hints are true of every call of it."""
    schema = {"type": "object", **row.parameters}
    hints = ToolAnnotations(
        read_only_hint=row.looks_only,
        destructive_hint=not row.looks_only and row.kind not in ("think", "fetch"),
        idempotent_hint=row.looks_only,
        open_world_hint="net.egress" in row.capabilities or row.kind == "execute",
    )
    return Tool(name=row.name, description=row.description, input_schema=schema, annotations=hints)
