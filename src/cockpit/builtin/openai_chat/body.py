"""A request as the wire has it: `ModelRequest` in, the JSON object of a chat completion out. Pure.

The same messages and tools give the same bytes in the same order, so that servers find their caches.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from cockpit.builtin.openai_chat.presets import Preset
from cockpit.builtin.openai_chat.written import Wire, written
from cockpit.plugin.models import ModelFacts, ModelRequest, ToolSchema
from cockpit.protocol.content import Block, Image, plain
from cockpit.protocol.messages import AssistantMessage, Json, Message, ToolCall, ToolMessage, UserMessage

NO_RESULT = "no result of this call was kept; whether it ran is unknown"


def body(preset: Preset, request: ModelRequest, facts: ModelFacts) -> Wire:
    """The whole request but for `model` and `stream`."""
    made: Wire = {"messages": [*_messages(preset, request, facts)]}
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    made["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        made[preset.limit] = request.max_tokens
    if request.temperature is not None:
        made["temperature"] = request.temperature
    if request.schema is not None:
        schema = {"name": "answer", "schema": _plain_json(request.schema), "strict": False}
        made["response_format"] = {"type": "json_schema", "json_schema": schema}
    return made


def adapted(wire: Wire, words: str) -> Wire | None:
    """`wire` without what a server said (in a 400) that it does not take, or None when the words name
    nothing that could be left out."""
    if "stream_options" in words and "stream_options" in wire:
        return _without(wire, "stream_options")
    if "reasoning_effort" in words and "none" in words and wire.get("reasoning_effort") != "none":
        # OpenAI from gpt-5.4 on: tools in chat completions only without reasoning.
        return {**wire, "reasoning_effort": "none"}
    if "max_completion_tokens" in words and "max_tokens" in wire:
        return {**_without(wire, "max_tokens"), "max_completion_tokens": wire["max_tokens"]}
    if "max_completion_tokens" in words and "max_completion_tokens" in wire:
        return {**_without(wire, "max_completion_tokens"), "max_tokens": wire["max_completion_tokens"]}
    if "temperature" in words and "temperature" in wire:
        return _without(wire, "temperature")
    return None


def _without(wire: Wire, name: str) -> Wire:
    return {key: value for key, value in wire.items() if key != name}


def _tool(tool: ToolSchema) -> Json:
    function: Wire = {"name": tool.name, "description": clean(tool.description)}
    function["parameters"] = _plain_json(tool.parameters)
    return {"type": "function", "function": function}


def _messages(preset: Preset, request: ModelRequest, facts: ModelFacts) -> list[Wire]:
    wire: list[Wire] = []
    if request.system:
        wire.append({"role": "system", "content": clean(request.system)})
    thinks = _returns_thoughts(request.model, facts)

    def write(messages: tuple[Message, ...]) -> list[Wire]:
        return [_message(one, preset, thinks, facts.images) for one in _paired(messages)]

    wire += written(request.messages, (preset.call_id, thinks, facts.images), write)
    if request.reminder:
        _remind(wire, clean(request.reminder), preset)
    return wire


def _message(message: Message, preset: Preset, thinks: bool, images: bool) -> Wire:
    match message:
        case UserMessage(content):
            return {"role": "user", "content": _content(content, images)}
        case AssistantMessage():
            return _assistant(message, preset, thinks)
        case ToolMessage(call, _, text):
            return {"role": "tool", "tool_call_id": _call_id(call, preset), "content": clean(text)}


def _returns_thoughts(model: str, facts: ModelFacts) -> bool:
    """DeepSeek (V3.2 on) and Kimi refuse a conversation with tool calls whose assistant messages lack
    their reasoning_content; elsewhere thoughts are not sent. Sent empty, both take it."""
    name = model.lower()
    return ("deepseek" in name or "kimi" in name) and (facts.thinks or facts == ModelFacts())


def _paired(messages: Sequence[Message]) -> Iterable[Message]:
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


def _assistant(message: AssistantMessage, preset: Preset, thinks: bool) -> Wire:
    made: Wire = {"role": "assistant", "content": clean(message.text) or None}
    if thinks:
        made["reasoning_content"] = clean(message.thoughts)
    if message.calls:
        made["tool_calls"] = [_call(call, preset) for call in message.calls]
    return made


def _call(call: ToolCall, preset: Preset) -> Json:
    arguments = json.dumps(_plain_json(call.arguments), ensure_ascii=False, separators=(",", ":"))
    function: Wire = {"name": clean(call.name), "arguments": clean(arguments)}
    return {"id": _call_id(call.id, preset), "type": "function", "function": function}


def _call_id(call_id: str, preset: Preset) -> str:
    """Mistral takes ids of nine letters and digits only: another provider's become a hash."""
    if not preset.call_id or (len(call_id) == preset.call_id and call_id.isalnum()):
        return clean(call_id)
    return hashlib.sha256(clean(call_id).encode()).hexdigest()[: preset.call_id]


def _content(blocks: tuple[Block, ...], takes_images: bool) -> Json:
    if not takes_images or not any(isinstance(block, Image) for block in blocks):
        return clean(plain(blocks))
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, Image):
            url = f"data:{block.media_type};base64,{block.base64}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            parts.append({"type": "text", "text": clean(plain((block,)))})
    return parts


def _remind(wire: list[Wire], reminder: str, preset: Preset) -> None:
    """Put `reminder` at the very end: nothing before it changes, so caches keep their hits."""
    last = wire[-1] if wire else {}
    joins = last.get("role") == "user" or (last.get("role") == "tool" and preset.fold_reminder)
    if not joins:
        wire.append({"role": "user", "content": reminder})
    elif isinstance(content := last.get("content"), list):
        wire[-1] = {**last, "content": [*content, {"type": "text", "text": reminder}]}
    else:
        wire[-1] = {**last, "content": f"{content}\n\n{reminder}"}


def clean(text: str) -> str:
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
        return clean(value)
    return value if isinstance(value, bool | int | float) else None
