"""What is found in the settings of another agent, and what it would become here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.protocol.messages import Json

What: TypeAlias = Literal["model", "provider", "prices", "mode", "rule", "mcp", "agent", "command", "other"]
Level: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class SetValue:
    """A value of the person's settings file."""

    path: tuple[str, ...]
    value: Json


@dataclass(frozen=True, slots=True)
class AddRule:
    """A permission rule; of one folder where `root` names it."""

    level: Level
    text: str
    root: str = ""


@dataclass(frozen=True, slots=True)
class AddFacts:
    """What a model costs and can, for `models.toml`."""

    provider: str
    model: str
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddServer:
    """An entry of `mcp.json`."""

    name: str
    entry: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddAgent:
    """A file in the folder `agents` of the person's own."""

    name: str
    text: str


Take: TypeAlias = SetValue | AddRule | AddFacts | AddServer | AddAgent


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a file says. `take` None: it is not taken over, and `why` says so.

    `loosens`: only after a person's yes. `in_place`: cockpit reads it where it is, so that it is taken over
    only when it is asked for. `notes` are what the person has to do besides.
    """

    agent: str
    what: What
    name: str
    file: str
    line: int
    take: Take | None = None
    why: str = ""
    loosens: bool = False
    in_place: bool = False
    notes: tuple[str, ...] = field(default=())
