"""Permission rules in files: cockpit's settings files and those of Claude Code. Reads and edits the lists;
the core knows what a rule means.

Only what tightens applies from a project's or another agent's file. What they would allow is offered to the
user once, who adopts it or not. An unreadable file of cockpit's own refuses everything; one of another agent
is reported, and the other files still apply.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.settings import config_text, file_io, files
from cockpit.settings.config_text import InvalidJson, ValuePath
from cockpit.settings.file_io import write_atomically
from cockpit.settings.layers import get_value

RuleLevel = Literal["allow", "ask", "deny"]
RuleScope = Literal["everywhere", "this folder"]
RULE_LEVELS: tuple[RuleLevel, ...] = ("deny", "ask", "allow")
# `Tool` or `Tool(pattern)`.
RULE_FORM = re.compile(r"^\s*([\w*-]+)\s*(?:\((.*)\))?\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PermissionEntry:
    """One rule as written in the file `source`. `scope` says where it applies. `applies` is False for a rule
    that is only offered."""

    level: RuleLevel
    text: str
    source: str
    scope: RuleScope
    applies: bool = True
    find_line: Callable[[], int] = field(default=lambda: 0, compare=False, repr=False)

    @property
    def line(self) -> int:
        """The line in `source`, counted from 1; 0 if it is unknown."""
        return self.find_line()

    @property
    def where(self) -> str:
        """The file, and whether the rule is for one folder; for display."""
        return f"{self.source}, {self.scope}" if self.scope == "this folder" else self.source


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """A part of a rules file that could not be read. `line` counts from 1; 0: the whole file. `ours` says
    whether the file is one of cockpit's own."""

    source: str
    line: int
    reason: str
    remedy: str
    ours: bool = False

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """The rules of one file, or of the table in it at `path`. `text` and `find_lines` give the lines."""

    file: str
    table: object
    path: tuple[str, ...]
    text: str
    find_lines: Callable[[str], Mapping[ValuePath, int]]
    scope: RuleScope
    applies: bool
    ours: bool = True

    def line(self, path: ValuePath) -> int:
        """The line of the value at `path` or of the nearest table around it; 0 if there is none."""
        lines = self.find_lines(self.text) if self.text else {}
        return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)


def load_entries(root: str, trusted: bool) -> tuple[PermissionEntry, ...]:
    """Every rule for `root`. Raises `SettingsInvalid` if a file of cockpit's own cannot be read."""
    entries, unread = read_entries(root, trusted)
    for entry in unread:
        if entry.ours:
            raise SettingsInvalid(str(entry), entry.remedy)
    return entries


def read_entries(root: str, trusted: bool) -> tuple[tuple[PermissionEntry, ...], tuple[UnreadableEntry, ...]]:
    """Every rule for `root`, and the parts of files that could not be read."""
    rules: dict[tuple[RuleLevel, str, str, RuleScope], PermissionEntry] = {}
    unread: list[UnreadableEntry] = []
    for source in (*_own_sources(root, trusted), *_claude_sources(root, trusted)):
        for entry in (source,) if isinstance(source, UnreadableEntry) else _parse_source(source):
            if isinstance(entry, UnreadableEntry):
                unread.append(entry)
            else:
                rules.setdefault((entry.level, entry.text, entry.source, entry.scope), entry)
    return tuple(rules.values()), tuple(unread)


def find_offers(root: str, trusted: bool) -> tuple[PermissionEntry, ...]:
    """Rules that files would allow but that do not apply until the user adopts them."""
    entries = load_entries(root, trusted)
    adopted = {entry.text for entry in entries if entry.applies and entry.level == "allow"}
    return tuple(entry for entry in entries if not entry.applies and entry.text not in adopted)


def is_new_offer(root: str, offers: tuple[PermissionEntry, ...]) -> bool:
    """Whether these offers have not been made for `root` before. Records them as made."""
    if not offers:
        return False
    digest = hashlib.sha256("\n".join(sorted(offer.text for offer in offers)).encode()).hexdigest()
    file = paths.state() / "offered.json"
    try:
        digests = json.loads(file.read_bytes())
    except (OSError, ValueError):
        digests = {}
    if not isinstance(digests, dict) or digests.get(root) == digest:
        return False
    write_atomically(file, json.dumps(digests | {root: digest}, indent=1).encode(), private=True)
    return True


