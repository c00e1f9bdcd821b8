"""Answers of models that write down what belongs beside the text: thoughts in `<think>`, and tool
calls. A call is recovered only when tools were sent, the name is one of them, and the whole answer
ends with it; anything else is text. Text that may be the start of one is held back until it is known.
"""

import re
from collections.abc import Collection

from cockpit.builtin.openai_chat.written_calls import WrittenCall, read_calls
from cockpit.plugin.models import Delta, TextPart, ThoughtPart

THINK = re.compile(r"\s*<(think|thinking)>\n?")
THINK_OPENERS = ("<think>", "<thinking>")
OPENER = re.compile(
    r"(?<=\n)```|<tool_call>|<function=|\[TOOL_CALLS\]|<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>"
)
TAGS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "```")
LONGEST = max(len(tag) for tag in TAGS)
FIRST_SIGN = re.compile(r"[<\[`]")
CLOSERS = {"<tool_call>": "</tool_call>", "<function=": "</function>", "```": "\n```"}
FENCE_WORDS = ("json", "tool_call", "tool_calls", "tool", "")
KEYS = ("name", "arguments", "parameters", "function", "tool", "tool_name", "type", "id")
JSON_HEAD = re.compile(r'\s*\[?\s*\{?\s*"?(\w*)')


class Recovery:
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

    def end(self, is_whole: bool) -> tuple[list[Delta], tuple[WrittenCall, ...]]:
        """The end of the answer: what is still owed of it, and the calls it ends with. With
        `is_whole` false (cut off, or it had proper calls) none is recovered."""
        rest, self._pending = self._pending, ""
        if not rest:
            return [], ()
        if self._thinking:
            return [ThoughtPart(rest)], ()
        calls = read_calls(rest, self._tools) if is_whole and self._tools else ()
        return ([], calls) if calls else ([TextPart(rest)], ())

    def _begin(self) -> bool:
        """Decide whether the answer begins with a thought. False: more text is needed for that."""
        head = self._pending.lstrip()
        opened = THINK.match(self._pending)
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
        while found := OPENER.search(framed, at):
            if _may_be_calls(framed[found.start() :], found[0]):
                return found.start() - 1
            at = found.end()
        return len(text) - _overlap(framed, TAGS)


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
    following = OPENER.match("\n" + rest, 1)
    if following:
        return _may_be_calls(rest, following[0])
    return any(one.startswith(rest) for one in (*TAGS, "</tool_call>")) or rest.startswith("</tool_call>")


def _is_json_head(text: str) -> bool:
    """Whether `text` can be the beginning of a call's JSON: its first key is one of a call's."""
    head = JSON_HEAD.match(text)
    if head is None:
        return False
    word = head[1]
    if head.end() == len(text):
        return any(key.startswith(word) for key in KEYS)
    return word in KEYS and text[head.end()] == '"'


def _overlap(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end of `text` may be the beginning of a tag."""
    tail = text[-LONGEST:]
    first = FIRST_SIGN.search(tail)
    if first is None:
        return 0
    for at in range(first.start(), len(tail)):
        rest = tail[at:]
        if any(tag.startswith(rest) and tag != rest for tag in tags):
            return min(len(rest), len(text))
    return 0
