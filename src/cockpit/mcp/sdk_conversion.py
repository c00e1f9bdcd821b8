"""Converts the SDK's results to cockpit's values and makes server descriptions safe. Imports the SDK.

A model reads descriptions before the user sees them. Escape sequences and invisible characters are removed
from prose, and long prose is cut. Where they occur in a name or an enum value, the definition is refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, assert_never, cast

from mcp import types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.mcp.values import (
    McpResult,
    PromptArgument,
    PromptDefinition,
    ResourceDefinition,
    SamplingMessage,
    SamplingRequest,
    ServerWelcome,
    ToolDefinition,
)
from cockpit.protocol.content import Block, Code, Image, Text
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean, clean_output, single_line

MAX_TEXT = 4_000
MAX_NOTE = 1_000
MAX_SCHEMA = 60_000
MAX_SCHEMA_DEPTH = 40
REFERENCE_KEYS = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
PROSE_KEYS = frozenset({"description", "title", "$comment", "examples", "markdownDescription"})


class UnsafeDefinition(ValueError):
    """A definition that cannot be made safe; the message says why."""


def clean_prose(text: str, limit: int = MAX_TEXT) -> str:
    """Prose of a definition, without escape sequences and invisible characters, cut after `limit`."""
    safe = clean_output(text[: limit * 2]).replace("\ufffd", "").strip()
    return safe if len(safe) <= limit else f"{safe[: limit - 1].rstrip()}…"


def clean_schema(raw: Mapping[str, Json]) -> dict[str, Json]:
    """A JSON Schema with its prose cleaned. Raises `UnsafeDefinition`."""
    out = _clean_table(raw, 0)
    if len(json.dumps(out)) > MAX_SCHEMA:
        raise UnsafeDefinition(f"its schema is larger than {MAX_SCHEMA:,} characters")
    if out.get("type", "object") != "object":
        raise UnsafeDefinition("its schema does not describe an object")
    out["type"] = "object"
    return out


def require_visible(text: str, label: str) -> str:
    """Return `text` unchanged. Raises `UnsafeDefinition` if it contains invisible characters."""
    if clean(text) != text:
        raise UnsafeDefinition(f"{label} contains invisible characters: {clean(text)[:80]!r}")
    return text


def _clean_table(raw: Mapping[str, Json], depth: int, properties: bool = False) -> dict[str, Json]:
    if depth > MAX_SCHEMA_DEPTH:
        raise UnsafeDefinition("its schema is nested too deeply")
    out: dict[str, Json] = {}
    for key, value in raw.items():
        require_visible(key, "a name in its schema")
        if key in PROSE_KEYS and not properties:
            out[key] = _clean_prose_value(value)
        elif key in REFERENCE_KEYS and not properties and not str(value).startswith("#"):
            raise UnsafeDefinition(f"its schema refers to another document: {clean(str(value))[:80]!r}")
        elif isinstance(value, Mapping):
            out[key] = _clean_table(value, depth + 1, key in ("properties", "$defs", "definitions"))
        elif isinstance(value, list):
            out[key] = [_clean_value(item, depth + 1) for item in value]
        else:
            out[key] = _clean_value(value, depth)
    return out


def _clean_value(value: Json, depth: int) -> Json:
    if isinstance(value, Mapping):
        return _clean_table(value, depth + 1)
    if isinstance(value, list):
        return [_clean_value(item, depth + 1) for item in value] if depth < MAX_SCHEMA_DEPTH else []
    return require_visible(value, "a value in its schema") if isinstance(value, str) else value


def _clean_prose_value(value: Json) -> Json:
    if isinstance(value, str):
        return clean_prose(value, MAX_NOTE)
    is_nested = isinstance(value, list | dict)
    return clean_prose(json.dumps(value, ensure_ascii=False), MAX_NOTE) if is_nested else value


SdkContent = (
    types.TextContent | types.ImageContent | types.AudioContent | types.ResourceLink | types.EmbeddedResource
)


def convert_welcome(
    protocol: str, info: types.Implementation | None, can: types.ServerCapabilities, instructions: str | None
) -> ServerWelcome:
    names = ("tools", "prompts", "resources", "completions", "logging")
    return ServerWelcome(
        protocol,
        single_line(info.name, 100) if info is not None else "",
        single_line(info.version, 40) if info is not None else "",
        clean_prose(instructions or ""),
        frozenset(name for name in names if getattr(can, name) is not None),
        protocol in MODERN_PROTOCOL_VERSIONS,
    )


def convert_tool(raw: types.Tool) -> ToolDefinition:
    """A tool, cleaned. Raises `UnsafeDefinition`."""
    hints = raw.annotations
    name = require_visible(raw.name, "its name")
    if not name.strip() or len(name) > 256:
        raise UnsafeDefinition("its name is empty or too long")
    title = raw.title or (hints.title if hints is not None else None)
    return ToolDefinition(
        name=name,
        description=clean_prose(raw.description or ""),
        parameters=clean_schema(cast("dict[str, Json]", raw.input_schema)),
        title=single_line(title or "", 200),
        reads_only=hints.read_only_hint if hints is not None else None,
        destroys=hints.destructive_hint if hints is not None else None,
        repeatable=hints.idempotent_hint if hints is not None else None,
        is_open=hints.open_world_hint if hints is not None else None,
    )


def convert_prompt(raw: types.Prompt) -> PromptDefinition:
    """A prompt, cleaned. Raises `UnsafeDefinition`."""
    arguments = []
    for argument in raw.arguments or ():
        name, about = (
            require_visible(argument.name, "an argument"),
            clean_prose(argument.description or "", 200),
        )
        arguments.append(PromptArgument(name, about, bool(argument.required)))
    about = clean_prose(raw.description or raw.title or "", 400)
    return PromptDefinition(require_visible(raw.name, "its name"), about, tuple(arguments))


def convert_resource(raw: types.Resource | types.ResourceTemplate) -> ResourceDefinition:
    """A resource or a template, cleaned. Raises `UnsafeDefinition`."""
    uri = raw.uri_template if isinstance(raw, types.ResourceTemplate) else str(raw.uri)
    return ResourceDefinition(
        uri=require_visible(uri, "its address"),
        name=single_line(raw.title or raw.name, 200),
        description=clean_prose(raw.description or "", 400),
        media_type=single_line(raw.mime_type or "", 100),
        is_template=isinstance(raw, types.ResourceTemplate),
    )


def convert_result(result: types.CallToolResult) -> McpResult:
    """A call's result. Structured content is added as text unless the text already contains it."""
    text, blocks = convert_contents(result.content)
    structured = cast("Json", result.structured_content)
    if structured is not None and not _repeats_structured(result.content, structured):
        as_text = clean_output(json.dumps(structured, ensure_ascii=False, indent=1))
        text = "\n\n".join(part for part in (text, as_text) if part)
        blocks = (*blocks, Code(as_text, "json"))
    return McpResult(text or "(empty result)", blocks, structured, bool(result.is_error))


