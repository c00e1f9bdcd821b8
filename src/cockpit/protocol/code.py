"""Queries about code and their replies: symbols, uses, problems, the text of a file.

Lines and columns count from 1; columns count characters (code points), and an end column is after the last
character. Paths are relative to the root with `/`, and absolute outside of it.
"""

from dataclasses import dataclass
from typing import Literal

AnswerSource = Literal["lsp", "tree-sitter", "text"]
SourceChoice = Literal["auto", "lsp", "tree-sitter"]
Severity = Literal["error", "warning", "info", "hint"]
Relation = Literal[
    "definition", "implementations", "references", "callers", "callees", "supertypes", "subtypes", "tests"
]


@dataclass(frozen=True, slots=True)
class Symbols:
    """Symbols of the workspace whose name contains `query`; with `path`, the outline of that file."""

    query: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The innermost definition around a position."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Navigate:
    """From `place` (`file:line:column`, or a symbol path `pkg/mod.py:Class.method`) along `relation`."""

    relation: Relation
    place: str
    source: SourceChoice = "auto"


@dataclass(frozen=True, slots=True)
class SymbolRow:
    """A definition or a use.

    `line` to `end_column` is the range of its name, `first` to `last` are the lines of its whole definition
    (0 for a use). `container` is the enclosing symbol: `Cart`, `Cart.total`. `text` is the line, stripped.
    """

    name: str
    kind: str
    path: str
    line: int
    column: int
    text: str
    source: AnswerSource
    end_line: int = 0
    end_column: int = 0
    first: int = 0
    last: int = 0
    container: str = ""


@dataclass(frozen=True, slots=True)
class SymbolRows:
    """`complete` is False while a better answer is on its way; `note` tells the user why."""

    rows: tuple[SymbolRow, ...]
    complete: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Problems:
    """The diagnostics of the language servers for `path`, or (empty) for every file they know."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One diagnostic. `server` reported it; `code` is the server's name for it."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    message: str
    code: str
    server: str


@dataclass(frozen=True, slots=True)
class ProblemRows:
    """`complete` is False while a server has yet to answer; `note` says which one and why."""

    rows: tuple[ProblemRow, ...]
    complete: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Servers:
    """The language servers of this root."""


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A language server. `waiting`: the user must agree first; `absent`: its program is not installed.

    `detail` is its progress, its failure, or what to type next; `log` is the file of its stderr.
    """

    language: str
    name: str
    state: Literal["waiting", "absent", "starting", "indexing", "ready", "stopped", "failed"]
    pid: int = 0
    megabytes: int = 0
    detail: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class ServerRows:
    rows: tuple[ServerRow, ...]


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, lines `first` to `last` (0: to the end)."""

    path: str
    first: int = 1
    last: int = 0


@dataclass(frozen=True, slots=True)
class TextPage:
    """`total` is the number of lines in the file."""

    path: str
    first: int
    text: str
    total: int
