"""The forms in which models write tool calls as text. Pure: text in, calls out.

Hermes and Qwen `<tool_call>{...}</tool_call>`, Qwen-Coder and Llama `<function=name>...</function>`,
GLM `<arg_key>`, Mistral `[TOOL_CALLS]`, DeepSeek `<｜tool▁calls▁begin｜>`, a fenced or bare object.

Answers of models that write down what belongs beside the text: thoughts in `<think>`, and tool
calls. A call is recovered only when tools were sent, the name is one of them, and the whole answer
ends with it; anything else is text. Text that may be the start of one is held back until it is known.
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
    """A call that was read from text; `arguments` is a JSON object."""

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
    """The calls that `text` consists of, or nothing: when any of it is something else, when an
    object is not whole, or when a name is none of `tools`."""
    found: list[TextCall] = []
    rest = text.strip()
    while rest:
        read = _parse_one(rest)
        if read is None or not read[0]:
            return ()
        found += read[0]
        rest = read[1].lstrip()
    return tuple(found) if all(call.name in tools for call in found) else ()


def _parse_one(text: str) -> ReadResult:
    for opening, reader in CALL_PARSERS:
        if text.startswith(opening):
            return reader(text[len(opening) :])
    return None


def _parse_tagged(text: str) -> ReadResult:
    """After `<tool_call>`. The closing tag may be missing: some servers stop at it."""
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
        read = _parse_value(body)
        if read is None or not isinstance(read[0], Mapping):
            return None
        call = TextCall(name.strip(), _dump_json(read[0]))
        return [call], read[1].lstrip().removeprefix("</function>")
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
    read = _parse_value(body[named.end() :])
    if read is None or not isinstance(read[0], Mapping):
        return None
    return [TextCall(named[1], _dump_json(read[0]))], read[1]


def _parse_deepseek(text: str) -> ReadResult:
    """After `<｜tool▁calls▁begin｜>` (which a single call may lack)."""
    calls: list[TextCall] = []
    rest = text.lstrip()
    while head := DEEPSEEK_CALL.match(rest):
        read = _parse_value(rest[head.end() :])
        if read is None or not isinstance(read[0], Mapping):
            return None
        calls.append(TextCall(head[1].strip(), _dump_json(read[0])))
        rest = read[1].lstrip().removeprefix("```").lstrip().removeprefix("<｜tool▁call▁end｜>").lstrip()
    rest = rest.removeprefix("<｜tool▁calls▁end｜>").lstrip().removeprefix("<｜end▁of▁sentence｜>")
    return calls, rest


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
    """One object or an array of them, and what follows."""
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
    """Values of a form that has no types: JSON where they read as a number, boolean, list or
    object, else the text."""
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
CALL_TAGS = (
    "<tool_call>",
    "<function=",
    "[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "```",
)
LONGEST_TAG = max(len(tag) for tag in CALL_TAGS)
TAG_START = re.compile(r"[<\[`]")
CLOSERS = {"<tool_call>": "</tool_call>", "<function=": "</function>", "```": "\n```"}
FENCE_WORDS = ("json", "tool_call", "tool_calls", "tool", "")
CALL_KEYS = ("name", "arguments", "parameters", "function", "tool", "tool_name", "type", "id")
JSON_HEAD = re.compile(r'\s*\[?\s*\{?\s*"?(\w*)')


class TextRecovery:
    """The text of one answer. `tools` are the names that were sent."""

    __slots__ = ("_last", "_pending", "_said", "_thinking", "_thought", "_tools")

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._pending = ""
        self._last = "\n"
        self._said = False
        self._thought = False
        # None: it may still begin with a thought; else the tag that would close it, or "".
        self._thinking: str | None = None

    def feed(self, text: str) -> list[Delta]:
        """More text; what of it can be given out."""
        self._pending += text
        out: list[Delta] = []
        if self._thinking is None and not self._begin():
            return out
        if self._thinking:
            self._think(out)
        if self._thinking == "":
            self._speak(out)
        return out

    def end(self, is_whole: bool) -> tuple[list[Delta], tuple[TextCall, ...]]:
        """The end of the answer: what is still owed of it, and the calls it ends with. With
        `is_whole` false (cut off, or it had proper calls) none is recovered."""
        rest, self._pending = self._pending, ""
        if not rest:
            return [], ()
        if self._thinking:
            return [ThoughtPart(rest)], ()
        calls = parse_text_calls(rest, self._tools) if is_whole and self._tools else ()
        return ([], calls) if calls else ([TextPart(rest)], ())

    def _begin(self) -> bool:
        """Decide whether the answer begins with a thought. False: more text is needed for that."""
        head = self._pending.lstrip()
        opened = THINK_TAG.match(self._pending)
        if opened:
            self._pending = self._pending[opened.end() :]
            self._thinking = f"</{opened[1]}>"
            self._thought = True
            return True
        if any(tag.startswith(head) for tag in THINK_OPENERS):
            return False
        self._thinking = ""
        return True

    def _think(self, out: list[Delta]) -> None:
        closer = self._thinking or ""
        thought, closed, rest = self._pending.partition(closer)
        if closed:
            self._thinking = ""
            self._pending = rest.lstrip("\n")
        else:
            kept = _overlap(thought, (closer,))
            thought, self._pending = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            out.append(ThoughtPart(thought))

    def _speak(self, out: list[Delta]) -> None:
        cut = self._hold_from() if self._tools else len(self._pending)
        text, self._pending = self._pending[:cut], self._pending[cut:]
        if not text:
            return
        if not self._said and self._thought:
            # Blank lines after a thought are no part of the answer.
            text = text.lstrip("\n")
            if not text:
                return
        self._said = True
        self._last = text[-1]
        out.append(TextPart(text))

    def _hold_from(self) -> int:
        """Where the part begins that may be a call, or the length of what is pending."""
        text = self._pending
        if not self._said and text.lstrip()[:1] in ("{", "") and _is_json_head(text):
            return 0
        framed = self._last + text
        at = 1
        while found := CALL_OPENER.search(framed, at):
            if _may_be_calls(framed[found.start() :], found[0]):
                return found.start() - 1
            at = found.end()
        return len(text) - _overlap(framed, CALL_TAGS)


def _may_be_calls(text: str, tag: str) -> bool:
    """Whether `text`, which begins with `tag`, can still become calls that end the answer."""
    body = text[len(tag) :]
    if tag == "```":
        word, newline, body = body.partition("\n")
        if not newline:
            return any(one.startswith(word.strip()) for one in FENCE_WORDS)
        if word.strip() not in FENCE_WORDS or not _is_json_head(body):
            return False
        body = "\n" + body
    closer = CLOSERS.get(tag)
    if closer is None:
        return True
    _, closed, rest = body.partition(closer)
    rest = rest.lstrip()
    if not closed or not rest:
        return True
    following = CALL_OPENER.match("\n" + rest, 1)
    if following:
        return _may_be_calls(rest, following[0])
    return any(one.startswith(rest) for one in (*CALL_TAGS, "</tool_call>")) or rest.startswith(
        "</tool_call>"
    )


def _is_json_head(text: str) -> bool:
    """Whether `text` can be the beginning of a call's JSON: its first key is one of a call's."""
    head = JSON_HEAD.match(text)
    if head is None:
        return False
    word = head[1]
    if head.end() == len(text):
        return any(key.startswith(word) for key in CALL_KEYS)
    return word in CALL_KEYS and text[head.end()] == '"'


def _overlap(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end of `text` may be the beginning of a tag."""
    tail = text[-LONGEST_TAG:]
    first = TAG_START.search(tail)
    if first is None:
        return 0
    for at in range(first.start(), len(tail)):
        rest = tail[at:]
        if any(tag.startswith(rest) and tag != rest for tag in tags):
            return min(len(rest), len(text))
    return 0
