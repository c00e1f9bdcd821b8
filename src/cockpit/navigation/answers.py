"""Answers of language servers, and the languages of a file by its name: shared by the backends and the
modules that use them."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from cockpit.plugin.languages import Language
from cockpit.protocol.code import ProblemRow, SymbolRow

ServerRelation = Literal[
    "definition", "implementations", "references", "callers", "callees", "supertypes", "subtypes"
]


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer. `settled` is False while it may be incomplete because the server is still
    indexing."""

    rows: tuple[SymbolRow, ...]
    settled: bool = True
    server: str = ""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why no server answers. `soon`: asking again is worthwhile. `refused`: a server is there but will not do
    this."""

    reason: str
    soon: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FileDiagnostics:
    """Problems of one file. `servers` answered, `late` did not answer in time."""

    rows: tuple[ProblemRow, ...]
    servers: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


# The problems of each file before and after a change, by path.
StagedDiagnostics: TypeAlias = tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]]


def find_language(path: str, languages: Iterable[Language]) -> Language | None:
    """The first language with a glob that matches the file's name."""
    return next(find_languages(path, languages), None)


def find_languages(path: str, languages: Iterable[Language]) -> Iterator[Language]:
    """Every language with a glob that matches: a project may name servers for a language that has a
    grammar."""
    name = posixpath.basename(path.replace("\\", "/"))
    for language in languages:
        if any(fnmatchcase(name, glob) for glob in language.globs):
            yield language
