"""Cuts a definition out of a file and writes another text in its place. Pure.

The new text gets the indentation, line ends and blank lines of its surroundings. Comments and decorators
above the definition belong to it. Lines inside a multi-line string are never indented, as that would change
the string.
"""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cockpit.plugin.navigation import Position
from cockpit.protocol.code import SymbolRow

SHARP_COMMENT_SUFFIXES = frozenset({"py", "pyi", "pyw", "sh", "bash", "zsh", "rb", "toml", "yaml", "yml"})
SLASH_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SHARP_COMMENT_LINE = re.compile(r"#[^\n]*")
DECORATOR_START = re.compile(r"@(?!interface\b)[\w.$:]+(?=\s*(\()?)|(?P<open>#!?\[|\[\[)")
QUOTED_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'")
OPEN, CLOSE = "([{", ")]}"


# "comment" or "decorator", and its text with the space after it.
LeadingPart = tuple[str, str]


def split_leading(text: str, path: str) -> tuple[list[LeadingPart], str]:
    """Split `text` into the comments and decorators above the definition, and the rest."""
    suffix = path.rpartition(".")[2].lower()
    comment = SHARP_COMMENT_LINE if suffix in SHARP_COMMENT_SUFFIXES else SLASH_COMMENT
    parts: list[LeadingPart] = []
    at = 0
    while at < len(text):
        match = comment.match(text, at)
        end = match.end() if match else _decorator_end(text, at)
        if not end:
            break
        end = len(text) - len(text[end:].lstrip())
        parts.append(("comment" if match else "decorator", text[at:end]))
        at = end
    return parts, text[at:]


def join_leading(old: Sequence[LeadingPart], text: str, path: str) -> str:
    """A new definition below the comments and decorators of the old one, unless it has its own."""
    new, rest = split_leading(text, path)
    new_kinds = {kind for kind, _ in new}
    old_parts = "".join(part for kind, part in old if kind not in new_kinds)
    if new_kinds == {"comment"}:  # comments come first, decorators directly above the definition
        return "".join(part for _, part in new) + old_parts + rest
    return old_parts + text


def _decorator_end(text: str, at: int) -> int:
    """The end of the decorator that begins at `at`, or 0 if none does."""
    match = DECORATOR_START.match(text, at)
    if match is None:
        return 0
    if match["open"]:
        return _bracket_end(text, at)
    return _bracket_end(text, text.index("(", match.end())) if match[1] else match.end()


def _bracket_end(text: str, at: int) -> int:
    """The end of the bracket that opens at or after `at`, or 0 if it is not closed."""
    depth = 0
    while at < len(text):
        quoted = QUOTED_STRING.match(text, at)
        if quoted is not None:
            at = quoted.end()
            continue
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        at += 1
        if not depth and text[at - 1] in CLOSE:
            return at
    return 0


LINE_COMMENT = r"//[^\n]*"
BLOCK_COMMENT = r"/\*.*?(?:\*/|\Z)"
SHELL_COMMENT = r"(?:(?<=\s)|(?<![^\n]))\#[^\n]*"
SHORT_STRING = r'"(?:\\.|[^"\\\n])*"?' + r"|'(?:\\.|[^'\\\n])*'?"
TRIPLE_QUOTED = r'"""(?:\\.|.)*?(?:"""|\Z)'
TRIPLE_QUOTED_BOTH = TRIPLE_QUOTED + r"|'''(?:\\.|.)*?(?:'''|\Z)"
TEMPLATE_STRING = r"`(?:\\.|\$\{(?:[^{}`]|\{[^{}]*\}|`(?:\\.|[^`\\])*`)*\}|[^`\\])*(?:`|\Z)"
# A slash after one of these characters begins a regular expression; quotes in it do not begin a string.
REGEX_LITERAL = r"[(,=:\[!&|?{};]\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/"
HEREDOC = r"<<-?[ \t]*(['\"]?)(?P<end>\w+)\1[^\n]*\n.*?(?:^[ \t]*(?P=end)$|\Z)"
RUST_STRING = r"r(?P<rust>\#+)\".*?(?:\"(?P=rust)|\Z)|'(?:\\[^'\n]+|[^'\\\n])'" + r'|"(?:\\.|[^"\\])*(?:"|\Z)'
CPP_STRING = r"R\"(?P<cpp>[^\s()\\]{0,16})\(.*?(?:\)(?P=cpp)\"|\Z)"
SHELL_STRING = r'"(?:\\.|[^"\\])*(?:"|\Z)' + r"|'[^']*(?:'|\Z)"

