"""The forms in which models write tool calls as text. Pure: text in, calls out.

Hermes and Qwen `<tool_call>{...}</tool_call>`, Qwen-Coder and Llama `<function=name>...</function>`,
GLM `<arg_key>`, Mistral `[TOOL_CALLS]`, DeepSeek `<｜tool▁calls▁begin｜>`, a fenced or bare object.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import cast

from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call that was read from text; `arguments` is a JSON object."""

    name: str
    arguments: str


Read = tuple[list[WrittenCall], str] | None
DECODER = json.JSONDecoder(strict=False)
PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([^\n<{`]+?)"
    r"\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?\s*)?(?=\{)"
)


def read_calls(text: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    """The calls that `text` consists of, or nothing: when any of it is something else, when an
    object is not whole, or when a name is none of `tools`."""
    found: list[WrittenCall] = []
    rest = text.strip()
    while rest:
        read = _read_one(rest)
        if read is None or not read[0]:
            return ()
        found += read[0]
        rest = read[1].lstrip()
    return tuple(found) if all(call.name in tools for call in found) else ()


def _read_one(text: str) -> Read:
    for opening, reader in READERS:
        if text.startswith(opening):
            return reader(text[len(opening) :])
    return None


def _tagged(text: str) -> Read:
    """After `<tool_call>`. The closing tag may be missing: some servers stop at it."""
    body = text.lstrip()
    if body.startswith("<function="):
        read = _function(body.removeprefix("<function="))
    elif body.startswith(("{", "[")):
        read = _objects(body)
    else:
        read = _pairs(body)
    if read is None:
        return None
    return read[0], read[1].lstrip().removeprefix("</tool_call>")


def _function(text: str) -> Read:
    """After `<function=`."""
    name, closed, body = text.partition(">")
    if not closed:
        return None
    body = body.lstrip()
    if body.startswith("{"):
        read = _value(body)
        if read is None or not isinstance(read[0], Mapping):
            return None
        call = WrittenCall(name.strip(), _dumped(read[0]))
        return [call], read[1].lstrip().removeprefix("</function>")
    inner, closed, rest = body.partition("</function>")
    if not closed:
        return None
    return [WrittenCall(name.strip(), _dumped(_typed(PARAMETER.findall(inner))))], rest


def _pairs(text: str) -> Read:
    inner, closed, rest = text.partition("</tool_call>")
    name = inner.partition("<arg_key>")[0].strip()
    if not closed or not re.fullmatch(r"[\w.-]+", name):
        return None
    return [WrittenCall(name, _dumped(_typed(PAIR.findall(inner))))], rest


def _mistral(text: str) -> Read:
    """After `[TOOL_CALLS]`: an array of objects, or `name[ARGS]{...}`."""
    body = text.lstrip()
    named = re.match(r"([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*\[ARGS\]\s*(?=\{)", body)
    if named is None:
        return _objects(body)
    read = _value(body[named.end() :])
    if read is None or not isinstance(read[0], Mapping):
        return None
    return [WrittenCall(named[1], _dumped(read[0]))], read[1]


def _deepseek(text: str) -> Read:
    """After `<｜tool▁calls▁begin｜>` (which a single call may lack)."""
    calls: list[WrittenCall] = []
    rest = text.lstrip()
    while head := DEEPSEEK.match(rest):
        read = _value(rest[head.end() :])
        if read is None or not isinstance(read[0], Mapping):
            return None
        calls.append(WrittenCall(head[1].strip(), _dumped(read[0])))
        rest = read[1].lstrip().removeprefix("```").lstrip().removeprefix("<｜tool▁call▁end｜>").lstrip()
    rest = rest.removeprefix("<｜tool▁calls▁end｜>").lstrip().removeprefix("<｜end▁of▁sentence｜>")
    return calls, rest


def _fenced(text: str) -> Read:
    """After three backticks."""
    word, newline, body = text.partition("\n")
    if not newline or word.strip() not in ("json", "tool_call", "tool_calls", "tool", ""):
        return None
    read = _objects(body)
    if read is None or not read[1].lstrip().startswith("```"):
        return None
    return read[0], read[1].lstrip().removeprefix("```")


def _objects(text: str) -> Read:
    """One object or an array of them, and what follows."""
    read = _value(text.lstrip())
    if read is None:
        return None
    values = read[0] if isinstance(read[0], list) else [read[0]]
    calls = [_call_of(value) for value in values]
    whole = [call for call in calls if call is not None]
    return (whole, read[1]) if len(whole) == len(calls) else None


def _call_of(value: Json) -> WrittenCall | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    if isinstance(inner, Mapping):
        value = inner
    name = value.get("name") or value.get("tool_name") or value.get("tool") or value.get("function")
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        read = _value(arguments.strip())
        arguments = read[0] if read is not None and not read[1].strip() else None
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return None
    return WrittenCall(name, _dumped(arguments))


def _value(text: str) -> tuple[Json, str] | None:
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value), text[end:]


def _typed(pairs: list[tuple[str, str]]) -> dict[str, Json]:
    """Values of a form that has no types: JSON where they read as a number, boolean, list or
    object, else the text."""
    out: dict[str, Json] = {}
    for name, text in pairs:
        read = _value(text.strip()) if text.strip()[:1] in "[{0123456789-tfn" else None
        is_json = read is not None and not read[1] and not isinstance(read[0], str)
        out[name.strip()] = read[0] if read is not None and is_json else text
    return out


def _dumped(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


READERS: tuple[tuple[str, Callable[[str], Read]], ...] = (
    ("<tool_call>", _tagged),
    ("<function=", _function),
    ("[TOOL_CALLS]", _mistral),
    ("<｜tool▁calls▁begin｜>", _deepseek),
    ("<｜tool▁call▁begin｜>", lambda text: _deepseek("<｜tool▁call▁begin｜>" + text)),
    ("```", _fenced),
    ("{", lambda text: _objects("{" + text)),
    ("[", lambda text: _objects("[" + text)),
)
