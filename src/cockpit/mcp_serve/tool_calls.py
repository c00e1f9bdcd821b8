"""`tools/call`: a client's call from request to result, with progress, questions, logging and cancellation.

Questions are sent to the client as forms. A client's user can only allow the current call or reject it; no
decision is remembered.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, assert_never

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    FormElicitationCapability,
    ImageContent,
    InputRequiredResult,
    InputResponseRequestParams,
    LoggingLevel,
    MissingRequiredClientCapabilityErrorData,
    TextContent,
    UrlElicitationCapability,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.session import ActiveCall, ClientQuestion, SharedSession
from cockpit.protocol.content import Diff, Image, plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    FormField,
    QuestionAsked,
    SessionClosed,
    ToolCallFinished,
    ToolCallProgressed,
    Warned,
)
from cockpit.protocol.messages import Json, ToolResult
from cockpit.protocol.ops import Answer
from cockpit.protocol.rows import ApprovalPart
from cockpit.protocol.safe_text import clean

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
MAX_CLIENTS = 1_000


class ClientLogLevels:
    """The lowest log level that each client wants; all levels by default."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, int] = OrderedDict()

    def set(self, ctx: RequestContext, level: LoggingLevel) -> None:
        self._levels[_client_key(ctx)] = LEVELS.index(level)
        if len(self._levels) > MAX_CLIENTS:
            self._levels.popitem(last=False)

    async def tell(self, ctx: RequestContext, event: Warned) -> None:
        """Send a warning as part of this request."""
        if self._levels.get(_client_key(ctx), 0) > LEVELS.index("warning"):
            return
        text = f"{event.text} ({event.hint})" if event.hint else event.text
        await ctx.session.send_log_message("warning", text, event.source or "cockpit", ctx.request_id)


