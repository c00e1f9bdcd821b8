"""`tools/call`: a client's call from its request to its result, with progress, questions and cancellation."""

import asyncio
import re
from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    FormElicitationCapability,
    ImageContent,
    InputRequiredResult,
    InputResponseRequestParams,
    MissingRequiredClientCapabilityErrorData,
    TextContent,
    UrlElicitationCapability,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposing import Exposed
from cockpit.mcp_serve.levels import Levels, Request
from cockpit.mcp_serve.served import Asking, Going, Served
from cockpit.mcp_serve.wording import allows, elicitation, is_shown_whole, values_in
from cockpit.protocol.content import Image
from cockpit.protocol.events import (
    ApprovalRequested,
    QuestionAsked,
    SessionClosed,
    ToolCallFinished,
    ToolCallProgressed,
    Warned,
)
from cockpit.protocol.messages import Json, ToolResult
from cockpit.protocol.ops import Answer

KEY = "person"
OUTCOME = "cockpit/outcome"
TOO_LONG = "what it would do is too long to be shown in a form; make it smaller, or do it in the cockpit"


async def call_tool(
    served: Served, exposed: Exposed, levels: Levels, ctx: Request, params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    """Answer `tools/call`. Raises `MCPError` for a tool that is not there for this client."""
    arguments: Mapping[str, Json] = params.arguments or {}
    row = next((one for one in await served.tools() if one.name == params.name), None)
    if row is None or not exposed.takes(row):
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        going = await _going(served, params, params.name, arguments)
        finished = await follow(served, levels, ctx, going)
    except CockpitError as error:
        return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
    return finished if isinstance(finished, InputRequiredResult) else result_of(finished)


async def _going(
    served: Served, params: InputResponseRequestParams, name: str, arguments: Mapping[str, Json]
) -> Going:
    """A new call, or the one that waits for the answer which this request brings."""
    if params.request_state is None:
        return await served.begin(name, arguments)
    going = served.parked.take(params.request_state, name, arguments)
    if going is None:
        raise MCPError(INVALID_PARAMS, "requestState is unknown, used, or of another call")
    response = (params.input_responses or {}).get(key_of(going.asked))
    if isinstance(response, ElicitResult):
        await _answered(served, going, response)
        return going
    # The answer is missing: it is asked for again.
    if going.asked is not None:
        going.said.put_nowait(going.asked)
    return going


async def follow(
    served: Served, levels: Levels, ctx: Request, going: Going
) -> ToolResult | InputRequiredResult:
    """Go along with a call to its result, or to where its client must ask a person."""
    try:
        async for event in going.events():
            match event:
                case ToolCallProgressed(text=text):
                    going.pieces += 1
                    await ctx.session.report_progress(going.pieces, None, text)
                case Warned():
                    await levels.tell(ctx, event)
                case ApprovalRequested() | QuestionAsked():
                    if (parked := await _ask(served, ctx, going, event)) is not None:
                        return parked
                case ToolCallFinished(result=result):
                    return result
                case SessionClosed(reason=reason):
                    raise CockpitError(reason, "start cockpit mcp-serve again")
    except asyncio.CancelledError:
        served.end_later(going)
        raise
    raise CockpitError("the call ended without a result")


async def _ask(served: Served, ctx: Request, going: Going, asked: Asking) -> InputRequiredResult | None:
    """Put a question to the client's person; None where it is answered already."""
    going.asked = asked
    if isinstance(asked, ApprovalRequested) and not is_shown_whole(asked):
        await served.nobody(asked, TOO_LONG)
        return None
    request = elicitation(asked)
    is_page = request.params.mode == "url"
    if not _can_ask(ctx, is_page):
        await served.nobody(asked)
        if isinstance(asked, QuestionAsked) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            served.end_later(going)
            raise _incapable(is_page)
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return InputRequiredResult(
            input_requests={key_of(asked): request}, request_state=served.parked.put(going)
        )
    params = request.params
    try:
        if params.mode == "url":
            id = params.elicitation_id or ""
            result = await ctx.session.elicit_url(params.message, params.url, id, ctx.request_id)
        else:
            result = await ctx.session.elicit_form(params.message, params.requested_schema, ctx.request_id)
    except MCPError:
        # The client said that it can, and could not.
        await served.nobody(asked)
        return None
    await _answered(served, going, result)
    return None


def key_of(asked: Asking | None) -> str:
    """Under which name a question stands among a request's: who asks it, where somebody is named."""
    source = asked.source if isinstance(asked, QuestionAsked) else ""
    return re.sub(r"\W+", "_", source).strip("_") or KEY


def _can_ask(ctx: Request, is_page: bool) -> bool:
    capabilities = ctx.session.client_capabilities
    can = capabilities.elicitation if capabilities is not None else None
    if can is None:
        return False
    # Until 2025-06-18 the capability had no parts: it meant forms.
    return can.url is not None if is_page else can.form is not None or can.url is None


def _incapable(is_page: bool) -> MCPError:
    """A tool's question is the call; an approval that nobody can give is a denied call, and says so."""
    kind = {"url": UrlElicitationCapability()} if is_page else {"form": FormElicitationCapability()}
    wanted = ClientCapabilities(elicitation=ElicitationCapability.model_validate(kind))
    found = MissingRequiredClientCapabilityErrorData(required_capabilities=wanted)
    data = found.model_dump(by_alias=True, mode="json", exclude_none=True)
    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool asks a person, by elicitation", data)


async def _answered(served: Served, going: Going, result: ElicitResult) -> None:
    asked, going.asked = going.asked, None
    if isinstance(asked, ApprovalRequested):
        note = "" if result.action == "accept" else "the person at the client said no"
        await served.decide(asked, allows(result), note)
    elif isinstance(asked, QuestionAsked):
        values = values_in(result)
        text = str(values.get("answer", "")) if not asked.fields else ""
        answer = Answer(f"{going.id}-{asked.id}", "mcp_serve", asked.id, text, result.action, values)
        await served.answer(asked, answer)


def result_of(result: ToolResult) -> CallToolResult:
    """A result as the protocol has it: the text the model would read, pictures, and how it came out."""
    content: list[TextContent | ImageContent] = [TextContent(text=result.text)]
    content += [
        ImageContent(data=block.base64, mime_type=block.media_type)
        for block in result.blocks
        if isinstance(block, Image)
    ]
    return CallToolResult(content=list(content), is_error=result.is_error, _meta={OUTCOME: result.outcome})
