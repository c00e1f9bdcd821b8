"""What is said of a value that is only known when it runs: the literals, variables and places it is made
of. A deletion of such a value is judged by them, because nothing else can be."""

import re
from collections.abc import Iterator

from cockpit.safety.powershell.findings import Finding, deny
from cockpit.safety.powershell.places import TREES, place
from cockpit.safety.powershell.scope import Scope, fold
from cockpit.safety.powershell.values import Command, Piece, Script, Word, pieces_of

# Words by which PowerShell and .NET name a drive, a home folder, the system or what was typed.
PLACES = (
    (re.compile(r"\.root\b|\broot\b$|getpathroot|directoryroot|getlogicaldrives|get-psdrive|get-volume"
                r"|rootdirectory|driveinfo|systemdrive|homedrive"), "a drive"),
    (re.compile(r"getfolderpath|specialfolder|userprofile"), "a folder of the person or the system"),
    (re.compile(r"systemdirectory|systemroot|windir|programfiles"), "the system"),
    (re.compile(r"historysavepath"), "what was typed"),
)  # fmt: skip


def computed_place(text: str) -> str:
    """The place that `text` names by a property or a function, or ""."""
    low = text.lower().replace("`", "")
    return next((name for pattern, name in PLACES if pattern.search(low)), "")


def judge_removed(word: Word, scope: Scope) -> list[Finding]:
    """The findings on removing what `word` comes to."""
    if name := computed_place(word.text):
        return [deny("ps-delete-tree", f"it removes {name}, computed when it runs", "fs.delete")]
    for value in (*_inner(word.pieces, scope), *_head(word.pieces, scope)):
        seen = place(value, "write", scope)
        if seen.tree in TREES or (seen.level == "deny" and seen.sort in ("secret", "protected", "system")):
            return [deny("ps-delete-tree", f"it removes what it works out of {seen.real}", "fs.delete")]
    return []


def is_output(piece: Piece) -> bool:
    """Whether it is the output of commands alone, each of which is judged where it stands."""
    if piece.kind != "group" or piece.script is None or not piece.script.pipelines:
        return False
    return all(isinstance(one, Command) for pipe in piece.script.pipelines for one in pipe.elements)


def _inner(pieces: tuple[Piece, ...], scope: Scope) -> list[str]:
    """What stands in the groups of a word; `Split-Path` gives the folder above."""
    found = [value for piece in pieces if piece.script is not None for value in mentioned((piece,), scope)]
    return [one for one in found if re.search(r"[\\/~:]|^\.\.$", one)]


def _head(pieces: tuple[Piece, ...], scope: Scope) -> list[str]:
    """The folder in front of the first part that is not known: `C:\\$x` is the drive where $x is empty."""
    known: list[Piece] = []
    for piece in pieces:
        if fold((piece,), scope) is None:
            break
        known.append(piece)
    if not known or len(known) == len(pieces):
        return []
    heads = [re.match(r"(.*[\\/])[^\\/]*$", one, re.DOTALL) for one in fold(tuple(known), scope) or ()]
    return [found[1] for found in heads if found]


def mentioned(pieces: tuple[Piece, ...], scope: Scope) -> list[str]:
    """Every literal in `pieces`, also in groups, and every known value of a variable."""
    found: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            found.append(piece.text)
        elif piece.kind == "var" and piece.text not in ("true", "false", "null"):
            found += fold((piece,), scope) or ()
        elif piece.script is not None and piece.kind != "block":
            for pipeline in piece.script.pipelines:
                for element in pipeline.elements:
                    words = element.words if isinstance(element, Command) else ()
                    inner = [one for word in words for one in _word_values(word, scope)]
                    found += inner if isinstance(element, Command) else mentioned(element.pieces, scope)
                    if not isinstance(element, Command) and element.assigned is not None:
                        found += mentioned((Piece("group", "", element.assigned),), scope)
    return found


def inside(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """Every piece in the groups and blocks of `pieces`."""
    for piece in pieces:
        for pipeline in piece.script.pipelines if piece.script is not None else ():
            for element in pipeline.elements:
                yield from pieces_of(element)
                yield from inside(pieces_of(element))


def _word_values(word: Word, scope: Scope) -> list[str]:
    folded = fold(word.pieces, scope)
    return mentioned(word.pieces, scope) if folded is None else list(folded)


def literals(pieces: tuple[Piece, ...]) -> list[str]:
    """Every literal in `pieces`, also in groups."""
    found: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            found.append(piece.text)
        elif piece.script is not None and piece.kind != "block":
            found += literals_of(piece.script)
    return found


def literals_of(script: Script) -> list[str]:
    """Every literal of a script's commands and expressions."""
    found: list[str] = []
    for pipeline in script.pipelines:
        for element in pipeline.elements:
            if isinstance(element, Command):
                for word in element.words:
                    found += literals(word.pieces)
            else:
                found += literals(element.pieces)
    return found
