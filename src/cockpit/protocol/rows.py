"""What events carry in rows: parts of an approval, lines of the todo list, rows of a panel."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.content import Diff


@dataclass(frozen=True, slots=True)
class ApprovalPart:
    """One thing that is asked for: a file, or one command of a command line. `level` and `reason` are the
    verdict on a command, `level` "" where nobody judged the part by itself."""

    id: str
    title: str
    detail: str = ""
    diff: Diff | None = None
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TodoRow:
    """A line of the model's list."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a panel: its text, a state word, and what Enter does (`plugin/action`)."""

    text: str
    state: str = ""
    action: str = ""