C_COMMENTS = (LINE_COMMENT, BLOCK_COMMENT)
STRING_SYNTAX = {
    "py pyi pyw": ("#[^\n]*", TRIPLE_QUOTED_BOTH, SHORT_STRING),
    "js jsx mjs cjs ts mts cts tsx": (*C_COMMENTS, REGEX_LITERAL, TEMPLATE_STRING, SHORT_STRING),
    "go": (*C_COMMENTS, r"`[^`]*(?:`|\Z)", SHORT_STRING),
    "rs": (*C_COMMENTS, RUST_STRING),
    "java kt kts scala swift cs": (*C_COMMENTS, TRIPLE_QUOTED, SHORT_STRING),
    "c h cc cpp cxx hh hpp hxx m mm": (*C_COMMENTS, CPP_STRING, SHORT_STRING),
    "sh bash zsh": (HEREDOC, SHELL_COMMENT, SHELL_STRING),
    "lua": (r"--(?!\[)[^\n]*", r"\[\[.*?(?:\]\]|\Z)", SHORT_STRING),
    "": (TRIPLE_QUOTED_BOTH, TEMPLATE_STRING),
}


def lines_inside_strings(text: str, path: str) -> frozenset[int]:
    """The lines (from 0) of `text` that begin inside a string. Python docstrings, which move with their
    definition, do not count."""
    inside: set[int] = set()
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    for match in _string_pattern(suffix).finditer(text):
        if match[0].startswith(("//", "/*", "#")) or "\n" not in match[0]:
            continue
        if path.endswith((".py", ".pyi")) and _is_docstring(text, match.start()):
            continue
        first = text.count("\n", 0, match.start())
        inside.update(range(first + 1, first + 1 + match[0].count("\n")))
    return frozenset(inside)


def _is_docstring(text: str, at: int) -> bool:
    """Whether the string at an offset is the first statement of a body."""
    before, _, lead = text[:at].rpartition("\n")
    return not lead.strip() and before.rstrip().endswith(":")


@cache
def _string_pattern(suffix: str) -> re.Pattern[str]:
    names = next((names for names in STRING_SYNTAX if suffix in names.split()), "")
    return re.compile("|".join(f"(?:{syntax})" for syntax in STRING_SYNTAX[names]), re.DOTALL | re.MULTILINE)


BLOCK_OPENER = re.compile(rb":[ \t]*(?:#[^\n]*)?\Z")
TRAILING_SEPARATOR = re.compile(rb"[ \t]*[;,](?=[ \t\r]*(?:\n|\Z))")
INLINE_SEPARATOR = re.compile(rb"[ \t]*[;,][ \t]*")
TAB_INDENT = re.compile(rb"^\t", re.MULTILINE)
SPACE_INDENT = re.compile(rb"^  ", re.MULTILINE)
DEFAULT_INDENT = 4


