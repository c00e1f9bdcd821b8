"""Where permission rules stand: our settings files and those of Claude Code. Reads and edits their lists;
what a rule means is the core's.

Of a project's files only what tightens applies. What they would allow is offered to the person once, and
taken over by them or by nobody. The same holds for what another agent was allowed.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.settings import files, plain
from cockpit.settings.atomic import write_atomically

Level = Literal["allow", "ask", "deny"]
LEVELS: tuple[Level, ...] = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule as it is written. `source` is the file, `scope` whom it concerns. `applies` is False for
    what is only offered."""

    level: Level
    text: str
    source: str
    scope: Literal["everywhere", "this folder"]
    applies: bool = True

    @property
    def where(self) -> str:
        """For people: the file, and whether the rule is for one folder."""
        return f"{self.source}, {self.scope}" if self.scope == "this folder" else self.source


def entries(root: str, trusted: bool) -> tuple[Entry, ...]:
    """Every rule that is written down for `root`. Raises `SettingsInvalid`, naming the file."""
    project = Path(root) / ".cockpit"
    found: list[Entry] = []
    for path in (files.managed_file(), files.user_file()):
        table = _toml(path)
        found += _listed(table.get("permissions"), str(path), "everywhere", True)
        found += _listed(_at(table, "projects", root, "permissions"), str(path), "this folder", True)
    if trusted:
        for path in (project / "settings.toml", project / "settings.local.toml"):
            found += _listed(_toml(path).get("permissions"), str(path), "this folder", False)
    claude = [(Path.home() / ".claude" / "settings.json", "everywhere")]
    if trusted:
        folder = Path(root) / ".claude"
        claude += [(folder / name, "this folder") for name in ("settings.json", "settings.local.json")]
    for path, scope in claude:
        within: Literal["everywhere", "this folder"] = (
            "everywhere" if scope == "everywhere" else "this folder"
        )
        found += _listed(_json(path).get("permissions"), str(path), within, False)
    return tuple(dict.fromkeys(found))


def offered(root: str, trusted: bool) -> tuple[Entry, ...]:
    """What files would allow and do not: for a person to take over or not."""
    mine = {one.text for one in entries(root, trusted) if one.applies and one.level == "allow"}
    rows = entries(root, trusted)
    return tuple(one for one in rows if not one.applies and one.text not in mine)


def is_new_offer(root: str, offers: tuple[Entry, ...]) -> bool:
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


def adopt(root: str, offers: tuple[Entry, ...]) -> None:
    """Take over what was offered, for this folder, into the person's own settings."""
    for one in offers:
        files.add_user_word(("projects", root, "permissions", "allow"), one.text)


def remove(root: str, text: str) -> tuple[str, ...]:
    """Take the rule `text` out of the person's own settings, for everywhere and for `root`; the lists it
    stood in. What stands in a project's or another agent's file is theirs to change."""
    gone: list[str] = []
    for at in (("permissions",), ("projects", root, "permissions")):
        for level in LEVELS:
            if files.remove_user_word((*at, level), text):
                gone.append(".".join((*at, level)))
    return tuple(gone)


def _listed(
    table: object, source: str, scope: Literal["everywhere", "this folder"], loosens: bool
) -> Iterator[Entry]:
    if not isinstance(table, Mapping):
        return
    for level in LEVELS:
        words = table.get(level) or []
        if not isinstance(words, list):
            raise SettingsInvalid(f"{source}: permissions.{level} must be a list", 'write ["Tool(pattern)"]')
        for word in words:
            if isinstance(word, str) and word.strip():
                yield Entry(level, word.strip(), source, scope, loosens or level != "allow")


def _at(table: object, *keys: str) -> object:
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(plain.read_bytes(path).decode("utf-8-sig"))
    except OSError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}", "mend it or move it away") from error


def _json(path: Path) -> Mapping[str, object]:
    """Another program's file: one that cannot be read says nothing here."""
    try:
        raw = json.loads(plain.read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}
