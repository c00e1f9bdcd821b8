"""A definition cut out of a file's bytes, and what stands there instead: with its indentation, its line ends,
and the blank lines its neighbours keep. Pure."""

import re
from dataclasses import dataclass

from cockpit.builtin.navigation.heads import headed, joined
from cockpit.builtin.navigation.literals import held

OPENS = re.compile(rb":[ \t]*(?:#[^\n]*)?\Z")
ENDING = re.compile(rb"[ \t]*[;,](?=[ \t\r]*(?:\n|\Z))")
BETWEEN = re.compile(rb"[ \t]*[;,][ \t]*")
TABBED = re.compile(rb"^\t", re.MULTILINE)
SPACED = re.compile(rb"^  ", re.MULTILINE)
WIDTH = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A definition with its whole lines where it has them to itself. `above`, `own` and `below` are the
    file at `path`; `indent` is what its lines begin with, `ending` the `;` or `,` that is no part of it."""

    above: bytes
    own: bytes
    below: bytes
    indent: bytes
    path: str = ""
    ending: str = ""

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of it, from 1."""
        first = self.above.count(b"\n") + 1
        return first, first + self.own.rstrip(b"\r\n").count(b"\n")

    @property
    def newline(self) -> bytes:
        return b"\r\n" if b"\r\n" in self.above + self.own + self.below else b"\n"

    def replaced(self, text: str) -> bytes:
        """With `text` instead; comments and decorators above it stay where `text` brings none."""
        end = self.newline if self.own.endswith(b"\n") else b""
        own = self.own.decode("utf-8", "surrogateescape")[len(self.indent.decode()) :]
        written = self._written(text)[len(self.indent) :].decode("utf-8", "surrogateescape")
        new = joined(headed(own, self.path)[0], written, self.path)
        if self.ending and not new.rstrip().endswith((";", ",")):
            new = new.rstrip() + self.ending
        return self.above + self.indent + new.encode("utf-8", "surrogateescape") + end + self.below

    def before(self, text: str) -> bytes:
        return self.above + self._written(text) + self.newline + self._gap(text) + self.own + self.below

    def after(self, text: str) -> bytes:
        own = self.own if self.own.endswith(b"\n") else self.own + self.newline
        return self.above + own + self._gap(text) + self._written(text) + self.newline + self.below

    def deleted(self, is_python: bool) -> bytes:
        """Without it and the blank lines above; a Python block left empty gets its `pass`."""
        if not self.own.endswith(b"\n") and self.below:
            between = BETWEEN.match(self.below)
            return self.above + (self.below[between.end() :] if between else self.below)
        kept = self.above.rstrip()
        follows = self.below.lstrip(b"\r\n")
        next_indent = follows[: len(follows) - len(follows.lstrip(b" \t"))]
        opens = OPENS.search(kept.rsplit(b"\n", 1)[-1])
        if is_python and self.indent and opens and len(next_indent) < len(self.indent):
            return self.above + self.indent + b"pass" + self.newline + self.below
        if not kept:
            return follows
        if self.path.endswith(".json") and kept.endswith(b",") and follows.lstrip()[:1] in (b"}", b"]"):
            kept = kept[:-1]
        gap_above = _blank_lines(self.above[len(self.above.rstrip()) :])
        below = self.below if gap_above else follows
        return kept + self.newline + (below if follows else b"")

    def _written(self, text: str) -> bytes:
        """`text` where the definition stands: its first line's indentation becomes the definition's, by
        tabs or spaces as the file has them. A line in a long string stays as it is, as does one that
        stands further left."""
        plain = text.replace("\r\n", "\n").strip("\n")
        lines = plain.split("\n")
        still = held(plain, self.path)
        given = _lead(lines[0])
        moves = [
            at not in still and bool(one.strip()) and one.startswith(given) for at, one in enumerate(lines)
        ]
        inner = [one[len(given) :] for one, moving in zip(lines, moves, strict=True) if moving]
        fitted = iter(_fitted(inner, self.above + self.own + self.below))
        wanted = self.indent.decode()
        moved = [wanted + next(fitted) if moving else one for one, moving in zip(lines, moves, strict=True)]
        return self.newline.join(one.encode("utf-8", "surrogatepass") for one in moved)

    def _gap(self, text: str) -> bytes:
        """Blank lines as many as the neighbours keep; none between single lines."""
        if "\n" not in text.strip() and b"\n" not in self.own.strip():
            return b""
        above = _blank_lines(self.above[len(self.above.rstrip()) :]) if self.above.strip() else 0
        space = self.below[: len(self.below) - len(self.below.lstrip())]
        below = _blank_lines(b"\n" + space) if self.below.strip() else 0
        counts = [count for count in (above, below) if count]
        return self.newline * (min(counts) if counts else 1)


def cut(content: bytes, start: int, end: int, path: str = "") -> Piece:
    """The definition `content[start:end]`, widened to its whole lines where nothing else stands on them."""
    line = content.rfind(b"\n", 0, start) + 1
    if content[line:start].strip():
        return Piece(content[:start], content[start:end], content[end:], b"", path)
    body = content[line:end]
    indent = body[: len(body) - len(body.lstrip(b" \t"))]
    ending = ""
    if not content[:end].endswith(b"\n"):
        found = ENDING.match(content, end)
        if found is not None:
            ending, end = found[0].decode().strip(), found.end()
        until = content.find(b"\n", end)
        until = len(content) if until < 0 else until + 1
        if not content[end:until].strip():
            end = until
    return Piece(content[:line], content[line:end], content[end:], indent, path, ending)


def _blank_lines(space: bytes) -> int:
    return max(space.count(b"\n") - 1, 0)


def _lead(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _fitted(lines: list[str], file: bytes) -> list[str]:
    """`lines` indented by tabs where the file is, by spaces where it is; as they are where it is neither."""
    tabs, spaces = len(TABBED.findall(file)), len(SPACED.findall(file))
    if tabs == spaces:
        return lines
    step = _step(lines) if tabs > spaces else _step(file.decode("utf-8", "replace").split("\n"))
    fitted = []
    for line in lines:
        lead = _lead(line)
        width = len(lead.replace("\t", " " * step))
        new = "\t" * (width // step) + " " * (width % step) if tabs > spaces else " " * width
        fitted.append(new + line[len(lead) :])
    return fitted


def _step(lines: list[str]) -> int:
    """By how many spaces a block is indented; a single one stands before the stars of a comment."""
    widths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    return min((one for one in widths if one > 1), default=WIDTH)
