"""Whether a rule's pattern fits a command, a path or a destination. Pure; knows no rule and no level."""

import fnmatch
import re
from functools import cache
from pathlib import Path, PurePosixPath

from cockpit.workspace.worktrees.values import origin_path

OPERATORS = re.compile(r"[;&|\n(){}`<>]+|\$\(|\b(?:do|then|else|exec|sudo|env|command|nohup|time|xargs)\b")
LEADING_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+")
BLANK = " \t\r\"'"


def matches_words(pattern: str, argv: tuple[str | None, ...], bare: bool) -> bool:
    """Whether a command's words have the pattern's shape: word by word, `*` at its end standing for any
    further words. A word that is not known yet (None) fits nothing but such a `*`.

    `git *` and `git:*` cover `git` alone and with anything behind it, but not `gitk`. `bare` wants the
    program as it stands; without it `/usr/bin/git` is `git` too.
    """
    if not argv:
        return False
    shape = f"{pattern[:-2]} *".split() if pattern.endswith(":*") else pattern.split()
    words = list(argv)
    if not bare and words[0] is not None:
        words[0] = words[0].replace("\\", "/").rpartition("/")[2] if "/" not in shape[0] else words[0]
    if shape[-1:] == ["*"] and len(shape) > 1:
        shape = shape[:-1]
        words = words[: len(shape)]
    if len(words) != len(shape):
        return False
    return all(
        word is not None and fnmatch.fnmatchcase(word, one) for word, one in zip(words, shape, strict=True)
    )


def matches_command(pattern: str, command: str) -> bool:
    """The same on text, for deny and ask rules alone."""
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    if pattern.endswith(" *") and command == pattern[:-2]:
        return True
    return fnmatch.fnmatchcase(command, pattern)


def split_commands(line: str) -> list[str]:
    """What may be a command in `line`, read coarsely: too many rather than too few."""
    found = (LEADING_ASSIGNMENTS.sub("", piece.strip(BLANK)) for piece in OPERATORS.split(line))
    return [" ".join(piece.split()) for piece in found if piece.strip(BLANK)]


def matches_destination(pattern: str, destination: str) -> bool:
    return bool(destination) and fnmatch.fnmatchcase(destination, pattern)


def matches_path(pattern: str, path: str, root: str) -> bool:
    """`~/x`, `//absolute`, `/absolute` or relative to the root; `**` crosses folders."""
    if pattern.startswith("~/"):
        pattern = str(Path.home()) + pattern[1:]
    elif pattern.startswith("//"):
        pattern = pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{root}/{pattern.removeprefix('./')}"
    return _glob(pattern).match(str(PurePosixPath(path))) is not None


def restricts_path(pattern: str, path: str, root: str) -> bool:
    """The same for what forbids: a worktree is the tree it was made from. So a pattern holds for the file in
    either of them, seen from either of them (docs/adr/0023)."""
    paths = dict.fromkeys((path, origin_path(path)))
    roots = dict.fromkeys((root, origin_path(root)))
    return any(matches_path(pattern, one, base) for one in paths for base in roots)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """`**` crosses folders, `*` and `?` do not; a bare folder covers what is below it."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(out) + r"(?:/.*)?\Z", re.DOTALL)
