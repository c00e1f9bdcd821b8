"""Matches the patterns of permission rules against commands, paths and destinations."""

import fnmatch
import re
from functools import cache
from pathlib import Path, PurePosixPath

from cockpit.workspace.worktrees.values import origin_path

OPERATORS = re.compile(r"[;&|\n(){}`<>]+|\$\(|\b(?:do|then|else|exec|sudo|env|command|nohup|time|xargs)\b")
LEADING_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+")
BLANK = " \t\r\"'"


def matches_words(pattern: str, argv: tuple[str | None, ...], bare: bool) -> bool:
    """Whether the words of a command match `pattern`, word by word; a final `*` stands for any further words.
    An unknown word (None) is matched only by that `*`.

    `git *` and `git:*` match `git` alone and with any arguments, but not `gitk`. With `bare` the program must
    be written as in the pattern; without it `/usr/bin/git` is `git` too.
    """
    if not argv:
        return False
    shape = f"{pattern[:-2]} *".split() if pattern.endswith(":*") else pattern.split()
    words = list(argv)
    if not bare and words[0] is not None and "/" not in shape[0]:
        words[0] = words[0].replace("\\", "/").rpartition("/")[2]
    if shape[-1:] == ["*"] and len(shape) > 1:
        shape = shape[:-1]
        words = words[: len(shape)]
    return len(words) == len(shape) and all(
        word is not None and fnmatch.fnmatchcase(word, form) for word, form in zip(words, shape, strict=True)
    )


def matches_command(pattern: str, command: str) -> bool:
    """Match a command's text, for deny and ask rules only."""
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    if pattern.endswith(" *") and command == pattern[:-2]:
        return True
    return fnmatch.fnmatchcase(command, pattern)


def split_commands(line: str) -> list[str]:
    """The texts in `line` that may be commands: rather too many than too few."""
    result = (LEADING_ASSIGNMENTS.sub("", piece.strip(BLANK)) for piece in OPERATORS.split(line))
    return [" ".join(piece.split()) for piece in result if piece.strip(BLANK)]


def matches_destination(pattern: str, destination: str) -> bool:
    return bool(destination) and fnmatch.fnmatchcase(destination, pattern)


def matches_path(pattern: str, path: str, root: str) -> bool:
    """Whether `path` matches `~/x`, `//absolute`, `/absolute` or a path relative to the root; `**` crosses
    folders."""
    if pattern.startswith("~/"):
        pattern = str(Path.home()) + pattern[1:]
    elif pattern.startswith("//"):
        pattern = pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{root}/{pattern.removeprefix('./')}"
    return _glob(pattern).match(str(PurePosixPath(path))) is not None


def restricts_path(pattern: str, path: str, root: str) -> bool:
    """Whether a restriction covers `path`. In a worktree it covers the same file in the tree that the
    worktree was made from as well, seen from either (docs/adr/0023)."""
    paths = dict.fromkeys((path, origin_path(path)))
    roots = dict.fromkeys((root, origin_path(root)))
    return any(matches_path(pattern, path, base) for path in paths for base in roots)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """`**` crosses folders, `*` and `?` do not; a bare folder covers everything below it."""
    forms = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|[*?])", pattern)
    regex = "".join(forms.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(regex + r"(?:/.*)?\Z", re.DOTALL)
