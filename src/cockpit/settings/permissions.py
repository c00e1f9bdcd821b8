"""Where permission rules stand: our settings files and those of Claude Code. Reads and edits their lists;
what a rule means is the core's.

Of a project's files only what tightens applies. What they would allow is offered to the person once, and
taken over by them or by nobody. The same holds for what another agent was allowed. A file of ours that
cannot be read refuses everything; one of another agent is told, and the others hold.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.settings import config_text, file_io, files
from cockpit.settings.config_text import InvalidJson
from cockpit.settings.file_io import write_atomically
from cockpit.settings.layers import get_value

RuleLevel = Literal["allow", "ask", "deny"]
RuleScope = Literal["everywhere", "this folder"]
RULE_LEVELS: tuple[RuleLevel, ...] = ("deny", "ask", "allow")
# `Tool` or `Tool(pattern)`.
RULE_FORM = re.compile(r"^\s*([\w*-]+)\s*(?:\((.*)\))?\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PermissionEntry:
    """One rule as it is written. `source` is the file, `scope` whom it concerns. `applies` is False for
    what is only offered. `line` counts from 1; 0: unknown."""

    level: RuleLevel
    text: str
    source: str
    scope: RuleScope
    applies: bool = True
    line: int = 0

    @property
    def where(self) -> str:
        """For people: the file, and whether the rule is for one folder."""
        return f"{self.source}, {self.scope}" if self.scope == "this folder" else self.source


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """What of a file with rules could not be read. `line` counts from 1; 0: the file as a whole. `ours`
    says whether the file is one of cockpit's own."""

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
    """The rules of one file, or of a table of it, with the lines they stand in."""

    file: str
    table: object
    at: tuple[str, ...]
    lines: Mapping[tuple[str | int, ...], int]
    scope: RuleScope
    applies: bool
    ours: bool = True


def load_entries(root: str, trusted: bool) -> tuple[PermissionEntry, ...]:
    """Every rule that is written down for `root`. Raises `SettingsInvalid` for a file of ours that cannot
    be read, naming it."""
    found, unread = read_entries(root, trusted)
    for one in unread:
        if one.ours:
            raise SettingsInvalid(str(one), one.remedy)
    return found


def read_entries(root: str, trusted: bool) -> tuple[tuple[PermissionEntry, ...], tuple[UnreadableEntry, ...]]:
    """Every rule that is written down for `root`, and what of the files could not be read."""
    found: dict[tuple[RuleLevel, str, str, RuleScope], PermissionEntry] = {}
    unread: list[UnreadableEntry] = []
    for one in (*_own_sources(root, trusted), *_claude_sources(root, trusted)):
        for entry in (one,) if isinstance(one, UnreadableEntry) else _parse_source(one):
            if isinstance(entry, UnreadableEntry):
                unread.append(entry)
            else:
                found.setdefault((entry.level, entry.text, entry.source, entry.scope), entry)
    return tuple(found.values()), tuple(unread)


def find_offers(root: str, trusted: bool) -> tuple[PermissionEntry, ...]:
    """What files would allow and do not: for a person to take over or not."""
    rows = load_entries(root, trusted)
    mine = {one.text for one in rows if one.applies and one.level == "allow"}
    return tuple(one for one in rows if not one.applies and one.text not in mine)


def is_new_offer(root: str, offers: tuple[PermissionEntry, ...]) -> bool:
    """Whether just these were not offered for `root` before; they count as offered from now on."""
    if not offers:
        return False
    digest = hashlib.sha256("\n".join(sorted(one.text for one in offers)).encode()).hexdigest()
    file = paths.state() / "offered.json"
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        kept = {}
    if not isinstance(kept, dict) or kept.get(root) == digest:
        return False
    write_atomically(file, json.dumps(kept | {root: digest}, indent=1).encode(), private=True)
    return True


def adopt_offers(root: str, offers: tuple[PermissionEntry, ...]) -> None:
    """Take over what was offered, for this folder, into the person's own settings."""
    for one in offers:
        files.add_user_word(("projects", root, "permissions", "allow"), one.text)


