"""What events carry in rows: parts of an approval, lines of the todo list, rows of a panel."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.agents import AgentRow
from cockpit.protocol.content import Diff
from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class HunkRow:
    """A piece of a file's change that can be taken, refused or edited by itself. `id` is `path#2`, counted
    from 1; `line` is where it begins in the file as it is. What is created, deleted, moved or binary is one
    piece. `refused`: the person refused the same before."""

    id: str
    line: int
    can_edit: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class HunkEdit:
    """A hunk as a person wants it: `text` takes the place of all its new lines, context ones too."""

    hunk: str
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalPart:
    """One thing that is asked for: a file, or one command of a command line. `level` and `reason` are the
    verdict on a command, `level` "" where nobody judged the part by itself. `hunks` are a file's, in the
    order of `diff.hunks`, or one for all of it."""

    id: str
    title: str
    detail: str = ""
    diff: Diff | None = None
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""
    hunks: tuple[HunkRow, ...] = ()


@dataclass(frozen=True, slots=True)
class TodoRow:
    """A line of the model's list."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan. `level` and `reason` are the verdict its command would get once plan mode is over,
    `level` "" where there is none."""

    kind: Literal["command", "edit", "note"]
    purpose: str
    command: str = ""
    path: str = ""
    read_only: bool = False
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a panel: its text, a state word, and what Enter does (`plugin/action`). The rows of the panel
    `agents` say all of their subagent in `agent`."""

    text: str
    state: str = ""
    action: str = ""
    agent: AgentRow | None = None


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as a screen shows it. `key` is dotted, `value` None where nothing is set, `default` what
    holds then. `origin` is its file and line, variable or flag. `kind` is text, choice, whole, number or
    words; `wanted` says in words what it must be. One that is not `writable` is the machine's; of one that
    is not `live` a change holds from the next session on. The hidden command `config.set` (`key`, `value`
    as text) changes it, `config.unset` (`key`) takes it back."""

    key: str
    value: Json
    origin: str
    about: str
    kind: str
    wanted: str
    default: Json = None
    choices: tuple[str, ...] = ()
    writable: bool = True
    live: bool = True
