"""Syntax of a PowerShell text as the reader returns it: scripts, pipelines, commands, expressions, words."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

PieceKind = Literal["text", "var", "group", "block", "hash", "type", "member", "op"]


@dataclass(frozen=True, slots=True)
class WordPiece:
    """A part of a word or an expression.

    `text` is literal text, or the name of a variable, type, member or operator. `script` is the content of a
    group (`( )`, `$( )`, `@( )`), a block or a hash table.
    """

    kind: PieceKind
    text: str = ""
    script: "PowerShellScript | None" = None


@dataclass(frozen=True, slots=True)
class PowerShellWord:
    """One argument. `joined`: it follows a comma. `quoted`: it starts with a quote, so that a dash in it does
    not make it a parameter. `ambiguous`: shells could disagree about where it ends."""

    pieces: tuple[WordPiece, ...]
    text: str
    joined: bool = False
    quoted: bool = False
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class PowerShellRedirect:
    """`> file`; `target` is None where streams are merged."""

    operator: str
    target: PowerShellWord | None


@dataclass(frozen=True, slots=True)
class PowerShellCommand:
    """A name and its arguments. `invoked` is the operator before it: "", `&` or `.`."""

    words: tuple[PowerShellWord, ...]
    redirects: tuple[PowerShellRedirect, ...]
    text: str
    start: int
    invoked: str = ""


@dataclass(frozen=True, slots=True)
class PowerShellExpression:
    """Anything that is not a command, as `pieces` in order. `assigned` is the statement after `=`, `target`
    the variable before it."""

    pieces: tuple[WordPiece, ...]
    redirects: tuple[PowerShellRedirect, ...]
    text: str
    start: int
    target: str = ""
    assigned: "PowerShellScript | None" = None


PipelineElement: TypeAlias = PowerShellCommand | PowerShellExpression


@dataclass(frozen=True, slots=True)
class PowerShellPipeline:
    elements: tuple[PipelineElement, ...]
    background: bool = False


@dataclass(frozen=True, slots=True)
class PowerShellScript:
    pipelines: tuple[PowerShellPipeline, ...]

    @property
    def elements(self) -> list[PipelineElement]:
        """The elements of all pipelines, in order."""
        return [element for pipeline in self.pipelines for element in pipeline.elements]


@dataclass(frozen=True, slots=True)
class ScriptReading:
    """A text, read to its end whatever it contains. `faults` say what is not plain PowerShell."""

    script: PowerShellScript
    faults: tuple[str, ...]


def list_pieces(element: PipelineElement) -> tuple[WordPiece, ...]:
    """All pieces of an element's words and redirections, in order."""
    own, words = (element.pieces, ()) if isinstance(element, PowerShellExpression) else ((), element.words)
    targets = (redirect.target for redirect in element.redirects if redirect.target is not None)
    return (*own, *(piece for word in (*words, *targets) for piece in word.pieces))
