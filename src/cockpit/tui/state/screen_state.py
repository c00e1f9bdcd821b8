"""What the screen knows of the code: the file at hand, its outline, the problems, and which tab is open.

Events change it in `reduce`; answers to queries are put in by `tui/asking`. `stale` names what must be
asked again.

The state of one session as its screen needs it. Changed only by `reducer` and by a reader's choices.
"""

from dataclasses import dataclass, field
from typing import Literal

from cockpit.protocol import events
from cockpit.protocol.code import ProblemRows, SymbolRows
from cockpit.protocol.events import ApprovalRequested, FileChanged, PlanChanged, QuestionAsked
from cockpit.protocol.messages import Json, Mode, Usage
from cockpit.protocol.rows import PanelRow, TodoRow
from cockpit.tui.state.entries import Entry

Tab = Literal["now", "outline", "problems"]
TABS: tuple[Tab, ...] = ("now", "outline", "problems")


@dataclass(slots=True)
class CodeState:
    """`line` is where in the file at hand somebody is (0: nobody said); `tab` is what a person chose,
    which what waits for them hides for a while; `symbol` is the place they chose last."""

    tab: Tab = "now"
    at_hand: str = ""
    line: int = 0
    symbol: str = ""
    outline: SymbolRows | None = None
    outline_of: str = ""
    problems: ProblemRows | None = None
    stale: set[Literal["outline", "problems", "servers"]] = field(default_factory=set)


def set_current_file(code: CodeState, path: str, line: int = 0) -> None:
    """`path` is the file at hand now."""
    if path != code.at_hand:
        code.outline = None
    code.at_hand, code.line = path, line
    code.stale.add("outline")


def note_call(code: CodeState, event: events.ToolCallStarted, root: str) -> None:
    """A call that reads or writes a file makes it the one at hand."""
    arguments = event.call.arguments
    path = arguments.get("path") or arguments.get("file_path")
    if event.kind not in ("read", "edit") or not isinstance(path, str) or not path.strip():
        return
    line = next((n for key in ("line", "offset") if isinstance(n := arguments.get(key), int)), 0)
    set_current_file(code, path.strip().removeprefix(root + "/").removeprefix("./"), line)


def note_file_change(code: CodeState, event: events.FileChanged) -> None:
    """A file is different on disk."""
    if event.change == "deleted":
        if event.path == code.at_hand:
            code.at_hand, code.outline = "", None
    elif code.at_hand in (event.path, event.moved_from):
        set_current_file(code, event.path, code.line)
    elif not code.at_hand:
        set_current_file(code, event.path)


def note_panel_change(code: CodeState, event: events.PanelChanged) -> None:
    """What the servers know, or how they are, or files on disk, is different."""
    if event.panel == "problems":
        code.stale.add("problems")
    elif event.panel == "files":
        code.stale.add("outline")
    elif event.panel == "servers":
        code.stale.add("servers")
        if code.outline is not None and not code.outline.complete:
            code.stale.add("outline")


Aspect = Literal["trace", "work", "bar"]


@dataclass(slots=True)
class RunningTurn:
    """The running turn. `began` is seconds since the epoch."""

    id: str
    began: float
    step: int = 0
    calls: int = 0
    model: str = ""
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class PendingPrompt:
    """Something a person typed that the session has not taken up yet."""

    op: str
    text: str
    kind: Literal["prompt", "steer", "follow-up"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file this session changed; lines are sums over all its changes."""

    path: str
    change: Literal["created", "modified", "deleted", "moved"]
    added: int
    removed: int
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class FrontendRequest:
    """What the core asks of the frontend: an action by name, or an answer to a screen's op."""

    kind: str
    plugin: str
    op: str
    time: float
    values: dict[str, Json]
    text: str = ""


@dataclass(slots=True)
class ScreenState:
    """`touched` are the entries changed since the screen last looked, `aspects` the regions."""

    session: str = ""
    root: str = ""
    version: str = ""
    model: str = ""
    mode: Mode = "ask"
    trusted: bool = True
    isolation: Literal["full", "partial", "none", ""] = ""
    branch: str = ""  # of the worktree the session stands in
    title: str = ""
    started: bool = False
    resumed: bool = False
    closed: str = ""
    seq: int = 0
    entries: list[Entry] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    aspects: set[Aspect] = field(default_factory=set)
    turn: RunningTurn | None = None
    waiting: list[PendingPrompt] = field(default_factory=list)
    approvals: dict[str, ApprovalRequested] = field(default_factory=dict)
    questions: dict[str, QuestionAsked] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)  # call id: its entry
    todo: tuple[TodoRow, ...] = ()
    files: dict[str, ChangedFile] = field(default_factory=dict)
    changes: list[tuple[int, FileChanged]] = field(default_factory=list)  # of calls, with their place
    taken_back: dict[str, tuple[int, int, frozenset[str]]] = field(default_factory=dict)  # op: but not those
    usage: Usage = field(default_factory=Usage)
    context: int = 0
    window: int = 0
    panels: dict[str, tuple[PanelRow, ...]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)  # of panels that plugins registered
    code: CodeState = field(default_factory=CodeState)
    plan: PlanChanged = field(default_factory=lambda: PlanChanged("", "idle"))
    plan_at: int = -1  # the entry of the plan that waits
    requests: list[FrontendRequest] = field(default_factory=list)
    rewinds: dict[str, tuple[int, int]] = field(default_factory=dict)  # op: events not told any more
    captured: set[str] = field(default_factory=set)  # ops whose answers a screen takes
    texts: dict[str, int] = field(default_factory=dict)  # message id: the entry of its text
    thoughts: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    asked_in: dict[str, str] = field(default_factory=dict)  # request id: the call it belongs to

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def is_working(self) -> bool:
        """A turn runs, or a call that a person made beside it."""
        return self.busy or bool(self.running)

    @property
    def tab(self) -> Tab:
        """What Work shows: what waits for a person comes before the tab they chose."""
        return "now" if self.approvals or self.questions else self.code.tab

    @property
    def fullness(self) -> float | None:
        """How full the context window is, 0 to 1; None while nobody knows its size."""
        return self.context / self.window if self.window > 0 else None

    def add(self, entry: Entry) -> int:
        """Put `entry` at the end of the Trace."""
        self.entries.append(entry)
        number = len(self.entries) - 1
        self.touch(number)
        return number

    def touch(self, number: int) -> None:
        self.touched.add(number)
        self.aspects.add("trace")
