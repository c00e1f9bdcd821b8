"""JSON files written by hand: comments, trailing commas and a byte order mark are allowed, and every key
knows its line.

    config = parse_config(text, ".mcp.json")
    config.table("mcpServers")
    config.line("mcpServers", "files", "command")
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from cockpit.plugin.origin import FileProblem
from cockpit.protocol.messages import Json
from cockpit.settings import config_text
from cockpit.settings.config_text import InvalidJson
from cockpit.settings.config_text import PathStep as PathStep
from cockpit.settings.config_text import ValuePath as ValuePath


@dataclass(frozen=True)
class ConfigFile:
    """The value of a file; None if it could not be read, and then `faults` say why.

    A path consists of keys and list positions: `("hooks", "Stop", 0, "hooks", 1)`.
    """

    file: str
    value: Json = None
    faults: tuple[FileProblem, ...] = ()
    plain: str = field(default="", repr=False)

    def at(self, *path: PathStep) -> Json:
        """The value at `path`, or None."""
        value = self.value
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                return None
        return value

    def table(self, *path: PathStep) -> Mapping[str, Json]:
        """The table at `path`, empty if there is none."""
        value = self.at(*path)
        return value if isinstance(value, dict) else {}

    def rows(self, *path: PathStep) -> list[Json]:
        """The list at `path`, empty if there is none."""
        value = self.at(*path)
        return value if isinstance(value, list) else []

    def line(self, *path: PathStep) -> int:
        """The line (from 1) of the key or list item at `path`, else of what encloses it, else 0."""
        for end in range(len(path), 0, -1):
            if found := self._lines.get(path[:end]):
                return found
        return 0

    def fault(self, path: ValuePath, reason: str, remedy: str) -> FileProblem:
        """A fault at the line of `path`."""
        return FileProblem(self.file, self.line(*path), reason, remedy)

    @cached_property
    def _lines(self) -> Mapping[ValuePath, int]:
        return config_text.find_json_lines(self.plain) if self.value is not None else {}


def parse_config(text: str, file: str) -> ConfigFile:
    """Parse the text of `file`. Raises nothing: what cannot be read becomes a fault. An empty file is an
    empty table."""
    try:
        value, plain = config_text.parse_json(text)
    except InvalidJson as error:
        return ConfigFile(file, faults=(FileProblem(file, error.line, error.reason, error.remedy),))
    return ConfigFile(file, cast("Json", value), plain=plain)
