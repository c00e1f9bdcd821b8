"""What the reader of PowerShell finds in a text: scripts, pipelines, commands, expressions, words."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

PieceKind = Literal["text", "var", "group", "block", "hash", "type", "member", "op"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word or an expression. `text` is literal text, or the name of a variable, type, member
    or operator. `script` is what stands in a group (`( )`, `$( )`, `@( )`), a block or a hash table."""

    kind: PieceKind
    text: str = ""
    script: "Script | None" = None


@dataclass(frozen=True, slots=True)
class Word:
    """One argument. `joined`: it follows a comma. `quoted`: it starts with a quote, so that a dash in it
    is no parameter. `odd`: shells could disagree about where it ends."""

    pieces: tuple[Piece, ...]
    text: str
    joined: bool = False
    quoted: bool = False
    odd: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """`> file`; `target` is None where streams are merged."""

    operator: str
    target: Word | None


@dataclass(frozen=True, slots=True)
class Command:
    """A name and its arguments. `invoked` is the operator in front: "", `&` or `.`."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    text: str
    start: int
    invoked: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """Everything that is no command: `pieces` in order. `assigned` is the statement behind `=`, `target`
    the variable before it."""

    pieces: tuple[Piece, ...]
    redirects: tuple[Redirect, ...]
    text: str
    start: int
    target: str = ""
    assigned: "Script | None" = None


Element: TypeAlias = Command | Expression


@dataclass(frozen=True, slots=True)
class Pipeline:
    elements: tuple[Element, ...]
    background: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    pipelines: tuple[Pipeline, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, read to its end whatever is in it. `faults` are what is no plain PowerShell; `commas` where
    arguments are parted by one."""

    script: Script
    faults: tuple[str, ...]
    commas: tuple[int, ...] = ()


def pieces_of(element: Element) -> tuple[Piece, ...]:
    """All pieces of its words and redirections, in order."""
    if isinstance(element, Expression):
        words = [one.target for one in element.redirects if one.target is not None]
        return (*element.pieces, *(piece for word in words for piece in word.pieces))
    words = [*element.words, *(one.target for one in element.redirects if one.target is not None)]
    return tuple(piece for word in words for piece in word.pieces)
