"""Globs of files as `paths:` fields hold them: those of `.gitignore`, with braces. Reads nothing.

`*.py` fits at any depth, `src/*.py` below the folder only, `src` and `src/**` all that is in it.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    import pathspec

MOST = 64
INNERMOST = re.compile(r"\{([^{}]*,[^{}]*)\}")


def patterns_of(value: Json) -> tuple[str, ...]:
    """The globs of a field: a list, or text with commas between them; a comma in braces divides nothing."""
    listed = value if isinstance(value, list) else [value]
    found = (part for one in listed if isinstance(one, str) for part in re.split(r",(?![^{]*\})|\n", one))
    return tuple(part.strip().removeprefix("./") for part in found if part.strip())


def unbraced(pattern: str) -> tuple[str, ...]:
    """`a/*.{ts,tsx}` as `a/*.ts` and `a/*.tsx`, 64 at most."""
    found = INNERMOST.search(pattern)
    if found is None:
        return (pattern,)
    made: list[str] = []
    for one in found[1].split(","):
        made += unbraced(pattern[: found.start()] + one.strip() + pattern[found.end() :])
        if len(made) >= MOST:
            break
    return tuple(made[:MOST])


def fits(patterns: tuple[str, ...], path: str) -> bool:
    """Whether `path`, relative and with `/`, fits one of `patterns`; one with `!` before it takes back."""
    return bool(_spec(patterns).match_file(path))


@lru_cache(maxsize=512)
def _spec(patterns: tuple[str, ...]) -> "pathspec.GitIgnoreSpec":
    import pathspec

    lines = [line for pattern in patterns for line in unbraced(pattern)]
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # One that is no glob fits nothing, and the others go on.
        return pathspec.GitIgnoreSpec.from_lines([line for line in lines if _is_glob(line)])


def _is_glob(line: str) -> bool:
    import pathspec

    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