def _repeats_structured(content: Sequence[SdkContent], structured: Json) -> bool:
    for item in content:
        if not isinstance(item, types.TextContent):
            continue
        try:
            text = json.loads(item.text)
        except ValueError:
            text = item.text
        if text == structured or structured == {"result": text}:
            return True
    return False


def convert_contents(content: Sequence[SdkContent]) -> tuple[str, tuple[Block, ...]]:
    """Content as text for a model and as blocks for the user."""
    pairs = [_convert_content(item) for item in content]
    return "\n\n".join(text for text, _ in pairs if text), tuple(block for _, block in pairs)


def _convert_content(raw: SdkContent) -> tuple[str, Block]:
    match raw:
        case types.TextContent():
            text = clean_output(raw.text)
            return text, Text(text)
        case types.ImageContent(data=data, mime_type=kind):
            alt = f"{single_line(kind, 60)}, {_format_size(data)}"
            return f"[image: {alt}]", Image(single_line(kind, 60), data, alt)
        case types.AudioContent(data=data, mime_type=kind):
            text = f"[audio: {single_line(kind, 60)}, {_format_size(data)}]"
            return text, Text(text)
        case types.ResourceLink():
            about = clean_prose(raw.description or "", 300)
            name = single_line(raw.title or raw.name, 200)
            text = f"[resource {name}: {single_line(str(raw.uri))}] {about}".strip()
            return text, Text(text)
        case types.EmbeddedResource(resource=inner):
            return _convert_embedded(inner)
        case _:
            assert_never(raw)