def remove_rule(root: str, text: str) -> tuple[str, ...]:
    """Take the rule `text` out of the person's own settings, for everywhere and for `root`; the lists it
    stood in. What stands in a project's or another agent's file is theirs to change."""
    gone: list[str] = []
    for at in (("permissions",), ("projects", root, "permissions")):
        for level in RULE_LEVELS:
            if files.remove_user_word((*at, level), text):
                gone.append(".".join((*at, level)))
    return tuple(gone)


def _own_sources(root: str, trusted: bool) -> Iterator[PermissionSource | UnreadableEntry]:
    own = [(files.managed_file(), True), (files.user_file(), True)]
    own += [(path, False) for path in files.project_files(root)] if trusted else []
    for path, persons in own:
        try:
            layer = files.read_layer(path, "user") if path.is_absolute() else None
        except SettingsInvalid as error:
            # The message of a settings file begins with its place.
            said = error.message.removeprefix(str(path)).lstrip(":")
            line, colon, reason = said.partition(": ")
            at = int(line) if colon and line.isdigit() else 0
            yield UnreadableEntry(str(path), at, reason if at else said.strip(), error.hint, ours=True)
            continue
        if layer is None:
            continue
        scope: RuleScope = "everywhere" if persons else "this folder"
        yield PermissionSource(str(path), layer.table, ("permissions",), layer.lines, scope, persons)
        if persons:
            at_root = ("projects", root, "permissions")
            yield PermissionSource(str(path), layer.table, at_root, layer.lines, "this folder", True)


def _claude_sources(root: str, trusted: bool) -> Iterator[PermissionSource | UnreadableEntry]:
    places: list[tuple[Path, RuleScope]] = [(Path.home() / ".claude" / "settings.json", "everywhere")]
    if trusted:
        folder = Path(root) / ".claude"
        places += [(folder / name, "this folder") for name in ("settings.json", "settings.local.json")]
    for path, scope in places:
        try:
            table, text = config_text.parse_json(file_io.read_text(path))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            said = f"it cannot be read ({error.strerror}): no rule of it applies"
            yield UnreadableEntry(str(path), 0, said, "make it a plain file that you may read")
            continue
        except InvalidJson as error:
            yield UnreadableEntry(
                str(path), error.line, f"{error.reason}: no rule of it applies", error.remedy
            )
            continue
        lines = config_text.find_json_lines(text) if text else {}
        yield PermissionSource(str(path), table, ("permissions",), lines, scope, False, ours=False)


def _parse_source(one: PermissionSource) -> Iterator[PermissionEntry | UnreadableEntry]:
    def unread(at: tuple[str | int, ...], reason: str, remedy: str) -> UnreadableEntry:
        line = next((one.lines[at[:end]] for end in range(len(at), 0, -1) if at[:end] in one.lines), 0)
        return UnreadableEntry(one.file, line, reason, remedy, one.ours)

    if not isinstance(one.table, Mapping):
        yield unread((), "this is no table of settings", 'write {"permissions": {"deny": ["Tool(pattern)"]}}')
        return
    table = get_value(one.table, one.at)
    if not isinstance(table, Mapping):
        if table is not None:
            yield unread(one.at, f"{one.at[-1]} must be a table", 'write deny = ["Tool(pattern)"] in it')
        return
    for level in RULE_LEVELS:
        words = table.get(level) or []
        if not isinstance(words, list):
            yield unread((*one.at, level), f"permissions.{level} must be a list", 'write ["Tool(pattern)"]')
            continue
        for number, word in enumerate(words):
            at: tuple[str | int, ...] = (*one.at, level, number)
            if not isinstance(word, str) or RULE_FORM.match(word) is None:
                reason = f"{str(word)[:80]!r} in permissions.{level} is no permission rule"
                yield unread(at, reason, "write Tool or Tool(pattern), as Bash(git *)")
                continue
            applies = one.applies or level != "allow"
            yield PermissionEntry(level, word.strip(), one.file, one.scope, applies, one.lines.get(at, 0))
