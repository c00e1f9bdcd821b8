"""JSON and TOML files written by hand, in which every key knows its line.

JSON may contain comments, trailing commas and a byte order mark.

    config = parse_config(text, ".mcp.json")
    config.table("mcpServers")
    config.line("mcpServers", "files", "command")
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from cockpit.plugin.origin import FileProblem
from cockpit.protocol.messages import Json
from cockpit.settings import config_text, file_io
from cockpit.settings.config_text import InvalidJson
from cockpit.settings.config_text import PathStep as PathStep
from cockpit.settings.config_text import ValuePath as ValuePath


@dataclass(frozen=True)
class ConfigFile:
    """The value of a file; None if it could not be read, and then `faults` say why.

    A path consists of keys and list positions: `("hooks", "Stop", 0, "hooks", 1)`. With `is_project` the file
    belongs to a folder and may not choose endpoints or programs for the user.
    """

    file: str
    value: Json = None
    faults: tuple[FileProblem, ...] = ()
    plain: str = field(default="", repr=False)
    is_project: bool = False

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

    def text(self, *path: PathStep) -> str:
        """The text at `path`, stripped, or an empty string."""
        value = self.at(*path)
        return value.strip() if isinstance(value, str) else ""

    def line(self, *path: PathStep) -> int:
        """The line (from 1) of the key or list item at `path`, else of what encloses it, else 0."""
        for end in range(len(path), 0, -1):
            if line := self._lines.get(path[:end]):
                return line
        return 0

    def fault(self, path: ValuePath, reason: str, remedy: str) -> FileProblem:
        """A fault at the line of `path`."""
        return FileProblem(self.file, self.line(*path), reason, remedy)

    @cached_property
    def _lines(self) -> Mapping[ValuePath, int]:
        if self.value is None:
            return {}
        if self.file.endswith(".toml"):
            return config_text.find_toml_lines(self.plain)
        return config_text.find_json_lines(self.plain)


def parse_config(text: str, file: str) -> ConfigFile:
    """Parse the text of `file`, TOML or JSON by its suffix. An empty file is an empty table.

    Raises nothing: what cannot be read becomes a fault.
    """
    if file.endswith(".toml"):
        text = text.removeprefix("\ufeff")
        try:
            return ConfigFile(file, cast("Json", tomllib.loads(text)), plain=text)
        except tomllib.TOMLDecodeError as error:
            line = config_text.find_toml_error_line(error, text)
            return ConfigFile(file, faults=(FileProblem(file, line, f"not valid TOML: {error}", "fix it"),))
    try:
        value, plain = config_text.parse_json(text)
    except InvalidJson as error:
        return ConfigFile(file, faults=(FileProblem(file, error.line, error.reason, error.remedy),))
    return ConfigFile(file, cast("Json", value), plain=plain)


def read_config(path: Path) -> ConfigFile | None:
    """The file at `path`, or None if it does not exist. What cannot be read becomes a fault."""
    try:
        return parse_config(file_io.read_text(path), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        fault = FileProblem(str(path), 0, f"it cannot be read: {error.strerror or error}", "check the file")
        return ConfigFile(str(path), faults=(fault,))
