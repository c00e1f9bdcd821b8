"""A definition cut out of a file's bytes, and what stands there instead: with its indentation, its line ends,
and the blank lines its neighbours keep. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A definition with its whole lines where it has them to itself. `above`, `own` and `below` are the
    file; `indent` is what its lines begin with."""

    above: bytes
    own: bytes
    below: bytes
    indent: bytes

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of it, from 1."""
        first = self.above.count(b"\n") + 1
        return first, first + self.own.rstrip(b"\r\n").count(b"\n")

    @property
    def newline(self) -> bytes:
        return b"\r\n" if b"\r\n" in self.above + self.own + self.below else b"\n"

    def replaced(self, text: str) -> bytes:
        end = self.newline if self.own.endswith(b"\n") else b""
        return self.above + self._written(text) + end + self.below

    def before(self, text: str) -> bytes:
        return self.above + self._written(text) + self.newline + self._gap(text) + self.own + self.below

    def after(self, text: str) -> bytes:
        own = self.own if self.own.endswith(b"\n") else self.own + self.newline
        return self.above + own + self._gap(text) + self._written(text) + self.newline + self.below

    def deleted(self, is_python: bool) -> bytes:
        """Without it and the blank lines above; a Python block left empty gets its `pass`."""
        if not self.own.endswith(b"\n") and self.below:
            return self.above + self.below
        kept = self.above.rstrip()
        follows = self.below.lstrip(b"\r\n")
        next_indent = follows[: len(follows) - len(follows.lstrip(b" \t"))]
        opens = kept.rsplit(b"\n", 1)[-1].endswith(b":")
        if is_python and self.indent and opens and len(next_indent) < len(self.indent):
            return self.above + self.indent + b"pass" + self.newline + self.below
        if not kept:
            return follows
        gap_above = _blank_lines(self.above[len(kept) :])
        below = self.below if gap_above else follows
        return kept + self.newline + (below if follows else b"")

    def _written(self, text: str) -> bytes:
        """`text` where the definition stands: its first line's indentation becomes the definition's; a
        line that stands further left (in a long string) stays as it is."""
        lines = text.replace("\r\n", "\n").strip("\n").split("\n")
        given = lines[0][: len(lines[0]) - len(lines[0].lstrip(" \t"))]
        wanted = self.indent.decode()
        moved = [
            wanted + one[len(given) :] if one.strip() and one.startswith(given) else one for one in lines
        ]
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


def cut(content: bytes, start: int, end: int) -> Piece:
    """The definition `content[start:end]`, widened to its whole lines where nothing else stands on them."""
    line = content.rfind(b"\n", 0, start) + 1
    if content[line:start].strip():
        return Piece(content[:start], content[start:end], content[end:], b"")
    body = content[line:end]
    indent = body[: len(body) - len(body.lstrip(b" \t"))]
    if not content[:end].endswith(b"\n"):
        until = content.find(b"\n", end)
        until = len(content) if until < 0 else until + 1
        if not content[end:until].strip():
            end = until
    return Piece(content[:line], content[line:end], content[end:], indent)


def _blank_lines(space: bytes) -> int:
    return max(space.count(b"\n") - 1, 0)