def _convert_embedded(inner: types.TextResourceContents | types.BlobResourceContents) -> tuple[str, Block]:
    uri, kind = single_line(str(inner.uri)), single_line(inner.mime_type or "", 100)
    match inner:
        case types.TextResourceContents():
            text = clean_output(inner.text)
            language = kind.rpartition("/")[2].removeprefix("x-").partition(";")[0]
            return f"[resource {uri}]\n{text}", Code(text, language, uri)
        case types.BlobResourceContents(blob=blob):
            alt = f"{uri} {kind}, {_format_size(blob)}".strip()
            if kind.startswith("image/"):
                return f"[image: {alt}]", Image(kind, blob, alt)
            return f"[binary resource {alt}]", Text(f"[binary resource {alt}]")
        case _:
            assert_never(inner)


def convert_resource_text(result: types.ReadResourceResult) -> McpResult:
    """The content of a resource."""
    pairs = [_convert_embedded(content) for content in result.contents]
    text = "\n\n".join(text for text, _ in pairs)
    return McpResult(text or "(it is empty)", tuple(block for _, block in pairs))


def convert_prompt_text(result: types.GetPromptResult) -> McpResult:
    """A prompt's messages as one text, with the assistant's messages marked."""
    pairs = [_convert_content(message.content) for message in result.messages]
    marks = ("" if message.role == "user" else "[assistant]\n" for message in result.messages)
    texts = (f"{mark}{text}" for mark, (text, _) in zip(marks, pairs, strict=True))
    return McpResult("\n\n".join(texts), tuple(block for _, block in pairs))


def convert_sampling(params: types.CreateMessageRequestParams) -> SamplingRequest:
    """A server's request for a model's answer."""
    wants = params.model_preferences or types.ModelPreferences()
    clever = wants.intelligence_priority or 0.0
    quick = max(wants.speed_priority or 0.0, wants.cost_priority or 0.0)
    tier: Literal["fast", "default", "strong"] = "default"
    if max(clever, quick) > 0.5 and clever != quick:
        tier = "strong" if clever > quick else "fast"
    messages = tuple(_convert_message(message) for message in params.messages)
    system = clean_output(params.system_prompt or "")
    return SamplingRequest(messages, system, params.max_tokens, tier)


def _convert_message(raw: types.SamplingMessage) -> SamplingMessage:
    parts = raw.content if isinstance(raw.content, list) else [raw.content]
    texts: list[str] = []
    blocks: list[Block] = []
    for part in parts:
        match part:
            case types.TextContent() | types.ImageContent() | types.AudioContent():
                text, block = _convert_content(part)
                texts.append(text)
                blocks.append(block)
            case types.ToolUseContent(name=name):
                texts.append(f"[tool call {single_line(name, 100)}]")
            case types.ToolResultContent(content=inner):
                texts.append(convert_contents(inner)[0])
            case _:
                assert_never(part)
    return SamplingMessage("user" if raw.role == "user" else "assistant", "\n\n".join(texts), tuple(blocks))


def _format_size(data: str) -> str:
    size = len(data) * 3 // 4
    return f"{size / 1024:.0f} KB" if size >= 1024 else f"{size} bytes"


def clean_message(text: str) -> str:
    """A server's message to the user."""
    return clean_output(text[:4_000]).strip()
