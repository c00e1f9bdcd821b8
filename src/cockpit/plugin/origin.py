"""Where a value came from: its file, what of it was understood, and what was refused.

Whatever is read from files (skills, roles, commands, hooks, MCP servers) carries an `Origin`, so that
`cockpit skills list` and its sisters can tell what loaded, and why the rest did not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cockpit.protocol.messages import Json

Layer = Literal["built-in", "plugin", "user", "project", "flags", "managed"]


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something in `file` that was not taken. `line` counts from 1, 0 where the file as a whole is meant.

    `remedy` is what to write instead. The rest of the file, and every other file, still works.
    """

    file: str
    line: int
    reason: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.reason}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The file of a value. `fields` are its settings as they were understood, defaults left out.

    `shadows` are the files of the same name that it hides, the nearest first. `refused` are the fields,
    or lines, that were not taken over.
    """

    file: str
    layer: Layer
    fields: Mapping[str, Json] = field(default_factory=dict)
    shadows: tuple[str, ...] = ()
    refused: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Unloaded:
    """A file that gave no value. A source yields it in place of one, so that listings tell of it and the
    session says it once. `name` is what it would have been called."""

    name: str
    origin: Origin
