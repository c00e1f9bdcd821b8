"""Queries: questions to a session that only read, can be cancelled and leave no trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.protocol.code import (
    FileText,
    Navigate,
    Place,
    ProblemRows,
    Problems,
    ServerRows,
    Servers,
    SymbolRows,
    Symbols,
    TextPage,
)
from cockpit.protocol.content import Diff
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import Json, Kind
from cockpit.protocol.rows import CheckpointRow as CheckpointRow
from cockpit.protocol.rows import CheckpointRows as CheckpointRows
from cockpit.protocol.rows import Checkpoints as Checkpoints
from cockpit.protocol.rows import SettingRow


@dataclass(frozen=True, slots=True)
class Tools:
    """Every tool, whether sent to the model or not."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool as its caller must know it. `parameters` is a JSON Schema object. `looks_only`: with any
    arguments it changes nothing and sends nothing."""

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
    """Every command from a file that becomes a prompt: commands and skills."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """Such a command. `arguments` are the names of its arguments, `hint` shows them to the user."""

    name: str
    description: str
    hint: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRows:
    rows: tuple[PromptRow, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """The text that a model would get for the prompt `name`, with `text` after its name.

    No turn begins. A skill does not come into force and runs nothing; what the file of a command runs to
    build its text is judged as usual.
    """

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    text: str


CatalogQuery: TypeAlias = Tools | Prompts | Expand
CatalogReply: TypeAlias = ToolRows | PromptRows | Expanded


@dataclass(frozen=True, slots=True)
class Complete:
    """Completions at `cursor` (in characters) of `text`; `trigger` is the character that opened the list."""

    trigger: Literal["/", "@", "#", "!"]
    text: str
    cursor: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Replace the characters `start` to `end` with `insert`."""

    insert: str
    label: str
    detail: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Completions:
    rows: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Every slash command."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    name: str
    description: str
    hint: str
    plugin: str


@dataclass(frozen=True, slots=True)
class CommandRows:
    rows: tuple[CommandRow, ...]


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of the same root."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A stored session. `updated` is seconds since the epoch."""

    id: str
    root: str
    title: str
    updated: float
    turns: int
    model: str


@dataclass(frozen=True, slots=True)
class SessionRows:
    rows: tuple[SessionRow, ...]


@dataclass(frozen=True, slots=True)
class ContextRows:
    """What fills the context window."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One part of the next request; `seq` is 0 for parts that are not messages."""

    seq: int
    label: str
    tokens: int
    state: str = ""


@dataclass(frozen=True, slots=True)
class ContextTable:
    rows: tuple[ContextRow, ...]
    window: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that this session has changed, compared with their state when it began."""


@dataclass(frozen=True, slots=True)
class ChangeRows:
    rows: tuple[Diff, ...]


@dataclass(frozen=True, slots=True)
class Refusals:
    """The hunks that the user has refused in this session: the hunk ledger (docs/safety/ledger.md)."""


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """A refused hunk: its file, its first line, and its removed and added lines with their signs."""

    path: str
    line: int
    lines: tuple[str, ...]
    call: str
    time: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class RefusalRows:
    rows: tuple[RefusalRow, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """The whole output behind the handle of a result, from character `cursor` on."""

    handle: str
    cursor: int = 0


@dataclass(frozen=True, slots=True)
class OutputPage:
    """`cursor` is the start of the next page, -1 after the last."""

    text: str
    cursor: int
    total: int


@dataclass(frozen=True, slots=True)
class AgentEvents:
    """What a subagent (its path, or a unique part of it) has done, from `cursor` on."""

    agent: str
    cursor: int = 0


@dataclass(frozen=True, slots=True)
class AgentEventRows:
    """Durable envelopes in order; `cursor` is the start of the next ones."""

    rows: tuple[Envelope, ...]
    cursor: int


@dataclass(frozen=True, slots=True)
class Plugins:
    """Every plugin, loaded or not."""


@dataclass(frozen=True, slots=True)
class PluginRow:
    """A plugin. `milliseconds` is the time to load and register it, `hooks` the share of each of its hooks.
    `calls` and `spent` count how often, and for how many milliseconds in total, its guards, deciders, context
    sources and observers have run since."""

    name: str
    distribution: str
    version: str
    state: Literal["loaded", "failed", "disabled"]
    registers: tuple[str, ...]
    reason: str
    milliseconds: float
    hooks: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PluginRows:
    rows: tuple[PluginRow, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force, and what the session counts: tools, skills, models."""


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """`values` by dotted key; `counts` of what is registered by name; `sources` are file paths; `rows` is
    every setting with its origin."""

    values: Mapping[str, Json]
    counts: Mapping[str, int]
    sources: tuple[str, ...]
    rows: tuple[SettingRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """What is registered of one kind: `tools`, `models`, `skills`, `roles`, `mcp_servers`, ..."""

    kind: str


@dataclass(frozen=True, slots=True)
class ListingRow:
    """One registered value; `shadows` names the layer that it hides. `values` are the colours of a theme."""

    name: str
    description: str
    plugin: str
    layer: Literal["built-in", "plugin", "user", "project", "flags", "managed"]
    shadows: str = ""
    state: str = ""
    values: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListingRows:
    rows: tuple[ListingRow, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The query could not be answered; `reason` is for the user, `cause` for programs."""

    reason: str
    cause: Literal["", "missing_file"] = ""


Query: TypeAlias = (
    Complete
    | Commands
    | Symbols
    | Place
    | Navigate
    | Problems
    | Servers
    | FileText
    | Sessions
    | ContextRows
    | Changes
    | Refusals
    | Checkpoints
    | Output
    | AgentEvents
    | Plugins
    | Settings
    | Listing
    | CatalogQuery
)
Reply: TypeAlias = (
    Completions
    | CommandRows
    | SymbolRows
    | ProblemRows
    | ServerRows
    | TextPage
    | SessionRows
    | ContextTable
    | ChangeRows
    | RefusalRows
    | CheckpointRows
    | OutputPage
    | AgentEventRows
    | PluginRows
    | SettingsTable
    | ListingRows
    | CatalogReply
    | Refused
)