def _client_key(ctx: RequestContext) -> str:
    """Identifies a client by its HTTP session, or the single one at the pipe."""
    headers = getattr(ctx.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""


DECISION, ALLOW, REJECT, ANSWER = "decision", "allow this once", "reject", "answer"
# A longer text is not readable in a form; the audit log and the transcript contain all of it.
MAX_FORM_TEXT = 8_000


def make_elicitation(question: ApprovalRequested | QuestionAsked) -> ElicitRequest:
    """The request that asks the user `question`."""
    if isinstance(question, ApprovalRequested):
        choice: dict[str, Json] = {
            "type": "string",
            "title": "Decision",
            "enum": [ALLOW, REJECT],
            "default": REJECT,
        }
        return _make_form("\n".join(_approval_lines(question)), {DECISION: choice}, [DECISION])
    if question.url:
        params = ElicitRequestURLParams(
            message=_shorten(question.question), url=question.url, elicitation_id=question.id
        )
        return ElicitRequest(params=params)
    if question.fields:
        expected = [field.name for field in question.fields if field.required]
        return _make_form(
            question.question, {field.name: field_schema(field) for field in question.fields}, expected
        )
    answer: dict[str, Json] = {"type": "string", "title": "Answer"}
    if question.options:
        answer["enum"] = list(question.options)
    return _make_form(question.question, {ANSWER: answer}, [ANSWER])


def fits_in_form(question: ApprovalRequested) -> bool:
    """Whether the form shows everything that would happen, as the user must not approve what is not shown."""
    return len("\n".join(_approval_lines(question))) <= MAX_FORM_TEXT


def is_allowed(result: ElicitResult) -> bool:
    """Whether the user accepted the form and chose to allow."""
    content = result.content or {}
    return result.action == "accept" and content.get(DECISION) == ALLOW


def read_values(result: ElicitResult) -> Mapping[str, Json]:
    """The values entered into a form."""
    values: dict[str, Json] = {}
    for name, value in (result.content or {}).items():
        values[name] = list(value) if isinstance(value, list) else value
    return values if result.action == "accept" else {}


def field_schema(field: FormField) -> dict[str, Json]:
    """A field in the restricted JSON Schema of the protocol."""
    out: dict[str, Json] = {"title": clean(field.label or field.name)}
    if field.note:
        out["description"] = clean(field.note)
    match field.kind:
        case "text":
            out["type"] = "string"
        case "number":
            out["type"] = "number"
        case "integer":
            out["type"] = "integer"
        case "yes_no":
            out["type"] = "boolean"
        case "choice":
            out |= {"type": "string", **_option_schema(field, "oneOf")}
        case "choices":
            options = _option_schema(field, "anyOf")
            items: dict[str, Json] = {"type": "string", **options} if "enum" in options else options
            out |= {"type": "array", "items": items}
        case _:
            assert_never(field.kind)
    if field.default is not None:
        out["default"] = field.default
    return out


def _option_schema(field: FormField, labelled: str) -> dict[str, Json]:
    if not field.labels or field.labels == field.options:
        return {"enum": list(field.options)}
    pairs = zip(field.options, field.labels, strict=False)
    return {labelled: [{"const": option, "title": clean(label)} for option, label in pairs]}


def _make_form(text: str, properties: Mapping[str, Mapping[str, Json]], required: list[str]) -> ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": required}
    return ElicitRequest(params=ElicitRequestFormParams(message=_shorten(text), requested_schema=schema))


def _shorten(text: str) -> str:
    text = clean(text)
    return (
        text
        if len(text) <= MAX_FORM_TEXT
        else f"{text[:MAX_FORM_TEXT]}\n[cut: {len(text) - MAX_FORM_TEXT} more characters]"
    )


def _approval_lines(question: ApprovalRequested) -> Iterator[str]:
    yield f"{question.title}: {question.reason} (risk {question.risk})"
    if question.destination:
        yield f"goes to {question.destination}"
    if question.held:
        yield question.held
    if question.alternative:
        yield f"instead: {question.alternative}"
    for part in question.parts:
        yield from _part_lines(part)
    if question.note:
        yield question.note


def _part_lines(part: ApprovalPart) -> Iterator[str]:
    yield f"- {part.title}{f' ({part.detail})' if part.detail else ''}"
    if part.reason:
        yield f"  {part.level}: {part.reason}"
    if isinstance(part.diff, Diff):
        yield plain_text((part.diff,))


DEFAULT_KEY = "person"
OUTCOME_KEY = "cockpit/outcome"
TOO_LONG_TEXT = "the change is too long to be shown in a form; make it smaller, or make it in cockpit itself"


async def call_tool(
    served: SharedSession,
    exposed: ExposedTools,
    levels: ClientLogLevels,
    ctx: RequestContext,
    params: CallToolRequestParams,
) -> CallToolResult | InputRequiredResult:
    """Answer `tools/call`. Raises `MCPError` for an unknown tool."""
    arguments: Mapping[str, Json] = params.arguments or {}
    row = next((item for item in await served.tools() if item.name == params.name), None)
    if row is None or not exposed.takes(row):
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        call = await _find_or_start_call(served, params, params.name, arguments)
        finished = await follow_call(served, levels, ctx, call)
    except CockpitError as error:
        return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
    return finished if isinstance(finished, InputRequiredResult) else convert_result(finished)


async def _find_or_start_call(
    served: SharedSession, params: InputResponseRequestParams, name: str, arguments: Mapping[str, Json]
) -> ActiveCall:
    """A new call, or the parked call that this request answers."""
    if params.request_state is None:
        return await served.begin(name, arguments)
    call = served.parked.take(params.request_state, name, arguments)
    if call is None:
        raise MCPError(
            INVALID_PARAMS, "requestState is unknown, was already used, or belongs to another call"
        )
    response = (params.input_responses or {}).get(question_key(call.question))
    if isinstance(response, ElicitResult):
        await _apply_answer(served, call, response)
        return call
    # The answer is missing, so the question is asked again.
    if call.question is not None:
        call.queue.put_nowait(call.question)
    return call


async def follow_call(
    served: SharedSession, levels: ClientLogLevels, ctx: RequestContext, call: ActiveCall
) -> ToolResult | InputRequiredResult:
    """Follow a call until its result, or until its client must ask the user."""
    try:
        async for event in call.events():
            match event:
                case ToolCallProgressed(text=text):
                    call.progress_count += 1
                    await ctx.session.report_progress(call.progress_count, None, text)
                case Warned():
                    await levels.tell(ctx, event)
                case ApprovalRequested() | QuestionAsked():
                    if (parked := await _ask_client(served, ctx, call, event)) is not None:
                        return parked
                case ToolCallFinished(result=result):
                    return result
                case SessionClosed(reason=reason):
                    raise CockpitError(reason, "start cockpit mcp-serve again")
    except asyncio.CancelledError:
        served.end_later(call)
        raise
    raise CockpitError("the call ended without a result")


async def _ask_client(
    served: SharedSession, ctx: RequestContext, call: ActiveCall, question: ClientQuestion
) -> InputRequiredResult | None:
    """Ask the client's user. Returns None if the question is already answered."""
    call.question = question
    if isinstance(question, ApprovalRequested) and not fits_in_form(question):
        await served.decline(question, TOO_LONG_TEXT)
        return None
    request = make_elicitation(question)
    is_page = request.params.mode == "url"
    if not _can_elicit(ctx, is_page):
        await served.decline(question)
        if isinstance(question, QuestionAsked) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            served.end_later(call)
            raise _missing_capability(is_page)
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return InputRequiredResult(
            input_requests={question_key(question): request}, request_state=served.parked.put(call)
        )
    params = request.params
    try:
        if params.mode == "url":
            id = params.elicitation_id or ""
            result = await ctx.session.elicit_url(params.message, params.url, id, ctx.request_id)
        else:
            result = await ctx.session.elicit_form(params.message, params.requested_schema, ctx.request_id)
    except MCPError:
        # The client claimed to support it, but does not.
        await served.decline(question)
        return None
    await _apply_answer(served, call, result)
    return None


def question_key(question: ClientQuestion | None) -> str:
    """The key of a question in a request: who asks it, if known."""
    source = question.source if isinstance(question, QuestionAsked) else ""
    return re.sub(r"\W+", "_", source).strip("_") or DEFAULT_KEY


def _can_elicit(ctx: RequestContext, is_page: bool) -> bool:
    capabilities = ctx.session.client_capabilities
    can = capabilities.elicitation if capabilities is not None else None
    if can is None:
        return False
    # Until 2025-06-18 the capability had no parts and meant forms.
    return can.url is not None if is_page else can.form is not None or can.url is None


def _missing_capability(is_page: bool) -> MCPError:
    """The error for a tool that asks questions. A missing approval needs none, as it is a denied call."""
    kind = {"url": UrlElicitationCapability()} if is_page else {"form": FormElicitationCapability()}
    expected = ClientCapabilities(elicitation=ElicitationCapability.model_validate(kind))
    result = MissingRequiredClientCapabilityErrorData(required_capabilities=expected)
    data = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        "this tool asks the user by elicitation, which the client does not support",
        data,
    )


async def _apply_answer(served: SharedSession, call: ActiveCall, result: ElicitResult) -> None:
    question, call.question = call.question, None
    if isinstance(question, ApprovalRequested):
        note = "" if result.action == "accept" else "the user at the client rejected it"
        await served.decide(question, is_allowed(result), note)
    elif isinstance(question, QuestionAsked):
        values = read_values(result)
        text = str(values.get("answer", "")) if not question.fields else ""
        answer = Answer(f"{call.id}-{question.id}", "mcp_serve", question.id, text, result.action, values)
        await served.answer(question, answer)


def convert_result(result: ToolResult) -> CallToolResult:
    """A result in the form of the protocol: the text for the model, images, and the outcome."""
    content: list[TextContent | ImageContent] = [TextContent(text=result.text)]
    content += [
        ImageContent(data=block.base64, mime_type=block.media_type)
        for block in result.blocks
        if isinstance(block, Image)
    ]
    return CallToolResult(
        content=list(content), is_error=result.is_error, _meta={OUTCOME_KEY: result.outcome}
    )
