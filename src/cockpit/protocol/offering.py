"""What a session could be asked to do: its tools with their schemas, its prompts. For frontends that offer
them to another program (docs/mcp-serve.md). Part of `protocol/queries`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cockpit.protocol.messages import Json, Kind


@dataclass(frozen=True, slots=True)
class Tools:
    """Every tool there is, sent to the model or not."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool as its caller must know it. `parameters` is a JSON Schema object. `looks_only`: whatever its
    arguments are, it changes nothing and sends nothing."""

    name: str
    description: str
    kind: Kind
    parameters: Mapping[str, Json]
    capabilities: tuple[str, ...]
    looks_only: bool
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class ToolRows:
    rows: tuple[ToolRow, ...]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Every command of a file that becomes a prompt: commands, skills."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """Such a command. `arguments` are the names of what it takes, `hint` shows them to a person."""

    name: str
    description: str
    hint: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRows:
    rows: tuple[PromptRow, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """What a model would get of the prompt `name`, with `text` after its name. No turn begins. A skill is
    not in force by it, and runs nothing; what a command's file runs to be written is judged as ever."""

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    text: str


Offering: TypeAlias = Tools | Prompts | Expand
Offered: TypeAlias = ToolRows | PromptRows | Expanded
