"""Handles a server's requests in a session: forms go to the user, sampling to a model if the user agrees."""

from cockpit.errors import CockpitError
from cockpit.mcp.values import SamplingReply, SamplingRequest
from cockpit.plugin.context import Context, FormAnswer, UserUnavailable
from cockpit.plugin.models import ModelRequest
from cockpit.protocol.content import Image, Text
from cockpit.protocol.events import FormField, Noticed
from cockpit.protocol.messages import AssistantMessage, Message, UserMessage
from cockpit.protocol.safe_text import clean

MAX_TOKENS = 8_192
MAX_SHOWN = 1_500
ONCE, SESSION, NO = "this once", "for this session", "no"


class SessionRequestHandler:
    """Handles requests for a session. `allowed_sessions` are the sessions whose user allows the server to
    ask models."""

    def __init__(self, server: str, context: Context, allowed_sessions: set[str]) -> None:
        self._source = f"MCP server {server}"
        self._context = context
        self._allowed_sessions = allowed_sessions

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        """Show a form, declined without a user. A page is opened after the user agrees."""
        try:
            answer = await self._context.session.ask_form(question, fields, source=self._source, url=url)
        except UserUnavailable:
            return FormAnswer("decline")
        if url and answer.action == "accept":
            from cockpit.mcp.oauth.login_prompt import open_page

            await open_page(url)
        return answer

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Ask the user each time, until they allow it for the session."""
        if not await self._is_allowed(request):
            return SamplingReply(refused="the user did not allow it")
        try:
            answer = await self._context.models.complete(request.tier, _model_request(request))
        except CockpitError as error:
            return SamplingReply(refused=f"the model did not answer: {error.message}")
        self._show(request, answer.text, answer.model)
        return SamplingReply(answer.text, answer.model)

    def _show(self, request: SamplingRequest, answer: str, model: str) -> None:
        """Show the request and the answer in the Trace, even if the user allowed all requests."""
        text = f"{self._source} asked {model}:\n\n{_shorten(_format_request(request))}"
        text += f"\n\nAnswer sent to the server:\n\n{_shorten(clean(answer))}"
        notice = Noticed("mcp", "show", (Text(text),), {"source": self._source, "model": model})
        self._context.session.emit(notice)

    async def _is_allowed(self, request: SamplingRequest) -> bool:
        session = self._context.session
        if session.id in self._allowed_sessions:
            return True
        # Everything that the model would get, and the maximum cost.
        limit, shown = min(request.max_tokens, MAX_TOKENS), _shorten(_format_request(request))
        question = f"It wants to ask a model at your expense (at most {limit} tokens of answer):\n\n{shown}"
        field = FormField("allow", "Let it?", "choice", True, (ONCE, SESSION, NO), (), ONCE)
        try:
            answer = await session.ask_form(question, (field,), source=self._source)
        except UserUnavailable:
            return False
        choice = answer.values.get("allow") if answer.action == "accept" else NO
        if choice == SESSION:
            self._allowed_sessions.add(session.id)
        return choice in (ONCE, SESSION)


def _format_request(request: SamplingRequest) -> str:
    parts = [f"[{message.role}] {message.text}" for message in request.messages]
    if request.system:
        parts.insert(0, f"[system] {request.system}")
    return clean("\n\n".join(parts))


def _shorten(text: str) -> str:
    rest = len(text) - MAX_SHOWN
    return f"{text[:MAX_SHOWN]}\n... and {rest} more characters" if rest > 0 else text


def _model_request(request: SamplingRequest) -> ModelRequest:
    messages: list[Message] = []
    for message in request.messages:
        if message.role == "user":
            images = (block for block in message.blocks if isinstance(block, Image))
            messages.append(UserMessage((Text(message.text), *images)))
        else:
            messages.append(AssistantMessage(message.text))
    limit = max(1, min(request.max_tokens, MAX_TOKENS))
    return ModelRequest("", request.system, tuple(messages), max_tokens=limit)
