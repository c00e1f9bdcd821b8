"""Whether a hook's matcher fits: nothing or `*` is everything, letters, digits, `_-,|` and blanks are a
list of exact names, anything else is a regular expression that may fit anywhere."""

import re
from functools import lru_cache

EXACT = re.compile(r"[\w\-,| ]*\Z", re.ASCII)
RULE = re.compile(r"\s*([\w*-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
# With these a pattern says what a name is not: another name of the same tool would fit it.
NEGATING = ("(?!", "[^", "(?<!")


def fault_of(matcher: str) -> str:
    """Why a matcher cannot be used, empty where it can."""
    if matcher == "*" or EXACT.match(matcher):
        return ""
    try:
        re.compile(_ours(matcher))
    except re.error as error:
        return f"the matcher {matcher!r} is no regular expression: {error.msg}"
    return ""


def fits(matcher: str, names: tuple[str, ...]) -> bool:
    """Whether the matcher fits one of the names of a thing, the best known first."""
    if matcher in ("", "*"):
        return True
    if EXACT.match(matcher):
        return bool(_listed(matcher) & {*names})
    if any(sign in matcher for sign in NEGATING):
        names = names[:1]
    pattern = _compiled(matcher)
    return pattern is not None and any(pattern.search(name) for name in names)


def rule_of(when: str) -> tuple[str, str] | None:
    """The tool and the pattern of `Bash(git *)`; None for what is no permission rule."""
    found = RULE.fullmatch(when)
    return (found[1], (found[2] or "").strip()) if found else None


@lru_cache(maxsize=256)
def _listed(matcher: str) -> frozenset[str]:
    return frozenset(part.strip() for part in re.split(r"[|,]", matcher) if part.strip())


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str] | None:
    try:
        return re.compile(_ours(matcher))
    except re.error:
        return None


def _ours(matcher: str) -> str:
    """JavaScript's named groups as Python writes them."""
    return re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", matcher)
