"""The SDK's results as our values. Imports the SDK; what comes out is cleaned."""

import json
from collections.abc import Sequence
from typing import Literal, assert_never, cast

from mcp import types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.mcp.cleaning import Unsafe, prose, schema, word
from cockpit.mcp.values import (
    Outcome,
    PromptArgument,
    PromptDefinition,
    PromptText,
    ResourceDefinition,
    SamplingMessage,
    SamplingRequest,
    ToolDefinition,
    Welcome,
)
from cockpit.protocol.clean import clean_output, one_line
from cockpit.protocol.content import Block, Code, Image, Text
from cockpit.protocol.messages import Json

Content = (
    types.TextContent | types.ImageContent | types.AudioContent | types.ResourceLink | types.EmbeddedResource
)


def welcome(
    protocol: str, info: types.Implementation | None, can: types.ServerCapabilities, instructions: str | None
) -> Welcome:
    names = ("tools", "prompts", "resources", "completions", "logging")
    had = frozenset(name for name in names if getattr(can, name) is not None)
    said = prose(instructions or "")
    later = protocol in MODERN_PROTOCOL_VERSIONS
    if info is None:
        return Welcome(protocol, instructions=said, can=had, is_later=later)
    return Welcome(protocol, one_line(info.name, 100), one_line(info.version, 40), said, had, later)


def tool(one: types.Tool) -> ToolDefinition:
    """A tool, cleaned. Raises `Unsafe`."""
    hints = one.annotations
    name = word(one.name, "its name")
    if not name.strip() or len(name) > 256:
        raise Unsafe("it has no name that can be used")
    title = one.title or (hints.title if hints is not None else None)
    return ToolDefinition(
        name=name,
        description=prose(one.description or ""),
        parameters=schema(cast("dict[str, Json]", one.input_schema)),
        title=one_line(title or "", 200),
        reads_only=hints.read_only_hint if hints is not None else None,
        destroys=hints.destructive_hint if hints is not None else None,
        repeatable=hints.idempotent_hint if hints is not None else None,
        is_open=hints.open_world_hint if hints is not None else None,
    )


def prompt(one: types.Prompt) -> PromptDefinition:
    """A prompt, cleaned. Raises `Unsafe`."""
    arguments = tuple(
        PromptArgument(word(a.name, "an argument"), prose(a.description or "", 200), bool(a.required))
        for a in one.arguments or ()
    )
    return PromptDefinition(
        word(one.name, "its name"), prose(one.description or one.title or "", 400), arguments
    )


def resource(one: types.Resource) -> ResourceDefinition:
    """A resource, cleaned. Raises `Unsafe`."""
    return ResourceDefinition(
        uri=word(str(one.uri), "its address"),
        name=one_line(one.title or one.name, 200),
        description=prose(one.description or "", 400),
        media_type=one_line(one.mime_type or "", 100),
        size=one.size or 0,
    )


def template(one: types.ResourceTemplate) -> ResourceDefinition:
    """A template of addresses, cleaned. Raises `Unsafe`."""
    return ResourceDefinition(
        uri=word(one.uri_template, "its address"),
        name=one_line(one.title or one.name, 200),
        description=prose(one.description or "", 400),
        media_type=one_line(one.mime_type or "", 100),
        is_template=True,
    )


def outcome(result: types.CallToolResult) -> Outcome:
    """A call's result. Structured content that the text says already is not said twice."""
    text, blocks = contents(result.content)
    structured = cast("Json", result.structured_content)
    if structured is not None and not _says(result.content, structured):
        as_text = clean_output(json.dumps(structured, ensure_ascii=False, indent=1))
        text = "\n\n".join(part for part in (text, as_text) if part)
        blocks = (*blocks, Code(as_text, "json"))
    return Outcome(text or "(nothing came back)", blocks, structured, bool(result.is_error))


def _says(content: Sequence[Content], structured: Json) -> bool:
    for one in content:
        if not isinstance(one, types.TextContent):
            continue
        try:
            said = json.loads(one.text)
        except ValueError:
            said = one.text
        if said == structured or structured == {"result": said}:
            return True
    return False


def contents(content: Sequence[Content]) -> tuple[str, tuple[Block, ...]]:
    """Blocks of the protocol as text for a model and as blocks for people."""
    texts: list[str] = []
    blocks: list[Block] = []
    for one in content:
        text, block = _content(one)
        texts.append(text)
        blocks.append(block)
    return "\n\n".join(text for text in texts if text), tuple(blocks)


