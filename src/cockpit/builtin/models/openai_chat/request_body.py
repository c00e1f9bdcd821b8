"""Builds the JSON body of a chat completion from a `ModelRequest`.

Equal messages and tools give equal bytes in the same order, so that servers find their prompt caches.
Messages built for an earlier request of a conversation are reused, so that a long one costs no more.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cockpit.builtin.models.openai_chat.presets import Preset
from cockpit.plugin.models import ModelFacts, ModelRequest, ToolSchema
from cockpit.protocol.content import Block, Image, plain_text
from cockpit.protocol.messages import AssistantMessage, Json, Message, ToolCall, ToolMessage, UserMessage

Wire = dict[str, Json]
MAX_CONVERSATIONS = 8


@dataclass(frozen=True, slots=True)
class _SentConversation:
    style: Hashable
    messages: tuple[Message, ...]
    wire: tuple[Wire, ...]


_sent_conversations: deque[_SentConversation] = deque(maxlen=MAX_CONVERSATIONS)


def write_incrementally(
    messages: tuple[Message, ...], style: Hashable, write: Callable[[tuple[Message, ...]], list[Wire]]
) -> list[Wire]:
    """`write(messages)`, computed only for the messages since the last request.

    `write` must handle each assistant message with its results independently, and equally for an equal
    `style`. The returned objects are shared: copy one before changing it.
    """
    for sent in _sent_conversations:
        if sent.style == style and _continues(sent.messages, messages):
            _sent_conversations.remove(sent)
            wire = [*sent.wire, *write(messages[len(sent.messages) :])]
            break
    else:
        wire = write(messages)
    _sent_conversations.append(_SentConversation(style, messages, tuple(wire)))
    return wire


def _continues(before: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    """Whether `messages` extend `before`, without splitting a call from its results."""
    size = len(before)
    if size > len(messages) or messages[:size] != before:
        return False
    return size == len(messages) or not isinstance(messages[size], ToolMessage)


NO_RESULT = "the result of this call is missing; whether it ran is unknown"


def build_body(preset: Preset, request: ModelRequest, facts: ModelFacts) -> Wire:
    """The whole body except `model` and `stream`."""
    body: Wire = {"messages": [*_build_messages(preset, request, facts)]}
    if request.tools:
        body["tools"] = [_tool_json(tool) for tool in request.tools]
    body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[preset.limit] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.schema is not None:
        schema = {"name": "answer", "schema": _plain_json(request.schema), "strict": False}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def adapt_body(wire: Wire, error_text: str) -> Wire | None:
    """`wire` without the field that a server refused in `error_text` (of a 400), or None if it names none."""
    limits = ("max_tokens", "max_completion_tokens")
    for field in ("stream_options", "temperature"):
        if field in error_text and field in wire:
            return {key: value for key, value in wire.items() if key != field}
    if "reasoning_effort" in error_text and "none" in error_text and wire.get("reasoning_effort") != "none":
        # OpenAI since gpt-5.4: chat completions take tools only without reasoning.
        return {**wire, "reasoning_effort": "none"}
    for field, other in (limits, limits[::-1]):
        if "max_completion_tokens" in error_text and field in wire:
            return {**{key: value for key, value in wire.items() if key != field}, other: wire[field]}
    return None


def _tool_json(tool: ToolSchema) -> Json:
    function: Wire = {"name": tool.name, "description": replace_surrogates(tool.description)}
    function["parameters"] = _plain_json(tool.parameters)
    return {"type": "function", "function": function}


def _build_messages(preset: Preset, request: ModelRequest, facts: ModelFacts) -> list[Wire]:
    wire: list[Wire] = []
    if request.system:
        wire.append({"role": "system", "content": replace_surrogates(request.system)})
    thinks = _needs_thoughts(request.model, facts)

    def write(messages: tuple[Message, ...]) -> list[Wire]:
        return [_message_json(message, preset, thinks, facts.images) for message in _pair_results(messages)]

    wire += write_incrementally(request.messages, (preset.call_id, thinks, facts.images), write)
    if request.reminder:
        _append_reminder(wire, replace_surrogates(request.reminder), preset)
    return wire


def _message_json(message: Message, preset: Preset, thinks: bool, images: bool) -> Wire:
    match message:
        case UserMessage(content):
            return {"role": "user", "content": _content_json(content, images)}
        case AssistantMessage():
            return _assistant_json(message, preset, thinks)
        case ToolMessage(call, _, text):
            result = replace_surrogates(text)
            return {"role": "tool", "tool_call_id": _call_id(call, preset), "content": result}


def _needs_thoughts(model: str, facts: ModelFacts) -> bool:
    """Whether assistant messages must carry `reasoning_content`, even if empty. DeepSeek (since V3.2) and
    Kimi refuse a conversation with tool calls without it. Other providers get no thoughts."""
    name = model.lower()
    return ("deepseek" in name or "kimi" in name) and (facts.thinks or facts == ModelFacts())


def _pair_results(messages: Sequence[Message]) -> Iterable[Message]:
    """The messages with exactly one result after each call, in the order of the calls. Servers refuse the
    whole conversation otherwise. Empty assistant messages are left out."""
    for at, message in enumerate(messages):
        if isinstance(message, UserMessage):
            yield message
        elif isinstance(message, AssistantMessage) and (message.text or message.calls):
            yield message
            results: dict[str, ToolMessage] = {}
            for result in messages[at + 1 :]:
                if not isinstance(result, ToolMessage):
                    break
                results.setdefault(result.call, result)
            for call in message.calls:
                yield results.get(call.id, ToolMessage(call.id, call.name, NO_RESULT, True))


def _assistant_json(message: AssistantMessage, preset: Preset, thinks: bool) -> Wire:
    body: Wire = {"role": "assistant", "content": replace_surrogates(message.text) or None}
    if thinks:
        body["reasoning_content"] = replace_surrogates(message.thoughts)
    if message.calls:
        body["tool_calls"] = [_call_json(call, preset) for call in message.calls]
    return body


def _call_json(call: ToolCall, preset: Preset) -> Json:
    arguments = json.dumps(_plain_json(call.arguments), ensure_ascii=False, separators=(",", ":"))
    function: Wire = {"name": replace_surrogates(call.name), "arguments": replace_surrogates(arguments)}
    return {"id": _call_id(call.id, preset), "type": "function", "function": function}


def _call_id(call_id: str, preset: Preset) -> str:
    """Hash an id that is not in the form Mistral requires: exactly nine letters and digits."""
    if not preset.call_id or (len(call_id) == preset.call_id and call_id.isalnum()):
        return replace_surrogates(call_id)
    return hashlib.sha256(replace_surrogates(call_id).encode()).hexdigest()[: preset.call_id]


def _content_json(blocks: tuple[Block, ...], takes_images: bool) -> Json:
    if not takes_images or not any(isinstance(block, Image) for block in blocks):
        return replace_surrogates(plain_text(blocks))
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, Image):
            url = f"data:{block.media_type};base64,{block.base64}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            parts.append({"type": "text", "text": replace_surrogates(plain_text((block,)))})
    return parts


def _append_reminder(wire: list[Wire], reminder: str, preset: Preset) -> None:
    """Append `reminder` at the very end, so that nothing before it changes and prompt caches still match."""
    last = wire[-1] if wire else {}
    joins = last.get("role") == "user" or (last.get("role") == "tool" and preset.fold_reminder)
    if not joins:
        wire.append({"role": "user", "content": reminder})
    elif isinstance(content := last.get("content"), list):
        wire[-1] = {**last, "content": [*content, {"type": "text", "text": reminder}]}
    else:
        wire[-1] = {**last, "content": f"{content}\n\n{reminder}"}


def replace_surrogates(text: str) -> str:
    """Replace the lone surrogates of undecodable file names, which UTF-8 cannot encode."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def _plain_json(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(inner) for inner in value]
    if isinstance(value, str):
        return replace_surrogates(value)
    return value if isinstance(value, bool | int | float) else None
