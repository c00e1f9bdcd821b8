"""File patterns in `paths:` fields: the syntax of `.gitignore` with braces.

`*.py` matches at any depth, `src/*.py` directly below `src`, and `src` or `src/**` everything in it.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    import pathspec

MAX_EXPANSIONS = 64
INNERMOST_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def parse_patterns(value: Json) -> tuple[str, ...]:
    """The patterns of a field: a list, or text separated by commas (commas inside braces do not separate)."""
    listed = value if isinstance(value, list) else [value]
    parts = (part for item in listed if isinstance(item, str) for part in re.split(r",(?![^{]*\})|\n", item))
    return tuple(part.strip().removeprefix("./") for part in parts if part.strip())


def expand_braces(pattern: str) -> tuple[str, ...]:
    """`a/*.{ts,tsx}` as `a/*.ts` and `a/*.tsx`; at most 64 patterns."""
    braces = INNERMOST_BRACES.search(pattern)
    if braces is None:
        return (pattern,)
    made: list[str] = []
    for word in braces[1].split(","):
        made += expand_braces(pattern[: braces.start()] + word.strip() + pattern[braces.end() :])
        if len(made) >= MAX_EXPANSIONS:
            break
    return tuple(made[:MAX_EXPANSIONS])


def matches_any(patterns: tuple[str, ...], path: str) -> bool:
    """Whether the relative `/`-separated `path` matches a pattern; a pattern after `!` excludes."""
    return bool(_compile_patterns(patterns).match_file(path))


@lru_cache(maxsize=512)
def _compile_patterns(patterns: tuple[str, ...]) -> "pathspec.GitIgnoreSpec":
    import pathspec

    lines = [line for pattern in patterns for line in expand_braces(pattern)]
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # An invalid pattern matches nothing; the others still apply.
        return pathspec.GitIgnoreSpec.from_lines([line for line in lines if _is_glob(line)])


def _is_glob(line: str) -> bool:
    import pathspec

    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