def _content(one: Content) -> tuple[str, Block]:
    match one:
        case types.TextContent(text=said):
            text = clean_output(said)
            return text, Text(text)
        case types.ImageContent(data=data, mime_type=kind):
            alt = f"{one_line(kind, 60)}, {_size(data)}"
            return f"[image: {alt}]", Image(one_line(kind, 60), data, alt)
        case types.AudioContent(data=data, mime_type=kind):
            text = f"[audio: {one_line(kind, 60)}, {_size(data)}]"
            return text, Text(text)
        case types.ResourceLink():
            about = prose(one.description or "", 300)
            text = (
                f"[resource {one_line(one.title or one.name, 200)}: {one_line(str(one.uri))}] {about}".strip()
            )
            return text, Text(text)
        case types.EmbeddedResource(resource=inner):
            return _embedded(inner)
        case _:
            assert_never(one)


def _embedded(inner: types.TextResourceContents | types.BlobResourceContents) -> tuple[str, Block]:
    uri, kind = one_line(str(inner.uri)), one_line(inner.mime_type or "", 100)
    match inner:
        case types.TextResourceContents(text=said):
            text = clean_output(said)
            return f"[resource {uri}]\n{text}", Code(text, _language(kind), uri)
        case types.BlobResourceContents(blob=blob):
            alt = f"{uri} {kind}, {_size(blob)}".strip()
            if kind.startswith("image/"):
                return f"[image: {alt}]", Image(kind, blob, alt)
            return f"[binary resource {alt}]", Text(f"[binary resource {alt}]")
        case _:
            assert_never(inner)


def resource_text(result: types.ReadResourceResult) -> Outcome:
    """What was read."""
    pairs = [_embedded(one) for one in result.contents]
    text = "\n\n".join(text for text, _ in pairs)
    return Outcome(text or "(it is empty)", tuple(block for _, block in pairs))


def prompt_text(result: types.GetPromptResult) -> PromptText:
    """A prompt's messages as one text; what the assistant is to have said is marked."""
    texts: list[str] = []
    blocks: list[Block] = []
    for message in result.messages:
        text, block = _content(message.content)
        texts.append(text if message.role == "user" else f"[assistant]\n{text}")
        blocks.append(block)
    return PromptText("\n\n".join(texts), tuple(blocks))


def sampling(params: types.CreateMessageRequestParams) -> SamplingRequest:
    """What a server wants a model to answer."""
    wants = params.model_preferences
    tier: Literal["fast", "default", "strong"] = "default"
    if wants is not None:
        clever = wants.intelligence_priority or 0.0
        quick = max(wants.speed_priority or 0.0, wants.cost_priority or 0.0)
        tier = "strong" if clever > max(quick, 0.5) else "fast" if quick > max(clever, 0.5) else "default"
    hints = tuple(one_line(hint.name or "", 60) for hint in (wants.hints or () if wants is not None else ()))
    messages = tuple(_message(one) for one in params.messages)
    system = clean_output(params.system_prompt or "")
    return SamplingRequest(messages, system, params.max_tokens, tier, hints)


def _message(one: types.SamplingMessage) -> SamplingMessage:
    parts = one.content if isinstance(one.content, list) else [one.content]
    texts: list[str] = []
    blocks: list[Block] = []
    for part in parts:
        match part:
            case types.TextContent() | types.ImageContent() | types.AudioContent():
                text, block = _content(part)
                texts.append(text)
                blocks.append(block)
            case types.ToolUseContent(name=name):
                texts.append(f"[tool call {one_line(name, 100)}]")
            case types.ToolResultContent(content=inner):
                texts.append(contents(inner)[0])
            case _:
                assert_never(part)
    return SamplingMessage("user" if one.role == "user" else "assistant", "\n\n".join(texts), tuple(blocks))


def _size(data: str) -> str:
    size = len(data) * 3 // 4
    return f"{size / 1024:.0f} KB" if size >= 1024 else f"{size} bytes"


def _language(media_type: str) -> str:
    return media_type.rpartition("/")[2].removeprefix("x-").partition(";")[0]


def said(text: str) -> str:
    """A server's words to a person."""
    return clean_output(text[:4_000]).strip()
