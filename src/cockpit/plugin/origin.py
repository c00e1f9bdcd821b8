"""The origin of a value: its file, the settings that were read, and those that were refused.

Everything read from files (skills, roles, commands, hooks, MCP servers) carries an `Origin`, so that `cockpit
skills list` and similar commands can show what was loaded, and why the rest was not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cockpit.protocol.messages import Json

Layer = Literal["built-in", "plugin", "user", "project", "flags", "managed"]


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something in `file` that was not accepted. `line` counts from 1; 0 means the whole file. `remedy` says
    what to write instead. The rest of the file is still used."""

    file: str
    line: int
    reason: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.reason}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The file of a value. `fields` are its settings as they were understood, without defaults.

    `shadows` are the files with the same name that it hides, the nearest first. `refused` are the fields or
    lines that were not accepted.
    """

    file: str
    layer: Layer
    fields: Mapping[str, Json] = field(default_factory=dict)
    shadows: tuple[str, ...] = ()
    refused: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Unloaded:
    """A file that gave no value. A source yields it instead of a value, so that listings show it and the
    session reports it once. `name` is the name the value would have had."""

    name: str
    origin: Origin
