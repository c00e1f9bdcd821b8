"""The state of one session on screen, changed by `reducer`, answers to queries and choices of the user."""

from dataclasses import dataclass, field
from typing import Literal

from cockpit.protocol import events
from cockpit.protocol.code import ProblemRows, SymbolRows
from cockpit.protocol.events import ApprovalRequested, FileChanged, PlanChanged, QuestionAsked
from cockpit.protocol.messages import Json, Mode, Usage
from cockpit.protocol.rows import PanelRow, TodoRow
from cockpit.tui.state.entries import FOLDABLE, CallEntry, Entry, SubagentEntry, ThoughtEntry

Tab = Literal["now", "outline", "problems"]
Aspect = Literal["trace", "work", "bar"]
TABS: tuple[Tab, ...] = ("now", "outline", "problems")


@dataclass(slots=True)
class CodeState:
    """What the screen knows of the code. `line` is the line of interest in the current file (0: unknown),
    `symbol` the name picked last, `tab` the tab the user chose; `stale` names what must be asked for
    again."""

    tab: Tab = "now"
    current_file: str = ""
    line: int = 0
    symbol: str = ""
    outline: SymbolRows | None = None
    problems: ProblemRows | None = None
    stale: set[Literal["outline", "problems", "servers"]] = field(default_factory=set)


def set_current_file(code: CodeState, path: str, line: int = 0) -> None:
    """Make `path` the current file."""
    if path != code.current_file:
        code.outline = None
    code.current_file, code.line = path, line
    code.stale.add("outline")


def note_call(code: CodeState, event: events.ToolCallStarted, root: str) -> None:
    """Make the file that a call reads or edits the current file."""
    arguments = event.call.arguments
    path = arguments.get("path") or arguments.get("file_path")
    if event.kind not in ("read", "edit") or not isinstance(path, str) or not path.strip():
        return
    line = next((n for key in ("line", "offset") if isinstance(n := arguments.get(key), int)), 0)
    set_current_file(code, path.strip().removeprefix(root + "/").removeprefix("./"), line)


def note_file_change(code: CodeState, event: events.FileChanged) -> None:
    """Follow a file that changed on disk."""
    if event.change == "deleted":
        if event.path == code.current_file:
            code.current_file, code.outline = "", None
    elif code.current_file in (event.path, event.moved_from):
        set_current_file(code, event.path, code.line)
    elif not code.current_file:
        set_current_file(code, event.path)


def note_panel_change(code: CodeState, event: events.PanelChanged) -> None:
    """Mark as stale what depends on a panel that changed."""
    if event.panel == "problems":
        code.stale.add("problems")
    elif event.panel == "files":
        code.stale.add("outline")
    elif event.panel == "servers":
        code.stale.add("servers")
        if code.outline is not None and not code.outline.complete:
            code.stale.add("outline")


