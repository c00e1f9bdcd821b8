"""One server of a file of MCP servers while it is read: field after field, variables filled in, what does not
fit noted with its line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cockpit.formats.jsons import Located
from cockpit.plugin.origin import Fault
from cockpit.protocol.messages import Json

Steps: TypeAlias = tuple[str | int, ...]
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What is called so is not shown: listings are read over shoulders and pasted into issues.
SECRET = re.compile(r"key|token|secret|pass|auth|cred|cookie|pat$|dsn", re.IGNORECASE)
HIDDEN = "***"


@dataclass(slots=True)
class Entry:
    """The server at `path`. `faults` and `understood` grow as it is read; an `is_broken` one is no server."""

    located: Located
    path: Steps
    environment: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)
    understood: dict[str, Json] = field(default_factory=dict)
    is_broken: bool = False

    def at(self, key: str) -> Json:
        return self.located.at(*self.path, key)

    def refuse(self, key: str, reason: str, remedy: str) -> None:
        """The field is not taken over, and the server works without it."""
        self.faults.append(self.located.fault((*self.path, key), reason, remedy))

    def broken(self, key: str, reason: str, remedy: str) -> None:
        """Without the field there is no server."""
        self.refuse(key, reason, remedy)
        self.is_broken = True

    def filled(self, key: str, text: str, *below: str | int) -> str:
        """`text` with its variables. One that is not set, and has no default, breaks the server."""

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            known = self.environment.get(name)
            if known or (known is not None and default is None):
                return known
            if default is not None:
                return default
            path = (*self.path, key, *below)
            reason = f"the environment has no {name}"
            self.faults.append(
                self.located.fault(path, reason, f"set it, or write ${{{name}:-a default}} in its place")
            )
            self.is_broken = True
            return ""

        return VARIABLE.sub(value, text)

    def shown(self, text: str) -> str:
        """`text` as a listing may show it: variables filled in, but for those that hold a secret."""

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2] or ""
            known = self.environment.get(name) or default
            return found[0] if SECRET.search(name) and known != default else known

        return VARIABLE.sub(value, text)

    def text(self, key: str) -> str:
        value = self.at(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.broken(key, f"`{key}` is {value!r}", "write text")
            return ""
        self.understood[key] = self.shown(value.strip())
        return self.filled(key, value.strip())

    def words(self, key: str) -> tuple[str, ...]:
        value = self.at(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str | int | float) for one in value):
            self.broken(key, f"`{key}` is {value!r}", "write a list of texts")
            return ()
        self.understood[key] = [self.shown(str(one)) for one in value]
        return tuple(self.filled(key, str(one), at) for at, one in enumerate(value))

    def table(self, key: str) -> dict[str, str]:
        """Texts by name. What may be secret by its name is not told."""
        value = self.at(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.broken(key, f"`{key}` is {value!r}", "write a table of texts")
            return {}
        out: dict[str, str] = {}
        told: dict[str, Json] = {}
        for name, one in value.items():
            if isinstance(one, bool | int | float | str):
                text = str(one).lower() if isinstance(one, bool) else str(one)
                out[name] = self.filled(key, text, name)
                told[name] = HIDDEN if SECRET.search(name) else self.shown(text)
            else:
                self.refuse(key, f"`{key}.{name}` is no text", "write text")
        self.understood[key] = told
        return out

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.at(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(key, f"`{key}` is {value!r}", "write true or false")
            return default
        self.understood[key] = value
        return value
