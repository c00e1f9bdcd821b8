"""Parses Markdown: inline markup to text and spans, and blocks line by line while the source streams in.

Finished parts never change again, so the cost of a frame depends on the open paragraph, not on the message.
Markup that is not closed stays as it was written.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.tui.render.layout import Span

PartKind = Literal["paragraph", "heading", "code", "bullet", "quote", "rule", "table"]

_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([\w+#./-]*)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_RULE = re.compile(r"^ {0,3}([-*_])(?:\s*\1){2,}\s*$")
_BULLET = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(?:\s+(.*)|\s*)$")
_QUOTE = re.compile(r"^ {0,3}>\s?(.*)$")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_MAX_CODE_LINES = 60
_INLINE_SIGNS = ("*", "_", "`", "[", "<", "\\", "&", "~~", "://", ":")

_INLINE_TOKEN = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
  | !?\[(?P<label>[^\[\]\n]{0,500})\]\((?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)
  | <(?P<address>https?://[^\s<>]+)>
  | (?P<bare>https?://[^\s<>\[\]`*"]*[^\s<>\[\]`*".,;:!?)'，。、；：！？）」』】》])
  | (?P<run>\*{1,3}|_{1,3}|~~)
  | (?P<place>(?<![\w/.:])(?:[\w.@+-]{0,80}/)*[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,5}:\d+(?::\d+)?(?!\w))
  | &(?P<entity>amp|lt|gt|quot|nbsp|\#39);
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": " ", "#39": "'"}
_FLAG = {1: "i", 2: "b", 3: "bi"}


class _EmphasisRun:
    """A run of `*`, `_` or `~~` that may open or close emphasis; `at` is the number of its piece."""

    __slots__ = ("at", "sign")

    def __init__(self, at: int, sign: str) -> None:
        self.at = at
        self.sign = sign


def parse_inline(source: str, key: str = "body") -> tuple[str, list[Span]]:
    """The text that `source` shows, and its spans with another style than `key`."""
    if not any(sign in source for sign in _INLINE_SIGNS):
        return source, []
    texts: list[str] = []
    kinds: list[str] = []
    flags: list[str] = []
    open_runs: list[_EmphasisRun] = []
    position = 0

    def put(text: str, kind: str = "") -> None:
        texts.append(text)
        kinds.append(kind)
        flags.append("")

    for match in _INLINE_TOKEN.finditer(source):
        if match.start() > position:
            put(source[position : match.start()])
        position = match.end()
        if match.lastgroup == "run" or match["run"]:
            _emphasise(source, match, texts, kinds, flags, open_runs)
            continue
        for text, kind in _token_text(match):
            put(text, kind)
    if position < len(source):
        put(source[position:])
    return _join_spans(texts, kinds, flags, key)


def _token_text(match: re.Match[str]) -> list[tuple[str, str]]:
    if match["escape"]:
        return [(match["escape"][1], "")]
    if match["code"] is not None:
        code = match["code"].replace("\n", " ")
        if len(code) > 2 and code[0] == code[-1] == " " and code.strip():
            code = code[1:-1]
        return [(code, "code")]
    if match["label"] is not None:
        label, url = match["label"], match["url"]
        if not label or label == url:
            return [(url or label, "link")]
        return [(label, "link"), (f" ({url})", "faint")] if url else [(label, "link")]
    if match["address"] or match["bare"]:
        return [(match["address"] or match["bare"], "link")]
    if match["place"]:
        return [(match["place"], "place")]
    return [(_ENTITIES[match["entity"]], "")]


def _emphasise(
    source: str,
    match: re.Match[str],
    texts: list[str],
    kinds: list[str],
    flags: list[str],
    open_runs: list[_EmphasisRun],
) -> None:
    """Close the nearest equal run, or store this one as a possible opening (CommonMark 6.2)."""
    sign = match["run"]
    before = source[match.start() - 1] if match.start() else " "
    after = source[match.end()] if match.end() < len(source) else " "
    opens, closes = not after.isspace(), not before.isspace()
    if sign[0] == "_" or (sign == "*" and before.isalnum() and after.isalnum()):
        # A star inside a word is arithmetic or a glob far more often than emphasis.
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    if closes:
        for number in range(len(open_runs) - 1, -1, -1):
            run = open_runs[number]
            if run.sign != sign or run.at == len(texts) - 1:
                continue
            del open_runs[number:]
            texts[run.at] = ""
            flag = "s" if sign == "~~" else _FLAG[len(sign)]
            for index in range(run.at + 1, len(texts)):
                flags[index] += flag
            return
    if opens:
        open_runs.append(_EmphasisRun(len(texts), sign))
    texts.append(sign)
    kinds.append("")
    flags.append("")


def _join_spans(texts: list[str], kinds: list[str], flags: list[str], key: str) -> tuple[str, list[Span]]:
    spans: list[Span] = []
    position = 0
    for text, kind, flag in zip(texts, kinds, flags, strict=True):
        end = position + len(text)
        if text and (kind or flag):
            spans.append(Span(position, end, _style_key(kind or key, flag)))
        position = end
    return "".join(texts), spans


def _style_key(kind: str, flag: str) -> str:
    letters = "".join(sorted(set(flag)))
    if not letters:
        return kind
    return f"{kind}{letters}" if "+" in kind else f"{kind}+{letters}"


@dataclass(slots=True)
class MarkdownPart:
    """A block of Markdown. `lines` is its source without markers, `level` the level of a heading, `indent`
    the columns of list nesting; `gap`: a blank line precedes it."""

    kind: PartKind
    lines: list[str] = field(default_factory=list)
    level: int = 0
    indent: int = 0
    marker: str = ""
    language: str = ""
    gap: bool = True

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def copy(self) -> "MarkdownPart":
        return replace(self, lines=list(self.lines))


class MarkdownSplitter:
    """Splits a growing source into parts: `done` has the finished ones, `peek` returns the unfinished."""

    __slots__ = ("_blank", "_fence", "_list", "_open", "_tail", "done")

    def __init__(self) -> None:
        self.done: list[MarkdownPart] = []
        self._tail = ""
        self._open: MarkdownPart | None = None
        self._fence = ("", 0)  # the marker that closes the open fence, and its indentation
        self._blank = True
        self._list: list[int] = []  # columns of the markers of the open lists, outermost first

    def feed(self, text: str) -> None:
        """Take more source."""
        lines = (self._tail + text).split("\n")
        self._tail = lines.pop()
        for line in lines:
            self._line(line)

    def close(self) -> None:
        """Finish the last part: the source ends here."""
        if self._tail:
            self._line(self._tail)
            self._tail = ""
        self._finish()

    def peek(self) -> list[MarkdownPart]:
        """The unfinished parts, as they would be drawn now. Changes nothing."""
        if not self._tail or _is_partial_marker(self._tail, self._fence[0]):
            return [self._open.copy()] if self._open else []
        shadow = MarkdownSplitter()
        shadow._open = self._open.copy() if self._open else None
        shadow._fence, shadow._blank, shadow._list = self._fence, self._blank, list(self._list)
        shadow._line(self._tail)
        return [*shadow.done, *([shadow._open] if shadow._open else [])]

    def _finish(self) -> None:
        if self._open is not None:
            self.done.append(self._open)
            self._open = None
        self._fence = ("", 0)

    def _start(self, part: MarkdownPart) -> None:
        self._finish()
        part.gap = self._blank if part.kind in ("bullet", "paragraph") else True
        self._blank = False
        self._open = part

    def _line(self, line: str) -> None:
        if self._fence[0]:
            self._fenced(line)
            return
        if not line.strip():
            self._finish()
            self._blank = True
            return
        if fence := _FENCE.match(line):
            indent = len(fence[1])
            self._start(MarkdownPart("code", indent=self._nesting(indent), language=fence[3]))
            self._fence = (fence[2], indent)
            return
        if self._block(line):
            return
        self._text(line)

    def _fenced(self, line: str) -> None:
        sign, indent = self._fence
        bare = line.strip()
        if bare.startswith(sign) and not bare.strip(sign[0]):
            self._finish()
            self._blank = True
            return
        assert self._open is not None
        if len(self._open.lines) >= (_MAX_CODE_LINES if not bare else 2 * _MAX_CODE_LINES):
            self._continue_code()
        spaces = len(line) - len(line.lstrip(" "))
        self._open.lines.append(line[min(indent, spaces) :])

    def _continue_code(self) -> None:
        """Start another part: long code is cut at blank lines, so that each part is highlighted only once."""
        part, fence = self._open, self._fence
        assert part is not None
        self._finish()
        self._open = MarkdownPart("code", indent=part.indent, language=part.language, gap=False, marker="…")
        self._fence = fence

    def _block(self, line: str) -> bool:
        """Take `line` where its first characters make it a block. Returns whether they do."""
        if heading := _HEADING.match(line):
            self._list.clear()
            self._start(MarkdownPart("heading", [heading[2] or ""], level=len(heading[1])))
            self._finish()
            self._blank = True
            return True
        if self._underlines(line):
            return True
        if _RULE.match(line):
            self._start(MarkdownPart("rule"))
            self._finish()
            self._blank = True
            return True
        if bullet := _BULLET.match(line):
            return self._bullet(bullet)
        if quote := _QUOTE.match(line):
            if self._open is None or self._open.kind != "quote":
                self._start(MarkdownPart("quote"))
            assert self._open is not None
            self._open.lines.append(quote[1])
            return True
        return False

    def _underlines(self, line: str) -> bool:
        """Whether the line makes the paragraph above it a heading or the head of a table."""
        part = self._open
        if part is None or part.kind != "paragraph":
            return False
        bare = line.strip()
        if len(part.lines) == 1 and "|" in part.lines[0] and "-" in bare and _DELIMITER.match(line):
            part.kind = "table"
            part.lines.append(line)
            return True
        if not bare.strip("=") or (len(bare) > 1 and not bare.strip("-")):
            part.kind, part.level = "heading", 1 if bare[0] == "=" else 2
            self._finish()
            self._blank = True
            return True
        return False

    def _bullet(self, match: re.Match[str]) -> bool:
        column, marker, text = len(match[1].expandtabs(4)), match[2], match[3] or ""
        part = self._open
        if part is not None and part.kind == "paragraph" and marker[0].isdigit() and marker[:-1] != "1":
            return False
        if column >= 4 and not self._list:
            return False
        while self._list and self._list[-1] >= column + 1:
            self._list.pop()
        if not self._list or column > self._list[-1] + 1:
            self._list.append(column)
        self._start(MarkdownPart("bullet", [text], indent=2 * (len(self._list) - 1), marker=marker))
        return True

    def _nesting(self, column: int) -> int:
        """The column at which something indented by `column` is drawn."""
        return 2 * sum(marker < column for marker in self._list)

    def _text(self, line: str) -> None:
        part = self._open
        indent = len(line) - len(line.lstrip())
        if part is not None and (part.kind == "table" or part.kind == "code"):
            if "|" in line if part.kind == "table" else indent >= 4:
                part.lines.append(line if part.kind == "table" else line[4:])
                return
            self._finish()
            part = None
        if part is not None:
            part.lines.append(line.strip() if not line.endswith("  ") else line.strip() + "  ")
            return
        if indent == 0:
            self._list.clear()
        if indent >= 4 and not self._list:
            self._start(MarkdownPart("code", [line[4:]]))
            return
        text = line.strip() + ("  " if line.endswith("  ") else "")
        self._start(MarkdownPart("paragraph", [text], indent=self._nesting(indent)))


def _is_partial_marker(tail: str, fence: str) -> bool:
    """Whether `tail` may become a marker (a fence, a rule, a heading) and should not be drawn yet."""
    bare = tail.strip()
    if fence:
        return bool(bare) and not bare.strip(fence[0])
    return len(bare) <= 3 and bool(bare) and not bare.strip("`~#-*_=>|+")
