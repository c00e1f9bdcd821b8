"""A settings file of another agent, TOML or JSON with comments: its table, and the line of each key."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from cockpit.formats import config_files
from cockpit.plugin.origin import FileProblem
from cockpit.protocol.messages import Json
from cockpit.settings import config_text, file_io


@dataclass(frozen=True, slots=True)
class SettingsDocument:
    """A file's table, with the line of each path of keys. With `is_project` it belongs to a folder and may
    not choose endpoints or programs for the user."""

    file: str
    table: Mapping[str, Json]
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)
    located: config_files.ConfigFile | None = None
    is_project: bool = False

    def line(self, *path: str | int) -> int:
        if self.located is not None:
            return self.located.line(*path)
        return next(
            (self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), 0
        )

    def section(self, *path: str | int) -> Mapping[str, Json]:
        """The table at `path`, empty if there is none."""
        value = self.at(*path)
        return value if isinstance(value, dict) else {}

    def rows(self, *path: str | int) -> list[Json]:
        value = self.at(*path)
        return value if isinstance(value, list) else []

    def text(self, *path: str | int) -> str:
        value = self.at(*path)
        return value.strip() if isinstance(value, str) else ""

    def at(self, *path: str | int) -> Json:
        value: Json = dict(self.table)
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


def open_document(path: Path) -> SettingsDocument | FileProblem | None:
    """The file at `path`, None if it does not exist, or a fault if it cannot be read."""
    try:
        text = file_io.read_text(path, encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return FileProblem(str(path), 0, f"it cannot be read: {error.strerror}", "check the file")
    if path.suffix != ".toml":
        located = config_files.parse_config(text, str(path))
        return (
            located.faults[0]
            if located.faults
            else SettingsDocument(str(path), located.table(), located=located)
        )
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = config_text.find_toml_error_line(error, text)
        return FileProblem(str(path), line, f"not valid TOML: {error}", "fix the line")
    return SettingsDocument(str(path), cast("Mapping[str, Json]", table), config_text.find_toml_lines(text))
