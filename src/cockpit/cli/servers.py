"""Which language servers would start in a folder, which are missing: for `cockpit lsp` and doctor."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.navigation.languages import language_of
from cockpit.navigation.lsp import approvals, lsp_json, programs, status
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.workspace.walking import walk_files

LOOKED_AT = 5000
"""Files that are counted by language; a folder of more is told by these."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server of a language. `files` is how many files of it the folder holds; `program` where its
    program is, empty when it is not installed; `why` what keeps it from starting."""

    language: str
    server: LanguageServer
    files: int
    program: str
    state: Literal["found", "absent", "waiting"]
    why: str = ""


def candidates(root: str, registered: Sequence[Language], trusted: bool) -> tuple[Candidate, ...]:
    """For each language its first server that is installed (or could be) and those beside it; languages
    the folder holds come first, the most used before others."""
    named = lsp_json.read_all(root, paths.config()) if trusted else lsp_json.Read()
    languages = (*named.languages, *registered)
    files = counted(root, languages)
    ordered = sorted(languages, key=lambda one: -files[one.name])
    return tuple(
        _candidate(root, language, server, files[language.name], trusted)
        for language in ordered
        for server in _chosen(root, language, trusted)
    )


def counted(root: str, languages: Sequence[Language]) -> Counter[str]:
    """Files of the folder by language."""
    found: Counter[str] = Counter()
    for entry in islice(walk_files(root), LOOKED_AT):
        if (language := language_of(entry.path, languages)) is not None:
            found[language.name] += 1
    return found


def _chosen(root: str, language: Language, trusted: bool) -> Iterator[LanguageServer]:
    mains = [one for one in language.servers if not one.beside]
    installed = [one for one in mains if programs.found(one.command, root, trusted)]
    yield from (installed or mains)[:1]
    yield from (one for one in language.servers if one.beside)


def _candidate(root: str, language: Language, server: LanguageServer, files: int, trusted: bool) -> Candidate:
    found = programs.found(server.command, root, trusted)
    program = found[0] if found else ""
    if not program:
        return Candidate(language.name, server, files, "", "absent", server.install)
    if server.named_by and not approvals.is_allowed(allowed_file(root), server, root):
        why = f"{server.named_by} names it: cockpit lsp allow {server.name}"
        return Candidate(language.name, server, files, program, "waiting", why)
    if server.runs_project and not trusted:
        why = "it runs code of the project: cockpit --trust"
        return Candidate(language.name, server, files, program, "waiting", why)
    return Candidate(language.name, server, files, program, "found")


def allowed_file(root: str) -> Path:
    """Where a person's yeses for the servers of a project's file lie."""
    return approvals.file_in(status.folder_of(paths.state(), str(Path(root).resolve())))