def adopt_offers(root: str, offers: tuple[PermissionEntry, ...]) -> None:
    """Add offered rules, for this folder, to the user's own settings."""
    for offer in offers:
        files.add_user_word(("projects", root, "permissions", "allow"), offer.text)


def remove_rule(root: str, text: str) -> tuple[str, ...]:
    """Remove the rule `text` from the user's own settings, both general and for `root`.

    Returns the names of the lists that held it. Files of a project or another agent are not changed.
    """
    lists: list[str] = []
    for table in (("permissions",), ("projects", root, "permissions")):
        for level in RULE_LEVELS:
            if files.remove_user_word((*table, level), text):
                lists.append(".".join((*table, level)))
    return tuple(lists)


def _own_sources(root: str, trusted: bool) -> Iterator[PermissionSource | UnreadableEntry]:
    own = [(files.managed_file(), True), (files.user_file(), True)]
    own += [(path, False) for path in files.project_files(root)] if trusted else []
    for path, is_users in own:
        try:
            layer = files.read_layer(path, "user") if path.is_absolute() else None
        except SettingsInvalid as error:
            # The message begins with the path and, if known, the line.
            message = error.message.removeprefix(str(path)).lstrip(":")
            number, colon, reason = message.partition(": ")
            line = int(number) if colon and number.isdigit() else 0
            yield UnreadableEntry(str(path), line, reason if line else message.strip(), error.hint, ours=True)
            continue
        if layer is None:
            continue
        source = PermissionSource(
            str(path),
            layer.table,
            ("permissions",),
            layer.text,
            config_text.find_toml_lines,
            "everywhere" if is_users else "this folder",
            is_users,
        )
        yield source
        if is_users:
            yield replace(source, path=("projects", root, "permissions"), scope="this folder")


def _claude_sources(root: str, trusted: bool) -> Iterator[PermissionSource | UnreadableEntry]:
    candidates: list[tuple[Path, RuleScope]] = [(Path.home() / ".claude" / "settings.json", "everywhere")]
    if trusted:
        folder = Path(root) / ".claude"
        candidates += [(folder / name, "this folder") for name in ("settings.json", "settings.local.json")]
    for path, scope in candidates:
        file = str(path)
        try:
            table, text = config_text.parse_json(file_io.read_text(path))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = f"cannot be read ({error.strerror}); none of its rules apply"
            yield UnreadableEntry(file, 0, reason, "make it a regular file that you can read")
            continue
        except InvalidJson as error:
            reason = f"{error.reason}; none of its rules apply"
            yield UnreadableEntry(file, error.line, reason, error.remedy)
            continue
        find_lines = config_text.find_json_lines
        yield PermissionSource(file, table, ("permissions",), text, find_lines, scope, False, ours=False)


def _parse_source(source: PermissionSource) -> Iterator[PermissionEntry | UnreadableEntry]:
    def unreadable(path: ValuePath, reason: str, remedy: str) -> UnreadableEntry:
        return UnreadableEntry(source.file, source.line(path), reason, remedy, source.ours)

    if not isinstance(source.table, Mapping):
        remedy = 'write {"permissions": {"deny": ["Tool(pattern)"]}}'
        yield unreadable((), "not a table of settings", remedy)
        return
    table = get_value(source.table, source.path)
    if not isinstance(table, Mapping):
        if table is not None:
            reason = f"{source.path[-1]} must be a table"
            yield unreadable(source.path, reason, 'write deny = ["Tool(pattern)"] in it')
        return
    for level in RULE_LEVELS:
        words = table.get(level) or []
        if not isinstance(words, list):
            reason = f"permissions.{level} must be a list"
            yield unreadable((*source.path, level), reason, 'write ["Tool(pattern)"]')
            continue
        for index, word in enumerate(words):
            path: ValuePath = (*source.path, level, index)
            if not isinstance(word, str) or RULE_FORM.match(word) is None:
                reason = f"invalid permission rule {str(word)[:80]!r} in permissions.{level}"
                yield unreadable(path, reason, "write Tool or Tool(pattern), for example Bash(git *)")
                continue
            applies = source.applies or level != "allow"
            yield PermissionEntry(
                level, word.strip(), source.file, source.scope, applies, partial(source.line, path)
            )
