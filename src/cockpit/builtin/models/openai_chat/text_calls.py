"""Recovers thoughts (`<think>`) and tool calls that models write into their text.

A call is recovered only if its tool was in the request and the reply ends with it; anything else is text.
Text that may be the start of a call is withheld until that is decided. The forms: Hermes and Qwen
`<tool_call>{...}</tool_call>`, Qwen-Coder and Llama `<function=name>...</function>`, GLM `<arg_key>`, Mistral
`[TOOL_CALLS]`, DeepSeek `<｜tool▁calls▁begin｜>`, and a JSON object, fenced or bare.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import cast

from cockpit.plugin.models import Delta, TextPart, ThoughtPart
from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class TextCall:
    """A tool call that was parsed from text; `arguments` is a JSON object."""

    name: str
    arguments: str


ReadResult = tuple[list[TextCall], str] | None
JSON_DECODER = json.JSONDecoder(strict=False)
FUNCTION_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
ARGUMENT_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
DEEPSEEK_CALL = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([^\n<{`]+?)"
    r"\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?\s*)?(?=\{)"
)


def parse_text_calls(text: str, tools: Collection[str]) -> tuple[TextCall, ...]:
    """The calls that `text` consists of; none if any part is something else or incomplete, or a name is
    unknown."""
    calls: list[TextCall] = []
    rest = text.strip()
    while rest:
        parsers = ((tag, parser) for tag, parser in CALL_PARSERS if rest.startswith(tag))
        tag, parser = next(parsers, ("", lambda text: None))
        read = parser(rest[len(tag) :])
        if read is None or not read[0]:
            return ()
        calls += read[0]
        rest = read[1].lstrip()
    return tuple(calls) if all(call.name in tools for call in calls) else ()


def _parse_tagged(text: str) -> ReadResult:
    """After `<tool_call>`. The closing tag may be missing, because some servers stop before it."""
    body = text.lstrip()
    if body.startswith("<function="):
        read = _parse_function(body.removeprefix("<function="))
    elif body.startswith(("{", "[")):
        read = _parse_objects(body)
    else:
        read = _parse_pairs(body)
    if read is None:
        return None
    return read[0], read[1].lstrip().removeprefix("</tool_call>")


def _parse_function(text: str) -> ReadResult:
    """After `<function=`."""
    name, closed, body = text.partition(">")
    if not closed:
        return None
    body = body.lstrip()
    if body.startswith("{"):
        call = _parse_call(name, body)
        return call and ([call[0]], call[1].lstrip().removeprefix("</function>"))
    inner, closed, rest = body.partition("</function>")
    if not closed:
        return None
    return [TextCall(name.strip(), _dump_json(_parse_arguments(FUNCTION_PARAMETER.findall(inner))))], rest


def _parse_pairs(text: str) -> ReadResult:
    inner, closed, rest = text.partition("</tool_call>")
    name = inner.partition("<arg_key>")[0].strip()
    if not closed or not re.fullmatch(r"[\w.-]+", name):
        return None
    return [TextCall(name, _dump_json(_parse_arguments(ARGUMENT_PAIR.findall(inner))))], rest


def _parse_mistral(text: str) -> ReadResult:
    """After `[TOOL_CALLS]`: an array of objects, or `name[ARGS]{...}`."""
    body = text.lstrip()
    named = re.match(r"([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*\[ARGS\]\s*(?=\{)", body)
    if named is None:
        return _parse_objects(body)
    call = _parse_call(named[1], body[named.end() :])
    return call and ([call[0]], call[1])


def _parse_deepseek(text: str) -> ReadResult:
    """After `<｜tool▁calls▁begin｜>`, which a single call may omit."""
    calls: list[TextCall] = []
    rest = text.lstrip()
    while head := DEEPSEEK_CALL.match(rest):
        if (call := _parse_call(head[1], rest[head.end() :])) is None:
            return None
        calls.append(call[0])
        rest = call[1].lstrip().removeprefix("```").lstrip().removeprefix("<｜tool▁call▁end｜>").lstrip()
    rest = rest.removeprefix("<｜tool▁calls▁end｜>").lstrip().removeprefix("<｜end▁of▁sentence｜>")
    return calls, rest


def _parse_call(name: str, text: str) -> tuple[TextCall, str] | None:
    """A call of `name` with the JSON object at the start of `text`, and the text after it."""
    read = _parse_value(text)
    if read is None or not isinstance(read[0], Mapping):
        return None
    return TextCall(name.strip(), _dump_json(read[0])), read[1]


def _parse_fenced(text: str) -> ReadResult:
    """After three backticks."""
    word, newline, body = text.partition("\n")
    if not newline or word.strip() not in ("json", "tool_call", "tool_calls", "tool", ""):
        return None
    read = _parse_objects(body)
    if read is None or not read[1].lstrip().startswith("```"):
        return None
    return read[0], read[1].lstrip().removeprefix("```")


def _parse_objects(text: str) -> ReadResult:
    """One object or an array of objects, and the text after it."""
    read = _parse_value(text.lstrip())
    if read is None:
        return None
    values = read[0] if isinstance(read[0], list) else [read[0]]
    calls = [_call_from_object(value) for value in values]
    whole = [call for call in calls if call is not None]
    return (whole, read[1]) if len(whole) == len(calls) else None


def _call_from_object(value: Json) -> TextCall | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    if isinstance(inner, Mapping):
        value = inner
    name = value.get("name") or value.get("tool_name") or value.get("tool") or value.get("function")
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        read = _parse_value(arguments.strip())
        arguments = read[0] if read is not None and not read[1].strip() else None
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return None
    return TextCall(name, _dump_json(arguments))


def _parse_value(text: str) -> tuple[Json, str] | None:
    try:
        value, end = JSON_DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value), text[end:]


def _parse_arguments(pairs: list[tuple[str, str]]) -> dict[str, Json]:
    """The arguments of a form without types: JSON values where they parse as such, else texts."""
    out: dict[str, Json] = {}
    for name, text in pairs:
        read = _parse_value(text.strip()) if text.strip()[:1] in "[{0123456789-tfn" else None
        is_json = read is not None and not read[1] and not isinstance(read[0], str)
        out[name.strip()] = read[0] if read is not None and is_json else text
    return out


def _dump_json(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


CALL_PARSERS: tuple[tuple[str, Callable[[str], ReadResult]], ...] = (
    ("<tool_call>", _parse_tagged),
    ("<function=", _parse_function),
    ("[TOOL_CALLS]", _parse_mistral),
    ("<｜tool▁calls▁begin｜>", _parse_deepseek),
    ("<｜tool▁call▁begin｜>", lambda text: _parse_deepseek("<｜tool▁call▁begin｜>" + text)),
    ("```", _parse_fenced),
    ("{", lambda text: _parse_objects("{" + text)),
    ("[", lambda text: _parse_objects("[" + text)),
)


THINK_TAG = re.compile(r"\s*<(think|thinking)>\n?")
THINK_OPENERS = ("<think>", "<thinking>")
CALL_OPENER = re.compile(
    r"(?<=\n)```|<tool_call>|<function=|\[TOOL_CALLS\]|<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>"
)
CALL_TAGS = tuple(tag for tag, _ in CALL_PARSERS if len(tag) > 1)
LONGEST_TAG = max(len(tag) for tag in CALL_TAGS)
TAG_START = re.compile(r"[<\[`]")
CLOSERS = {"<tool_call>": "</tool_call>", "<function=": "</function>", "```": "\n```"}
FENCE_WORDS = ("json", "tool_call", "tool_calls", "tool", "")
CALL_KEYS = ("name", "arguments", "parameters", "function", "tool", "tool_name", "type", "id")
JSON_HEAD = re.compile(r'\s*\[?\s*\{?\s*"?(\w*)')


class TextRecovery:
    """Separates the text of one reply from thoughts and calls of `tools` that are written in it."""

    __slots__ = ("_has_text", "_has_thought", "_last_character", "_pending", "_thought_closer", "_tools")

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._pending = ""
        self._last_character = "\n"
        self._has_text = False
        self._has_thought = False
        # The tag that closes the current thought; None: the reply may still begin with one; "": it does not.
        self._thought_closer: str | None = None

    def feed(self, text: str) -> list[Delta]:
        """Add text; returns the deltas that are certain by now."""
        self._pending += text
        out: list[Delta] = []
        if self._thought_closer is None and not self._detect_thought():
            return out
        if self._thought_closer:
            self._read_thought(out)
        if self._thought_closer == "":
            self._read_text(out)
        return out

    def end(self, is_complete: bool) -> tuple[list[Delta], tuple[TextCall, ...]]:
        """The last deltas, and the calls the reply ends with. None are recovered unless `is_complete`: the
        reply was not cut off and had no proper calls."""
        rest, self._pending = self._pending, ""
        if not rest:
            return [], ()
        if self._thought_closer:
            return [ThoughtPart(rest)], ()
        calls = parse_text_calls(rest, self._tools) if is_complete and self._tools else ()
        return ([], calls) if calls else ([TextPart(rest)], ())

    def _detect_thought(self) -> bool:
        """Decide whether the reply begins with a thought. False if that takes more text."""
        head = self._pending.lstrip()
        opened = THINK_TAG.match(self._pending)
        if opened:
            self._pending = self._pending[opened.end() :]
            self._thought_closer = f"</{opened[1]}>"
            self._has_thought = True
            return True
        if any(tag.startswith(head) for tag in THINK_OPENERS):
            return False
        self._thought_closer = ""
        return True

    def _read_thought(self, out: list[Delta]) -> None:
        closer = self._thought_closer or ""
        thought, closed, rest = self._pending.partition(closer)
        if closed:
            self._thought_closer = ""
            self._pending = rest.lstrip("\n")
        else:
            end = len(thought) - _overlap(thought, (closer,))
            thought, self._pending = thought[:end], thought[end:]
        if thought:
            out.append(ThoughtPart(thought))

    def _read_text(self, out: list[Delta]) -> None:
        cut = self._hold_from() if self._tools else len(self._pending)
        text, self._pending = self._pending[:cut], self._pending[cut:]
        if not text:
            return
        if not self._has_text and self._has_thought:
            # Blank lines after a thought do not belong to the answer.
            text = text.lstrip("\n")
            if not text:
                return
        self._has_text = True
        self._last_character = text[-1]
        out.append(TextPart(text))

    def _hold_from(self) -> int:
        """The offset of pending text that may be a call, or the length of the pending text."""
        text = self._pending
        if not self._has_text and text.lstrip()[:1] in ("{", "") and _is_json_head(text):
            return 0
        framed = self._last_character + text
        at = 1
        while opener := CALL_OPENER.search(framed, at):
            if _may_be_calls(framed[opener.start() :], opener[0]):
                return opener.start() - 1
            at = opener.end()
        return len(text) - _overlap(framed, CALL_TAGS)


def _may_be_calls(text: str, tag: str) -> bool:
    """Whether `text`, which begins with `tag`, can still become calls at the end of the reply."""
    body = text[len(tag) :]
    if tag == "```":
        word, newline, body = body.partition("\n")
        if not newline:
            return any(language.startswith(word.strip()) for language in FENCE_WORDS)
        if word.strip() not in FENCE_WORDS or not _is_json_head(body):
            return False
        body = "\n" + body
    closer = CLOSERS.get(tag)
    if closer is None:
        return True
    _, closed, rest = body.partition(closer)
    rest = rest.lstrip()
    if not closed or not rest or rest.startswith("</tool_call>"):
        return True
    if following := CALL_OPENER.match("\n" + rest, 1):
        return _may_be_calls(rest, following[0])
    return any(known.startswith(rest) for known in (*CALL_TAGS, "</tool_call>"))


def _is_json_head(text: str) -> bool:
    """Whether `text` can be the beginning of a call's JSON, by its first key."""
    head = JSON_HEAD.match(text)
    if head is None:
        return False
    if head.end() == len(text):
        return any(key.startswith(head[1]) for key in CALL_KEYS)
    return head[1] in CALL_KEYS and text[head.end()] == '"'


def _overlap(text: str, tags: tuple[str, ...]) -> int:
    """The number of characters at the end of `text` that may be the beginning of a tag."""
    tail = text[-LONGEST_TAG:]
    first = TAG_START.search(tail)
    if first is None:
        return 0
    for at in range(first.start(), len(tail)):
        rest = tail[at:]
        if any(tag.startswith(rest) and tag != rest for tag in tags):
            return min(len(rest), len(text))
    return 0