@dataclass(slots=True)
class RunningTurn:
    """`began` is in seconds since the epoch."""

    id: str
    began: float
    step: int = 0
    calls: int = 0
    model: str = ""
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class PendingPrompt:
    """Something the user sent that the session has not taken up yet."""

    op: str
    text: str
    kind: Literal["prompt", "steer", "follow-up"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file this session changed; line counts are sums over all its changes."""

    path: str
    change: Literal["created", "modified", "deleted", "moved"]
    added: int
    removed: int
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class FrontendRequest:
    """What the core asks of the frontend: to run an action, or to take the answer to a screen's op."""

    kind: str
    plugin: str
    op: str
    time: float
    values: dict[str, Json]
    text: str = ""


@dataclass(slots=True)
class ScreenState:
    """`touched` are the entries that changed since the last frame, `aspects` the regions."""

    session: str = ""
    root: str = ""
    model: str = ""
    mode: Mode = "ask"
    trusted: bool = True
    isolation: Literal["full", "partial", "none", ""] = ""
    branch: str = ""  # of the worktree the session works in
    title: str = ""
    started: bool = False
    closed: str = ""
    seq: int = 0
    entries: list[Entry] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    aspects: set[Aspect] = field(default_factory=set)
    turn: RunningTurn | None = None
    pending: list[PendingPrompt] = field(default_factory=list)
    approvals: dict[str, ApprovalRequested] = field(default_factory=dict)
    questions: dict[str, QuestionAsked] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)  # call id: number of its entry
    todo: tuple[TodoRow, ...] = ()
    files: dict[str, ChangedFile] = field(default_factory=dict)
    changes: list[tuple[int, FileChanged]] = field(default_factory=list)  # by sequence number
    # op id of a rewind that restored files: sequence numbers from and to, and the paths it left alone
    undone_ranges: dict[str, tuple[int, int, frozenset[str]]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    context: int = 0
    window: int = 0
    panels: dict[str, tuple[PanelRow, ...]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)  # of panels that plugins registered
    code: CodeState = field(default_factory=CodeState)
    plan: PlanChanged = field(default_factory=lambda: PlanChanged("", "idle"))
    plan_entry: int = -1  # number of the pending plan's entry
    requests: list[FrontendRequest] = field(default_factory=list)
    rewinds: dict[str, tuple[int, int]] = field(default_factory=dict)  # op id: range of events
    captured: set[str] = field(default_factory=set)  # ids of ops whose answers go to a screen
    texts: dict[str, int] = field(default_factory=dict)  # message id: number of the entry of its text
    thoughts: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    request_calls: dict[str, str] = field(default_factory=dict)  # request id: id of the call it belongs to

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def first_approval(self) -> ApprovalRequested | None:
        """The approval that the user answers next."""
        return next(iter(self.approvals.values()), None)

    @property
    def first_question(self) -> QuestionAsked | None:
        """The question that the user answers next."""
        return next(iter(self.questions.values()), None)

    @property
    def first_form(self) -> QuestionAsked | None:
        """The form, or page to open, that the user answers next."""
        forms = (question for question in self.questions.values() if question.fields or question.url)
        return next(forms, None)

    @property
    def is_working(self) -> bool:
        """Whether a turn runs, or a call that the user made outside it."""
        return self.busy or bool(self.running)

    @property
    def tab(self) -> Tab:
        """The tab that Work shows: what waits for the user comes before the tab they chose."""
        return "now" if self.approvals or self.questions else self.code.tab

    @property
    def fullness(self) -> float | None:
        """How full the context window is, 0 to 1; None while its size is unknown."""
        return self.context / self.window if self.window > 0 else None

    def add(self, entry: Entry) -> int:
        """Append `entry` to the Trace and return its number."""
        self.entries.append(entry)
        number = len(self.entries) - 1
        self.touch(number)
        return number

    def touch(self, number: int) -> None:
        self.touched.add(number)
        self.aspects.add("trace")

    def touch_running(self) -> None:
        """Touch every entry that shows something running."""
        for number in (*self.running.values(), *self.thoughts.values(), *self.agents.values()):
            entry = self.entries[number]
            if isinstance(entry, CallEntry) or (
                isinstance(entry, ThoughtEntry | SubagentEntry) and not entry.done
            ):
                self.touch(number)
        self.aspects.add("work")

    def toggle_entry(self, number: int) -> bool:
        """Open or fold an entry; false where it cannot be folded."""
        entry = self.entries[number]
        if not isinstance(entry, FOLDABLE):
            return False
        entry.expanded = not entry.expanded
        self.touch(number)
        return True

    def toggle_folds(self, start: int = 0) -> None:
        """Open what is folded from entry `start` on; when all of it is open, fold it."""
        foldable = [
            (number, entry)
            for number, entry in enumerate(self.entries)
            if number >= start and isinstance(entry, FOLDABLE)
        ]
        expand = not all(entry.expanded for _, entry in foldable)
        for number, entry in foldable:
            entry.expanded = expand or None
            self.touch(number)
