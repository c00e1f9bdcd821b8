"""Which files a `glob` names: gitignore's patterns with `{a,b}`, `!` before one for all others."""

import re
from collections.abc import Callable

BRACES = re.compile(r"\{([^{}]*)\}")
MOST = 256


def matcher(glob: str) -> Callable[[str], bool]:
    """Whether a path relative to the root is meant. An empty glob means every file.

    `*.py` matches at any depth, `src/*.py` below the root only, `src/` all that is in it.
    """
    wanted = [part for part in split(glob) if not part.startswith("!")]
    unwanted = [part[1:] for part in split(glob) if part.startswith("!")]
    takes, leaves = _compiled(wanted), _compiled(unwanted)
    return lambda path: (not wanted or takes(path)) and not leaves(path)


def split(glob: str) -> list[str]:
    """The patterns in `glob`: separated by commas or blanks outside of braces, braces spelled out."""
    parts = [part for part in re.split(r"[,\s]+(?![^{}]*\})", glob.strip()) if part]
    return [spelled for part in parts for spelled in _spelled(part)]


def _spelled(part: str) -> list[str]:
    todo, done = [part], list[str]()
    while todo and len(todo) + len(done) < MOST:
        one = todo.pop(0)
        found = BRACES.search(one)
        if found:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(one)
    return done + todo


def _compiled(patterns: list[str]) -> Callable[[str], bool]:
    # Imported late: only a search with a glob needs it.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns).match_file if patterns else lambda path: False
