"""Which language a file is of. Knows names of files only, no contents."""

import posixpath
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from cockpit.plugin.languages import Language


def language_of(path: str, languages: Iterable[Language]) -> Language | None:
    """The first language one of whose globs fits the file's name."""
    return next(languages_of(path, languages), None)


def languages_of(path: str, languages: Iterable[Language]) -> Iterator[Language]:
    """Every language one of whose globs fits: a project may name servers for one that has a grammar."""
    name = posixpath.basename(path.replace("\\", "/"))
    for language in languages:
        if any(fnmatchcase(name, glob) for glob in language.globs):
            yield language
