"""`tools/call`: a client's call from request to result, with progress, questions, logging and cancellation.

Questions are sent to the client as forms. A client's user can only allow the current call or reject it; no
decision is remembered.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, assert_never, get_args

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.session import ORIGIN, ActiveCall, ClientQuestion, SharedSession
from cockpit.protocol import events
from cockpit.protocol.content import Diff, Image, plain_text
from cockpit.protocol.messages import Json, ToolResult
from cockpit.protocol.ops import Answer
from cockpit.protocol.safe_text import clean

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""From `debug` to `emergency`, the least severe first."""
MAX_CLIENTS = 1_000


class ClientLogLevels:
    """The lowest log level that each client wants; all levels by default."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, int] = OrderedDict()

    def set(self, ctx: RequestContext, level: types.LoggingLevel) -> None:
        self._levels[_client_key(ctx)] = LEVELS.index(level)
        if len(self._levels) > MAX_CLIENTS:
            self._levels.popitem(last=False)

    async def send_warning(self, ctx: RequestContext, event: events.Warned) -> None:
        """Send a warning as part of this request."""
        if self._levels.get(_client_key(ctx), 0) > LEVELS.index("warning"):
            return
        text = f"{event.text} ({event.hint})" if event.hint else event.text
        await ctx.session.send_log_message("warning", text, event.source or "cockpit", ctx.request_id)


def _client_key(ctx: RequestContext) -> str:
    """The client's HTTP session id; empty for the single client on stdin."""
    headers = getattr(ctx.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""


DECISION, ALLOW, REJECT, ANSWER = "decision", "allow this once", "reject", "answer"
# Longer texts are cut in a form; the audit log and the transcript contain all of it.
MAX_FORM_TEXT = 8_000


def _make_elicitation(question: ClientQuestion) -> types.ElicitRequest:
    """The request that asks the user `question`."""
    if isinstance(question, events.ApprovalRequested):
        choice = {"type": "string", "title": "Decision", "enum": [ALLOW, REJECT], "default": REJECT}
        return _make_form(_approval_text(question), {DECISION: choice}, [DECISION])
    text = question.question
    if question.url:
        message = _shorten(text)
        params = types.ElicitRequestURLParams(message=message, url=question.url, elicitation_id=question.id)
        return types.ElicitRequest(params=params)
    if question.fields:
        required = [field.name for field in question.fields if field.required]
        return _make_form(text, {field.name: _field_schema(field) for field in question.fields}, required)
    answer: dict[str, object] = {"type": "string", "title": "Answer"}
    if question.options:
        answer["enum"] = list(question.options)
    return _make_form(text, {ANSWER: answer}, [ANSWER])


def _field_schema(field: events.FormField) -> dict[str, Json]:
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


def _option_schema(field: events.FormField, labelled: str) -> dict[str, Json]:
    if not field.labels or field.labels == field.options:
        return {"enum": list(field.options)}
    pairs = zip(field.options, field.labels, strict=False)
    return {labelled: [{"const": option, "title": clean(label)} for option, label in pairs]}


def _make_form(
    text: str, properties: Mapping[str, Mapping[str, object]], required: list[str]
) -> types.ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": required}
    params = types.ElicitRequestFormParams(message=_shorten(text), requested_schema=schema)
    return types.ElicitRequest(params=params)


def _shorten(text: str) -> str:
    text, excess = clean(text), len(clean(text)) - MAX_FORM_TEXT
    return f"{text[:MAX_FORM_TEXT]}\n[cut: {excess} more characters]" if excess > 0 else text


def _approval_text(question: events.ApprovalRequested) -> str:
    return "\n".join(_approval_lines(question))


def _approval_lines(question: events.ApprovalRequested) -> Iterator[str]:
    yield f"{question.title}: {question.reason} (risk {question.risk})"
    if question.destination:
        yield f"goes to {question.destination}"
    if question.held:
        yield question.held
    if question.alternative:
        yield f"instead: {question.alternative}"
    for part in question.parts:
        yield f"- {part.title}{f' ({part.detail})' if part.detail else ''}"
        if part.reason:
            yield f"  {part.level}: {part.reason}"
        if isinstance(part.diff, Diff):
            yield plain_text((part.diff,))
    if question.note:
        yield question.note


DEFAULT_KEY = "person"
OUTCOME_KEY = "cockpit/outcome"
TOO_LONG_TEXT = "the change is too long to be shown in a form; make it smaller, or make it in cockpit itself"


async def call_tool(
    served: SharedSession,
    exposed: ExposedTools,
    levels: ClientLogLevels,
    ctx: RequestContext,
    params: types.CallToolRequestParams,
) -> types.CallToolResult | types.InputRequiredResult:
    """Answer `tools/call`. Raises `MCPError` for an unknown tool."""
    arguments: Mapping[str, Json] = params.arguments or {}
    row = next((item for item in await served.tools() if item.name == params.name), None)
    if row is None or not exposed.includes(row):
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        call = await _find_or_start_call(served, params, arguments)
        finished = await _follow_call(served, levels, ctx, call)
    except CockpitError as error:
        return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
    return finished if isinstance(finished, types.InputRequiredResult) else _convert_result(finished)


async def _find_or_start_call(
    served: SharedSession, params: types.CallToolRequestParams, arguments: Mapping[str, Json]
) -> ActiveCall:
    """A new call, or the parked call that this request answers."""
    if params.request_state is None:
        return await served.begin(params.name, arguments)
    call = served.parked.take(params.request_state, params.name, arguments)
    if call is None:
        reason = "requestState is unknown, was already used, or belongs to another call"
        raise MCPError(types.INVALID_PARAMS, reason)
    response = (params.input_responses or {}).get(_question_key(call.question))
    if isinstance(response, types.ElicitResult):
        await _apply_answer(served, call, response)
        return call
    # The answer is missing, so the question is asked again.
    if call.question is not None:
        call.queue.put_nowait(call.question)
    return call


async def _follow_call(
    served: SharedSession, levels: ClientLogLevels, ctx: RequestContext, call: ActiveCall
) -> ToolResult | types.InputRequiredResult:
    """Follow a call until its result, or until its client must ask the user."""
    try:
        async for event in call.events():
            match event:
                case events.ToolCallProgressed(text=text):
                    call.progress_count += 1
                    await ctx.session.report_progress(call.progress_count, None, text)
                case events.Warned():
                    await levels.send_warning(ctx, event)
                case events.ApprovalRequested() | events.QuestionAsked():
                    if (parked := await _ask_client(served, ctx, call, event)) is not None:
                        return parked
                case events.ToolCallFinished(result=result):
                    return result
                case events.SessionClosed(reason=reason):
                    raise CockpitError(reason, "start cockpit mcp-serve again")
    except asyncio.CancelledError:
        served.end_later(call)
        raise
    raise CockpitError("the call ended without a result")


async def _ask_client(
    served: SharedSession, ctx: RequestContext, call: ActiveCall, question: ClientQuestion
) -> types.InputRequiredResult | None:
    """Ask the client's user. Returns None if the question is already answered."""
    call.question = question
    if isinstance(question, events.ApprovalRequested) and len(_approval_text(question)) > MAX_FORM_TEXT:
        # The user must not approve what the form does not show.
        await served.decline(question, TOO_LONG_TEXT)
        return None
    request = _make_elicitation(question)
    params = request.params
    is_page = params.mode == "url"
    if not _can_elicit(ctx, is_page):
        await served.decline(question)
        if isinstance(question, events.QuestionAsked) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            served.end_later(call)
            raise _missing_capability(is_page)
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        key, token = _question_key(question), served.parked.put(call)
        return types.InputRequiredResult(input_requests={key: request}, request_state=token)
    try:
        if params.mode == "url":
            id = params.elicitation_id or ""
            result = await ctx.session.elicit_url(params.message, params.url, id, ctx.request_id)
        else:
            result = await ctx.session.elicit_form(params.message, params.requested_schema, ctx.request_id)
    except MCPError:
        # The client declared the capability, but does not support it.
        await served.decline(question)
        return None
    await _apply_answer(served, call, result)
    return None


def _question_key(question: ClientQuestion | None) -> str:
    """The key of a question in a request: the name of who asks it, if known."""
    source = question.source if isinstance(question, events.QuestionAsked) else ""
    return re.sub(r"\W+", "_", source).strip("_") or DEFAULT_KEY


def _can_elicit(ctx: RequestContext, is_page: bool) -> bool:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None:
        return False
    # Until 2025-06-18 the capability had no parts and meant forms.
    return elicitation.url is not None if is_page else elicitation.form is not None or elicitation.url is None


def _missing_capability(is_page: bool) -> MCPError:
    """The error for a tool that asks a question. (An approval that cannot be asked is a denied call.)"""
    elicitation = (
        types.ElicitationCapability(url=types.UrlElicitationCapability())
        if is_page
        else types.ElicitationCapability(form=types.FormElicitationCapability())
    )
    data = types.MissingRequiredClientCapabilityErrorData(
        required_capabilities=types.ClientCapabilities(elicitation=elicitation)
    )
    return MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "this tool asks the user by elicitation, which the client does not support",
        data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


async def _apply_answer(served: SharedSession, call: ActiveCall, result: types.ElicitResult) -> None:
    question, call.question = call.question, None
    accepted = result.action == "accept"
    values: dict[str, Json] = {}
    for name, value in (result.content or {}).items() if accepted else ():
        values[name] = list(value) if isinstance(value, list) else value
    if isinstance(question, events.ApprovalRequested):
        note = "" if accepted else "the user at the client rejected it"
        await served.decide(question, values.get(DECISION) == ALLOW, note)
    elif isinstance(question, events.QuestionAsked):
        text = "" if question.fields else str(values.get(ANSWER, ""))
        await served.submit(
            Answer(f"{call.id}-{question.id}", ORIGIN, question.id, text, result.action, values)
        )


def _convert_result(result: ToolResult) -> types.CallToolResult:
    """The text for the model, images, and the outcome."""
    images = [block for block in result.blocks if isinstance(block, Image)]
    return types.CallToolResult(
        content=[
            types.TextContent(text=result.text),
            *(types.ImageContent(data=image.base64, mime_type=image.media_type) for image in images),
        ],
        is_error=result.is_error,
        _meta={OUTCOME_KEY: result.outcome},
    )
