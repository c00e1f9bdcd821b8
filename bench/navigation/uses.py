"""Samples names in use from a tree of Python sources; the same sources give the same sample."""

import keyword
import random
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEFINING = frozenset({"def", "class", "as", "import", "global", "nonlocal", "del", "lambda"})


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a name; `line` and `column` (in characters) count from 1. `path` is relative."""

    path: str
    line: int
    column: int
    name: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


def sampled(root: Path, count: int, seed: int = 2026) -> Iterator[Use]:
    """Uses in random order, after all files have been read."""
    chance = random.Random(seed)
    files = sorted(root.rglob("*.py"))
    found = [use for path in files for use in _uses(root, path)]
    chance.shuffle(found)
    yield from found[:count]


def _uses(root: Path, path: Path) -> Iterator[Use]:
    """Every name of a file that is not a definition, a keyword or a dunder."""
    name = path.relative_to(root).as_posix()
    before = ""
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.NAME and _is_use(token.string, before):
                yield Use(name, token.start[0], token.start[1] + 1, token.string)
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.string


def _is_use(word: str, before: str) -> bool:
    return not (
        keyword.iskeyword(word)
        or keyword.issoftkeyword(word)
        or word.startswith("__")
        or word in ("self", "cls")
        or before in DEFINING
        or len(word) < 2
    )
