"""Which files count: the rules of .gitignore, .git/info/exclude, .ignore and .cockpitignore.

In one folder a later file of that list wins over an earlier one, and a deeper folder over the one above it.
An ignored folder is not entered, so nothing in it can be included again (gitignore(5)). Follows no link and
reads no other file. Imports little: the index process needs it at once.
"""

import os
import re
from dataclasses import dataclass, field

from cockpit.settings import file_io
from cockpit.workspace.word_set import word_set

RULE_FILES = (".gitignore", ".ignore", ".cockpitignore")
VCS_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj"})
CACHE_FOLDERS = word_set(
    """
    node_modules bower_components .venv venv __pycache__ .mypy_cache .pytest_cache .ruff_cache
    .hypothesis .tox .nox .gradle .terraform .eggs .parcel-cache .turbo .next .nuxt .svelte-kit .direnv
    .cache
    """
)
NAMED_GROUP = re.compile(r"\(\?P<\w+>")


@dataclass(slots=True)
class IgnoreRules:
    """The rules of one folder: runs of patterns with the same sign. The last match decides.

    A run has the patterns for a file name alone and those for the path below the folder. Results for names
    are cached: a tree of thirty thousand files has many equal names.
    """

    runs: tuple[tuple[bool, re.Pattern[str] | None, re.Pattern[str] | None], ...]
    seen: dict[str, tuple[bool, ...]] = field(default_factory=dict)

    def verdict(self, name: str, path: str) -> bool | None:
        """True for ignored, False for included again, None if no rule matches. Folders end in `/`."""
        hits = self.seen.get(name)
        if hits is None:
            hits = tuple(names is not None and names.match(name) is not None for _, names, _ in self.runs)
            self.seen[name] = hits
        for (ignores, _, paths), hit in zip(reversed(self.runs), reversed(hits), strict=True):
            if hit or (paths is not None and paths.match(path)):
                return ignores
        return None


def compile_rules(text: str) -> IgnoreRules | None:
    """The rules of an ignore file, None if it has none. Lines that git ignores are skipped."""
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    runs: list[tuple[bool, list[str], list[str]]] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        try:
            regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(line.rstrip("\r"))
        except GitIgnorePatternError:
            continue
        if regex is None or ignores is None:
            continue
        if not runs or runs[-1][0] != ignores:
            runs.append((ignores, [], []))
        _, names, paths = runs[-1]
        only_name = "/" not in line.strip().rstrip("/")
        (names if only_name else paths).append(NAMED_GROUP.sub("(?:", regex))
    if not runs:
        return None
    return IgnoreRules(
        tuple((ignores, _join_patterns(names), _join_patterns(paths)) for ignores, names, paths in runs)
    )


def _join_patterns(regexes: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(regexes)) if regexes else None


# No user's files are deeper; a program could nest folders until every walk fails.
MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The rules of a folder on the way down, and the length of the path up to it."""

    rules: IgnoreRules
    cut: int


RuleStack = tuple[FolderRules, ...]


def list_folder(folder: str, above: RuleStack, hidden: bool) -> tuple[list[os.DirEntry[str]], RuleStack]:
    """The entries of `folder` that are not ignored, by name, and the rules that apply in it."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return [], above
    names = {entry.name for entry in entries}
    levels = above + _load_folder_rules(folder, tuple(name for name in RULE_FILES if name in names))
    return [entry for entry in entries if not _is_excluded(entry, levels, hidden)], levels


def is_excluded(entry: os.DirEntry[str], levels: RuleStack) -> bool:
    """Whether the rules in force in its folder exclude `entry`."""
    return _is_excluded(entry, levels, True)


def _is_excluded(entry: os.DirEntry[str], levels: RuleStack, hidden: bool) -> bool:
    name = entry.name
    if name in VCS_FOLDERS or (name[0] == "." and not hidden):
        return True
    is_folder = entry.is_dir(follow_symlinks=False)
    if is_folder and (name in CACHE_FOLDERS or entry.path.count(os.sep) > MAX_DEPTH):
        return True
    if not levels:
        return False
    sign = "/" if is_folder else ""
    return _is_matched(name + sign, entry.path.replace(os.sep, "/") + sign, levels)


def _is_matched(name: str, path: str, levels: RuleStack) -> bool:
    for level in reversed(levels):
        verdict = level.rules.verdict(name, path[level.cut :])
        if verdict is not None:
            return verdict
    return False


def is_ignored(root: str, path: str, is_folder: bool = False) -> bool:
    """Whether a rule excludes `path` (relative to the root) or a folder between it and the root."""
    real = os.path.normpath(os.path.join(root, path))
    steps = os.path.relpath(real, root).replace(os.sep, "/").split("/")
    folder, levels = root, rules_above(root, root)
    for at, name in enumerate(steps):
        levels += _load_folder_rules(folder, RULE_FILES)
        folder = os.path.join(folder, name)
        sign = "/" if is_folder or at < len(steps) - 1 else ""
        if name in VCS_FOLDERS or (sign and name in CACHE_FOLDERS):
            return True
        if _is_matched(name + sign, folder.replace(os.sep, "/") + sign, levels):
            return True
    return False


def rules_above(root: str, folder: str) -> RuleStack:
    """The rules that reach into `folder` from above, from the top of the repository down.

    Empty if they ignore `folder` itself: a user who names it wants to see its content.
    """
    top = _repository_top(root) or root
    if folder != root and not folder.startswith(root.rstrip(os.sep) + os.sep):
        return ()
    levels = _load_folder_rules(top, (os.path.join(".git", "info", "exclude"),))
    if folder == top:
        return levels
    current = top
    for part in os.path.relpath(folder, top).split(os.sep):
        levels += _load_folder_rules(current, RULE_FILES)
        current = os.path.join(current, part)
        if _is_matched(part + "/", current.replace(os.sep, "/") + "/", levels):
            return ()
    return levels


def _load_folder_rules(folder: str, files: tuple[str, ...]) -> RuleStack:
    text = "\n".join(filter(None, (_read_text(os.path.join(folder, name)) for name in files)))
    rules = compile_rules(text) if text else None
    return (FolderRules(rules, len(folder.rstrip(os.sep)) + 1),) if rules else ()


def _read_text(path: str) -> str:
    try:
        return file_io.read_text(path)
    except OSError:
        return ""


def _repository_top(root: str) -> str:
    """The nearest folder from `root` upwards that has a `.git`, or ""."""
    folder = root
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
