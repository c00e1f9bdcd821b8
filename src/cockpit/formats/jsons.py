"""JSON files that people write by hand: with comments, trailing commas, a byte order mark, and with the
line of every key, so that a message can say where.

located = load(text, ".mcp.json")
located.table("mcpServers")
located.line("mcpServers", "files", "command")
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from cockpit.plugin.origin import Fault
from cockpit.protocol.messages import Json
from cockpit.settings import json_text
from cockpit.settings.json_text import JsonBroken
from cockpit.settings.json_text import Path as Path
from cockpit.settings.json_text import Step as Step


@dataclass(frozen=True)
class Located:
    """The value of one file, None where it could not be read: then `faults` says why.

    A path is keys and positions in lists: `("hooks", "Stop", 0, "hooks", 1)`.
    """

    file: str
    value: Json = None
    faults: tuple[Fault, ...] = ()
    plain: str = field(default="", repr=False)

    def at(self, *path: Step) -> Json:
        """The value at `path`, None where there is none."""
        value = self.value
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                return None
        return value

    def table(self, *path: Step) -> Mapping[str, Json]:
        """The table at `path`, empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, dict) else {}

    def rows(self, *path: Step) -> list[Json]:
        """The list at `path`, empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, list) else []

    def line(self, *path: Step) -> int:
        """The line of the key (or, in a list, of the value) at `path`, counted from 1; of what is around it
        where it is not there; 0 where the file has no such table at all."""
        for end in range(len(path), 0, -1):
            if found := self._lines.get(path[:end]):
                return found
        return 0

    def fault(self, path: Path, reason: str, remedy: str) -> Fault:
        """A fault at the line of `path`."""
        return Fault(self.file, self.line(*path), reason, remedy)

    @cached_property
    def _lines(self) -> Mapping[Path, int]:
        return json_text.lines(self.plain) if self.value is not None else {}


def load(text: str, file: str) -> Located:
    """Read the text of `file`. Raises nothing: what cannot be read becomes a fault. An empty file is an
    empty table."""
    try:
        value, plain = json_text.parse(text)
    except JsonBroken as error:
        return Located(file, faults=(Fault(file, error.line, error.reason, error.remedy),))
    return Located(file, cast("Json", value), plain=plain)
