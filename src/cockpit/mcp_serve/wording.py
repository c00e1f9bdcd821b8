"""What a client's person is asked, as a form of the protocol; and their answer, as ours.

A client cannot remember an answer for later calls: only this once, or no.
"""

from collections.abc import Iterator, Mapping
from typing import assert_never

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult

from cockpit.protocol.asking import FormField
from cockpit.protocol.clean import clean
from cockpit.protocol.content import Diff, plain
from cockpit.protocol.events import ApprovalRequested, QuestionAsked
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import ApprovalPart

DECISION, ALLOW, REJECT, ANSWER = "decision", "allow this once", "reject", "answer"
# What is longer than this nobody reads in a form; the whole is in the audit and the transcript.
LONGEST = 8_000


def elicitation(asked: ApprovalRequested | QuestionAsked) -> ElicitRequest:
    """The request that puts `asked` to a person."""
    if isinstance(asked, ApprovalRequested):
        choice: dict[str, Json] = {
            "type": "string",
            "title": "Decision",
            "enum": [ALLOW, REJECT],
            "default": REJECT,
        }
        return _form("\n".join(_approval(asked)), {DECISION: choice}, [DECISION])
    if asked.url:
        params = ElicitRequestURLParams(
            message=_short(asked.question), url=asked.url, elicitation_id=asked.id
        )
        return ElicitRequest(params=params)
    if asked.fields:
        wanted = [field.name for field in asked.fields if field.required]
        return _form(asked.question, {field.name: schema_of(field) for field in asked.fields}, wanted)
    answer: dict[str, Json] = {"type": "string", "title": "Answer"}
    if asked.options:
        answer["enum"] = list(asked.options)
    return _form(asked.question, {ANSWER: answer}, [ANSWER])


def is_shown_whole(asked: ApprovalRequested) -> bool:
    """Whether the form holds all that would happen: nobody agrees to what they were not shown."""
    return len("\n".join(_approval(asked))) <= LONGEST


def allows(result: ElicitResult) -> bool:
    """Whether a person said yes: by accepting, and by the word."""
    content = result.content or {}
    return result.action == "accept" and content.get(DECISION) == ALLOW


def values_in(result: ElicitResult) -> Mapping[str, Json]:
    """What was entered into a form."""
    values: dict[str, Json] = {}
    for name, value in (result.content or {}).items():
        values[name] = list(value) if isinstance(value, list) else value
    return values if result.action == "accept" else {}


def schema_of(field: FormField) -> dict[str, Json]:
    """A field as the restricted JSON Schema of the protocol."""
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
            out |= {"type": "string", **_options(field, "oneOf")}
        case "choices":
            options = _options(field, "anyOf")
            items: dict[str, Json] = {"type": "string", **options} if "enum" in options else options
            out |= {"type": "array", "items": items}
        case _:
            assert_never(field.kind)
    if field.default is not None:
        out["default"] = field.default
    return out


def _options(field: FormField, labelled: str) -> dict[str, Json]:
    if not field.labels or field.labels == field.options:
        return {"enum": list(field.options)}
    pairs = zip(field.options, field.labels, strict=False)
    return {labelled: [{"const": option, "title": clean(label)} for option, label in pairs]}


def _form(text: str, properties: Mapping[str, Mapping[str, Json]], required: list[str]) -> ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": required}
    return ElicitRequest(params=ElicitRequestFormParams(message=_short(text), requested_schema=schema))


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[cut: {len(text) - LONGEST} more characters]"


def _approval(asked: ApprovalRequested) -> Iterator[str]:
    yield f"{asked.title}: {asked.reason} (risk {asked.risk})"
    if asked.destination:
        yield f"goes to {asked.destination}"
    if asked.held:
        yield asked.held
    if asked.alternative:
        yield f"instead: {asked.alternative}"
    for part in asked.parts:
        yield from _part(part)
    if asked.note:
        yield asked.note


def _part(part: ApprovalPart) -> Iterator[str]:
    yield f"- {part.title}{f' ({part.detail})' if part.detail else ''}"
    if part.reason:
        yield f"  {part.level}: {part.reason}"
    if isinstance(part.diff, Diff):
        yield plain((part.diff,))