@dataclass(frozen=True, slots=True)
class DefinitionSlice:
    """A definition, with its whole lines if nothing else is on them. `above`, `own` and `below` together are
    the file at `path`. `indent` is the definition's indentation, `ending` the `;` or `,` after it."""

    above: bytes
    own: bytes
    below: bytes
    indent: bytes
    path: str = ""
    ending: str = ""

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the definition, from 1."""
        first = self.above.count(b"\n") + 1
        return first, first + self.own.rstrip(b"\r\n").count(b"\n")

    @property
    def newline(self) -> bytes:
        return b"\r\n" if b"\r\n" in self.above + self.own + self.below else b"\n"

    def replace(self, text: str) -> bytes:
        """The file with `text` instead; comments and decorators remain unless `text` has its own."""
        end = self.newline if self.own.endswith(b"\n") else b""
        own = self.own.decode("utf-8", "surrogateescape")[len(self.indent.decode()) :]
        indented = self._indent(text)[len(self.indent) :].decode("utf-8", "surrogateescape")
        new = join_leading(split_leading(own, self.path)[0], indented, self.path)
        if self.ending and not new.rstrip().endswith((";", ",")):
            new = new.rstrip() + self.ending
        return self.above + self.indent + new.encode("utf-8", "surrogateescape") + end + self.below

    def insert_before(self, text: str) -> bytes:
        return self.above + self._indent(text) + self.newline + self._gap(text) + self.own + self.below

    def insert_after(self, text: str) -> bytes:
        own = self.own if self.own.endswith(b"\n") else self.own + self.newline
        return self.above + own + self._gap(text) + self._indent(text) + self.newline + self.below

    def delete(self, is_python: bool) -> bytes:
        """The file without the definition and the blank lines above; an empty Python block gets `pass`."""
        if not self.own.endswith(b"\n") and self.below:
            between = INLINE_SEPARATOR.match(self.below)
            return self.above + (self.below[between.end() :] if between else self.below)
        above = self.above.rstrip()
        following = self.below.lstrip(b"\r\n")
        next_indent = following[: len(following) - len(following.lstrip(b" \t"))]
        opens_block = BLOCK_OPENER.search(above.rsplit(b"\n", 1)[-1])
        if is_python and self.indent and opens_block and len(next_indent) < len(self.indent):
            return self.above + self.indent + b"pass" + self.newline + self.below
        if not above:
            return following
        has_gap = _count_blank_lines(self.above[len(above) :]) > 0
        if self.path.endswith(".json") and above.endswith(b",") and following.lstrip()[:1] in (b"}", b"]"):
            above = above[:-1]
        below = self.below if has_gap else following
        return above + self.newline + (below if following else b"")

    def _indent(self, text: str) -> bytes:
        """`text` indented like the definition, with tabs or spaces as in the file. Lines inside strings, and
        lines that are indented less than the first line, stay as they are."""
        plain = text.replace("\r\n", "\n").strip("\n")
        lines = plain.split("\n")
        fixed = lines_inside_strings(plain, self.path)
        lead = _leading_space(lines[0])
        filled = [at for at, line in enumerate(lines) if at not in fixed and line.strip()]
        moved = [at for at in filled if lines[at].startswith(lead)]
        inner = [lines[at][len(lead) :] for at in moved]
        indented = _match_indentation(inner, self.above + self.own + self.below)
        for at, line in zip(moved, indented, strict=True):
            lines[at] = self.indent.decode() + line
        return self.newline.join(line.encode("utf-8", "surrogatepass") for line in lines)

    def _gap(self, text: str) -> bytes:
        """As many blank lines as the neighbours have; none between single lines."""
        if "\n" not in text.strip() and b"\n" not in self.own.strip():
            return b""
        above = _count_blank_lines(self.above[len(self.above.rstrip()) :]) if self.above.strip() else 0
        space = self.below[: len(self.below) - len(self.below.lstrip())]
        below = _count_blank_lines(b"\n" + space) if self.below.strip() else 0
        counts = [count for count in (above, below) if count]
        return self.newline * (min(counts) if counts else 1)


def cut_definition(content: bytes, start: int, end: int, path: str = "") -> DefinitionSlice:
    """The definition `content[start:end]`, widened to whole lines if nothing else is on them."""
    line = content.rfind(b"\n", 0, start) + 1
    if content[line:start].strip():
        return DefinitionSlice(content[:start], content[start:end], content[end:], b"", path)
    body = content[line:end]
    indent = body[: len(body) - len(body.lstrip(b" \t"))]
    ending = ""
    if not content[:end].endswith(b"\n"):
        separator = TRAILING_SEPARATOR.match(content, end)
        if separator is not None:
            ending, end = separator[0].decode().strip(), separator.end()
        until = content.find(b"\n", end)
        until = len(content) if until < 0 else until + 1
        if not content[end:until].strip():
            end = until
    return DefinitionSlice(content[:line], content[line:end], content[end:], indent, path, ending)


def _count_blank_lines(space: bytes) -> int:
    return max(space.count(b"\n") - 1, 0)


def _leading_space(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _match_indentation(lines: list[str], file: bytes) -> list[str]:
    """Convert the indentation of `lines` to the tabs or spaces that the file prefers, if it does."""
    tabs, spaces = len(TAB_INDENT.findall(file)), len(SPACE_INDENT.findall(file))
    if tabs == spaces:
        return lines
    sample = lines if tabs > spaces else file.decode("utf-8", "replace").split("\n")
    widths = [len(line) - len(line.lstrip(" ")) for line in sample if line.strip()]
    # A single space precedes the stars of a block comment.
    step = min((width for width in widths if width > 1), default=DEFAULT_INDENT)
    converted = []
    for line in lines:
        lead = _leading_space(line)
        width = len(lead.replace("\t", " " * step))
        new = "\t" * (width // step) + " " * (width % step) if tabs > spaces else " " * width
        converted.append(new + line[len(lead) :])
    return converted


def names_in_statement(piece: DefinitionSlice, at: Position, rows: Sequence[SymbolRow]) -> tuple[str, ...]:
    """The names that one statement defines together, as in `a = b = 2` or `const a = 1, b = 2`. `piece` is
    the statement around `at`, `rows` are the file's definitions. Nested definitions do not count."""
    inside = [row for row in rows if _is_in_statement(row, piece)]
    if not inside:
        return ()
    named = [row for row in inside if (row.line, row.column) == (at.line, at.column)]
    target = named[0] if named else min(inside, key=_nesting_depth)
    names = [row.name for row in inside if _nesting_depth(row) <= _nesting_depth(target)]
    if piece.path.endswith((".py", ".pyi")):
        names += _assigned_names(piece.own.decode("utf-8", "replace"))
    return tuple(dict.fromkeys(names))


def _nesting_depth(row: SymbolRow) -> int:
    return row.container.count(".") + 1 if row.container else 0


def _is_in_statement(row: SymbolRow, piece: DefinitionSlice) -> bool:
    """Whether the statement contains the name of a definition."""
    first = piece.above.count(b"\n") + 1
    if not first <= row.line <= first + piece.own.count(b"\n"):
        return False
    lines = (piece.above.rpartition(b"\n")[2] + piece.own).split(b"\n")
    before = lines[row.line - first].decode("utf-8", "replace")[: row.column - 1]
    offset = sum(len(line) + 1 for line in lines[: row.line - first]) + len(before.encode())
    begins = len(piece.above.rpartition(b"\n")[2])
    return begins <= offset < begins + len(piece.own)


def _assigned_names(text: str) -> list[str]:
    """The names that a Python assignment sets. The outline has only the first of them."""
    try:
        body = ast.parse(textwrap.dedent(text).strip()).body
    except (SyntaxError, ValueError):
        return []
    if len(body) != 1 or not isinstance(body[0], ast.Assign):
        return []
    return [
        ast.unparse(node)
        for target in body[0].targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
