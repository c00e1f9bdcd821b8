"""Which words in the arguments of a foreign tool may be paths. Too many rather than too few: nobody but the
server knows what it does with a word, and each of these is judged as a path. Pure, but for links."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cockpit.protocol.messages import Json

MOST = 200
LONGEST = 4_096
NAMED = re.compile(r"path|file|dir|folder|cwd|root|location|source|destination|target|uri", re.IGNORECASE)
LINES = re.compile(r"command|cmd|script|shell|^args$|argv", re.IGNORECASE)
ROOTED = re.compile(r"^(?:/|~/|~$|\.{1,2}/|\\\\|[A-Za-z]:[\\/])")
HIDDEN = re.compile(r"^\.[A-Za-z]")
WORDS = re.compile(r"[^\s'\"`=<>|;&(){}\[\],]+")


def words_in(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The words of `arguments` that may be paths. Touches no file."""
    words = dict.fromkeys(word for word in _words(dict(arguments), "") if 0 < len(word) <= LONGEST)
    return tuple(words)[:MOST]


def paths_in(words: tuple[str, ...], root: str) -> tuple[str, ...]:
    """The real paths that `words` may name, seen from `root`. Follows links, so it is called in a worker
    thread."""
    real = (os.path.realpath(Path(root, _at_home(word))) for word in words)
    return tuple(dict.fromkeys(real))


def _at_home(word: str) -> str:
    return f"{Path.home()}{word[1:]}" if word == "~" or word.startswith("~/") else word


def _words(value: Json, name: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from _of(value, name)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one, name)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _words(one, key)


def _of(text: str, name: str) -> Iterator[str]:
    """A value by itself, and the words of one that may be a command line."""
    whole = text.strip()
    if "\0" in whole:
        return
    if whole.startswith("file:"):
        yield unquote(urlsplit(whole).path)
        return
    if (NAMED.search(name) and "\n" not in whole and "://" not in whole) or _looks(whole):
        yield whole
    elif LINES.search(name):
        for word in WORDS.findall(whole[: 4 * LONGEST]):
            if _looks(word) and not word.startswith("//"):
                yield word


def _looks(word: str) -> bool:
    if not word or "://" in word or any(character.isspace() for character in word):
        return False
    return bool(ROOTED.match(word) or HIDDEN.match(word)) or ("/" in word and ".." in word) or "/." in word
