"""Block Markdown, line by line as it streams: what is finished never changes again.

`Splitter.feed` takes pieces of source of any size; `done` grows by finished parts, `peek` gives the
unfinished ones. So the cost of a frame is bounded by the open paragraph, not by the message.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

PartKind = Literal["paragraph", "heading", "code", "bullet", "quote", "rule", "table"]

_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([\w+#./-]*)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_RULE = re.compile(r"^ {0,3}([-*_])(?:\s*\1){2,}\s*$")
_BULLET = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(?:\s+(.*)|\s*)$")
_QUOTE = re.compile(r"^ {0,3}>\s?(.*)$")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CODE_LINES = 60


@dataclass(slots=True)
class Part:
    """A block of Markdown. `level` is a heading's level; `indent` the columns of a list's nesting;
    `gap` says that a blank line stands before it; `lines` is its source without its signs."""

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

    def copy(self) -> "Part":
        return Part(
            self.kind, list(self.lines), self.level, self.indent, self.marker, self.language, self.gap
        )


class Splitter:
    """The parts of a growing source."""

    __slots__ = ("_blank", "_fence", "_list", "_open", "_tail", "done")

    def __init__(self) -> None:
        self.done: list[Part] = []
        self._tail = ""
        self._open: Part | None = None
        self._fence = ("", 0)  # the sign that closes the open fence, and its indentation
        self._blank = True
        self._list: list[int] = []  # columns of the markers of the open lists, outermost first

    def feed(self, text: str) -> None:
        """Take more source."""
        lines = (self._tail + text).split("\n")
        self._tail = lines.pop()
        for line in lines:
            self._line(line)

    def close(self) -> None:
        """The source ends here."""
        if self._tail:
            self._line(self._tail)
            self._tail = ""
        self._finish()

    def peek(self) -> list[Part]:
        """What is unfinished, as it would be drawn now. Changes nothing."""
        if not self._tail or _is_half_a_sign(self._tail, self._fence[0]):
            return [self._open.copy()] if self._open else []
        shadow = Splitter()
        shadow._open = self._open.copy() if self._open else None
        shadow._fence, shadow._blank, shadow._list = self._fence, self._blank, list(self._list)
        shadow._line(self._tail)
        return [*shadow.done, *([shadow._open] if shadow._open else [])]

    def _finish(self) -> None:
        if self._open is not None:
            self.done.append(self._open)
            self._open = None
        self._fence = ("", 0)

    def _start(self, part: Part) -> None:
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
            self._start(Part("code", indent=self._nesting(indent), language=fence[3]))
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
        if len(self._open.lines) >= (_CODE_LINES if not bare else 2 * _CODE_LINES):
            self._continue_code()
        spaces = len(line) - len(line.lstrip(" "))
        self._open.lines.append(line[min(indent, spaces) :])

    def _continue_code(self) -> None:
        """Long code is many parts, cut at blank lines, so that each is coloured only once."""
        part, fence = self._open, self._fence
        assert part is not None
        self._finish()
        self._open = Part("code", indent=part.indent, language=part.language, gap=False, marker="…")
        self._fence = fence

    def _block(self, line: str) -> bool:
        """Whether `line` is a block by its first signs; then it was taken."""
        if heading := _HEADING.match(line):
            self._list.clear()
            self._start(Part("heading", [heading[2] or ""], level=len(heading[1])))
            self._finish()
            self._blank = True
            return True
        if self._underlines(line):
            return True
        if _RULE.match(line):
            self._start(Part("rule"))
            self._finish()
            self._blank = True
            return True
        if bullet := _BULLET.match(line):
            return self._bullet(bullet)
        if quote := _QUOTE.match(line):
            if self._open is None or self._open.kind != "quote":
                self._start(Part("quote"))
            assert self._open is not None
            self._open.lines.append(quote[1])
            return True
        return False

    def _underlines(self, line: str) -> bool:
        """A line that makes the paragraph above it a heading, or a table's head."""
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
        self._start(Part("bullet", [text], indent=2 * (len(self._list) - 1), marker=marker))
        return True

    def _nesting(self, column: int) -> int:
        """The columns at which something indented by `column` is drawn."""
        return 2 * sum(1 for one in self._list if one < column)

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
            self._start(Part("code", [line[4:]]))
            return
        kept = line.strip() + ("  " if line.endswith("  ") else "")
        self._start(Part("paragraph", [kept], indent=self._nesting(indent)))


def _is_half_a_sign(tail: str, fence: str) -> bool:
    """Whether `tail` may yet become a sign (a fence, a rule, a heading) and is not worth drawing."""
    bare = tail.strip()
    if fence:
        return bool(bare) and not bare.strip(fence[0])
    return len(bare) <= 3 and bool(bare) and not bare.strip("`~#-*_=>|+")
