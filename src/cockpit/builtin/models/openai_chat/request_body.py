"""The messages of conversations as the wire has them, kept from one request to the next.

A request is the one before and a few messages more. What was written for those stays, so that the
hundredth turn costs what the first one did. Knows not how a message is written.

A request as the wire has it: `ModelRequest` in, the JSON object of a chat completion out. Pure.

The same messages and tools give the same bytes in the same order, so that servers find their caches.
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
    manner: Hashable
    messages: tuple[Message, ...]
    wire: tuple[Wire, ...]


_sent_conversations: deque[_SentConversation] = deque(maxlen=MAX_CONVERSATIONS)


def write_incrementally(
    messages: tuple[Message, ...], manner: Hashable, write: Callable[[tuple[Message, ...]], list[Wire]]
) -> list[Wire]:
    """`write(messages)`, where only what is new since the last time is written.

    `write` must treat each answer with the results behind it alone, and equally for equal `manner`.
    The objects in the list are shared: who wants one different copies it.
    """
    before = next(
        (one for one in _sent_conversations if one.manner == manner and _continues(one.messages, messages)),
        None,
    )
    if before is None:
        wire = write(messages)
    else:
        _sent_conversations.remove(before)
        wire = [*before.wire, *write(messages[len(before.messages) :])]
    _sent_conversations.append(_SentConversation(manner, messages, tuple(wire)))
    return wire


def _continues(before: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    """Whether `messages` are those before and more, parted where no result stands."""
    size = len(before)
    if size > len(messages) or messages[:size] != before:
        return False
    return size == len(messages) or not isinstance(messages[size], ToolMessage)


NO_RESULT = "no result of this call was kept; whether it ran is unknown"


def build_body(preset: Preset, request: ModelRequest, facts: ModelFacts) -> Wire:
    """The whole request but for `model` and `stream`."""
    made: Wire = {"messages": [*_build_messages(preset, request, facts)]}
    if request.tools:
        made["tools"] = [_tool_json(tool) for tool in request.tools]
    made["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        made[preset.limit] = request.max_tokens
    if request.temperature is not None:
        made["temperature"] = request.temperature
    if request.schema is not None:
        schema = {"name": "answer", "schema": _plain_json(request.schema), "strict": False}
        made["response_format"] = {"type": "json_schema", "json_schema": schema}
    return made


def adapt_body(wire: Wire, words: str) -> Wire | None:
    """`wire` without what a server said (in a 400) that it does not take, or None when the words name
    nothing that could be left out."""
    if "stream_options" in words and "stream_options" in wire:
        return _without_field(wire, "stream_options")
    if "reasoning_effort" in words and "none" in words and wire.get("reasoning_effort") != "none":
        # OpenAI from gpt-5.4 on: tools in chat completions only without reasoning.
        return {**wire, "reasoning_effort": "none"}
    if "max_completion_tokens" in words and "max_tokens" in wire:
        return {**_without_field(wire, "max_tokens"), "max_completion_tokens": wire["max_tokens"]}
    if "max_completion_tokens" in words and "max_completion_tokens" in wire:
        return {**_without_field(wire, "max_completion_tokens"), "max_tokens": wire["max_completion_tokens"]}
    if "temperature" in words and "temperature" in wire:
        return _without_field(wire, "temperature")
    return None


def _without_field(wire: Wire, name: str) -> Wire:
    return {key: value for key, value in wire.items() if key != name}


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
        return [_message_json(one, preset, thinks, facts.images) for one in _pair_results(messages)]

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
            return {
                "role": "tool",
                "tool_call_id": _call_id(call, preset),
                "content": replace_surrogates(text),
            }


def _needs_thoughts(model: str, facts: ModelFacts) -> bool:
    """DeepSeek (V3.2 on) and Kimi refuse a conversation with tool calls whose assistant messages lack
    their reasoning_content; elsewhere thoughts are not sent. Sent empty, both take it."""
    name = model.lower()
    return ("deepseek" in name or "kimi" in name) and (facts.thinks or facts == ModelFacts())


def _pair_results(messages: Sequence[Message]) -> Iterable[Message]:
    """The messages with exactly one result after each call, in the calls' order, and no other
    results: servers refuse the whole conversation otherwise. Empty answers are left out."""
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if isinstance(message, ToolMessage):
            continue
        if isinstance(message, AssistantMessage) and not message.text and not message.calls:
            continue
        yield message
        if not isinstance(message, AssistantMessage) or not message.calls:
            continue
        results: dict[str, ToolMessage] = {}
        while at < len(messages) and isinstance(one := messages[at], ToolMessage):
            results.setdefault(one.call, one)
            at += 1
        for call in message.calls:
            yield results.get(call.id, ToolMessage(call.id, call.name, NO_RESULT, True))


def _assistant_json(message: AssistantMessage, preset: Preset, thinks: bool) -> Wire:
    made: Wire = {"role": "assistant", "content": replace_surrogates(message.text) or None}
    if thinks:
        made["reasoning_content"] = replace_surrogates(message.thoughts)
    if message.calls:
        made["tool_calls"] = [_call_json(call, preset) for call in message.calls]
    return made


def _call_json(call: ToolCall, preset: Preset) -> Json:
    arguments = json.dumps(_plain_json(call.arguments), ensure_ascii=False, separators=(",", ":"))
    function: Wire = {"name": replace_surrogates(call.name), "arguments": replace_surrogates(arguments)}
    return {"id": _call_id(call.id, preset), "type": "function", "function": function}


def _call_id(call_id: str, preset: Preset) -> str:
    """Mistral takes ids of nine letters and digits only: another provider's become a hash."""
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
    """Put `reminder` at the very end: nothing before it changes, so caches keep their hits."""
    last = wire[-1] if wire else {}
    joins = last.get("role") == "user" or (last.get("role") == "tool" and preset.fold_reminder)
    if not joins:
        wire.append({"role": "user", "content": reminder})
    elif isinstance(content := last.get("content"), list):
        wire[-1] = {**last, "content": [*content, {"type": "text", "text": reminder}]}
    else:
        wire[-1] = {**last, "content": f"{content}\n\n{reminder}"}


def replace_surrogates(text: str) -> str:
    """`text` that UTF-8 can carry: a file name of undecodable bytes holds lone surrogates."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def _plain_json(value: object) -> Json:
    """Mappings and tuples as the dicts and lists that `json` writes, in their order."""
    if isinstance(value, Mapping):
        return {str(key): _plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(one) for one in value]
    if isinstance(value, str):
        return replace_surrogates(value)
    return value if isinstance(value, bool | int | float) else None
