"""The state of one session that changes while it runs, and the progress of its approved plan.

Only `SessionState` writes its own fields. State that must survive a resume is in durable events:
`SessionState.fold` restores it from the transcript.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.core.permission.rules import PermissionRule, parse_rule
from cockpit.protocol import events
from cockpit.protocol.events import Envelope, Event, PlanChanged, Warned
from cockpit.protocol.messages import Mode, ToolCall, Usage

PLAN_TOOL = "propose_plan"
PLAN_TURNS = 10
MAX_PLAN_LENGTH = 8_000
CHANGING_KINDS = frozenset({"edit", "delete", "move", "execute"})
IDLE_PLAN = PlanChanged("", "idle")

NotifyUser = Callable[[str, str], None]


@dataclass(slots=True)
class PlanProgress:
    """How far the approved plan is carried out, folded from the events after its approval."""

    plan: PlanChanged
    turns: int = 0
    done: bool = False
    worked: bool = False
    verified: bool = False
    has_warned: bool = False
    commands: set[str] = field(default_factory=set)
    calls: dict[str, ToolCall] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """Whether the model is still reminded of the plan: until its list is done, for ten turns at most."""
        return not self.done and self.turns < PLAN_TURNS

    def fold(self, envelope: Envelope, notify: NotifyUser | None = None) -> None:
        """Fold one event of the main agent; `notify(text, hint)` reports a failed step to the user."""
        if envelope.agent != "main":
            return
        event = envelope.event
        if isinstance(event, events.TurnStarted):
            self.turns += 1
        elif isinstance(event, events.TodoChanged):
            self.done = bool(event.rows) and all(row.status == "completed" for row in event.rows)
        elif isinstance(event, events.ToolCallStarted) and event.kind in CHANGING_KINDS:
            self.calls[event.call.id] = event.call
        elif isinstance(event, events.ToolCallFinished):
            self._finish_call(event.result.call, event.result.outcome, notify)

    def unverified(self) -> tuple[str, ...]:
        """The checks that have not run, returned once, after something was done."""
        if self.verified or not self.worked:
            return ()
        self.verified = True
        return tuple(
            check
            for check in self.plan.verification
            if not any(check.strip() in command for command in self.commands)
        )

    def text(self) -> str:
        """The plan for the model, shortened when it is very long."""
        text = self.plan.text
        return text if len(text) <= MAX_PLAN_LENGTH else f"{text[:MAX_PLAN_LENGTH]}\n[... the plan continues]"

    def _finish_call(self, id: str, outcome: str, notify: NotifyUser | None) -> None:
        call = self.calls.pop(id, None)
        if call is None:
            return
        command = str(call.arguments.get("command", "")).strip()
        if outcome in ("ok", "error"):
            self.worked = True
            self.commands.add(command)
        if outcome != "error" or not self._is_step(command, str(call.arguments.get("path", ""))):
            return
        if self.plan.rollback and not self.has_warned:
            self.has_warned = True
            if notify is not None:
                text = f"a step of the plan failed: {command or call.name}"
                notify(text, f"the plan's rollback: {'; '.join(self.plan.rollback)}")

    def _is_step(self, command: str, path: str) -> bool:
        steps = self.plan.steps
        planned = (*(step.command for step in steps), *self.plan.verification)
        if command and any(text and text.strip() in command for text in planned):
            return True
        return bool(path) and any(step.path == path for step in steps)


def _discard(event: Event) -> None:
    """Emit nothing: the session is not running."""


@dataclass(slots=True)
class SessionState:
    """The mutable state of one running session.

    `SessionChanged` reports `model` to `has_read_outside`. `worktree` is the folder of the worktree the
    main agent works in and `branch` its branch; both are empty in the session's own folder.
    `has_read_outside` is set once text from the network is in the conversation. `rules` were allowed for
    this session. `settled_mode` is the mode of the last turn outside plan mode. `origin` is where the
    current prompt came from, and `variables` are exported by plugins to commands; neither is restored.
    `emit` writes to the session's log.
    """

    model: str = ""
    mode: Mode = "ask"
    trusted: bool = False
    title: str = ""
    isolation: Literal["full", "partial", "none", ""] = ""
    worktree: str = ""
    branch: str = ""
    has_read_outside: bool = False
    usage: Usage = field(default_factory=Usage)
    plan: PlanChanged = IDLE_PLAN
    progress: PlanProgress | None = None
    rules: list[PermissionRule] = field(default_factory=list)
    settled_mode: Mode | None = None
    origin: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    emit: Callable[[Event], object] = _discard
    _requests: dict[str, events.ApprovalRequested] = field(default_factory=dict)

    def fold(self, envelope: Envelope) -> None:
        """Restore the state that a stored event records."""
        match envelope.event:
            case events.SessionStarted(model=model, mode=mode):
                self.model, self.mode = model, mode
            case events.SessionChanged() as changed:
                self.model, self.mode, self.title = changed.model, changed.mode, changed.title or self.title
                self.worktree, self.branch = changed.folder, changed.branch
                self.has_read_outside = self.has_read_outside or changed.has_read_outside
            case events.UsageChanged(usage=usage):
                self.usage = usage
            case PlanChanged() as plan:
                self._set_plan(plan)
            case events.ApprovalRequested() as request:
                self._requests[request.id] = request
            case events.ApprovalResolved() as answer:
                self._fold_answer(answer)
            case _:
                pass
        self._follow(envelope, None)

    def follow(self, envelope: Envelope) -> None:
        """Follow the running session: the mode of a turn, and the progress of the approved plan."""
        self._follow(envelope, self._warn_later)

    def start(
        self, emit: Callable[[Event], object], model: str, mode: Mode, trusted: bool, usual: Mode
    ) -> None:
        """Start running with these values; `usual` is the mode of the settings."""
        self.emit, self.model, self.mode, self.trusted = emit, model, mode, trusted
        self.worktree, self.branch = "", ""
        self.settled_mode = stricter_mode(usual, self.settled_mode) if mode == "plan" else mode
        self._restore_plan()

    def announce(self) -> None:
        """Emit the current state of the session."""
        words = self.title, self.isolation, self.worktree, self.branch
        self.emit(events.SessionChanged(self.model, self.mode, self.trusted, *words, self.has_read_outside))

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.announce()

    def set_model(self, model: str) -> None:
        """Use another model; the caller announces it."""
        self.model = model

    def set_trusted(self, trusted: bool) -> None:
        """Trust the folder or not; announced when the plugins are loaded again."""
        self.trusted = trusted

    def set_title(self, prompt: str) -> None:
        """Name the session after its first prompt."""
        self.title = self.title or " ".join(prompt.split())[:80]

    def set_isolation(self, isolation: Literal["full", "partial", "none", ""]) -> None:
        self.isolation = isolation
        self.announce()

    def set_worktree(self, folder: str, branch: str) -> None:
        """Work in this worktree; empty for the session's own folder. The caller announces it."""
        self.worktree, self.branch = folder, branch

    def set_origin(self, origin: str) -> None:
        self.origin = origin

    def add_usage(self, usage: Usage) -> None:
        self.usage += usage

    def add_rules(self, rules: Iterable[PermissionRule]) -> None:
        """Allow or deny for the rest of the session."""
        self.rules += rules

    def export(self, variables: Mapping[str, str]) -> None:
        self.variables.update(variables)

    def record_outside_text(self) -> None:
        """Text from the network enters the conversation. Emitted, so that a resumed session knows it."""
        if not self.has_read_outside:
            self.has_read_outside = True
            self.announce()

    def set_plan(self, plan: PlanChanged) -> None:
        self._set_plan(plan)
        self.emit(plan)

    def _restore_plan(self) -> None:
        """Adjust the stored plan to the mode the session starts in: another mode may have been chosen
        since."""
        if self.mode == "plan":
            is_open = self.plan.state in ("planning", "pending", "rejected")
            plan = self.plan if is_open else PlanChanged("", "planning")
            before = self.plan.mode or "ask"
            # The call that waited is asked again under another id, or is gone.
            self.plan, self.progress = replace(plan, request="", mode=before), None
        elif self.plan.state != "approved":
            self.plan, self.progress = IDLE_PLAN, None

    def _set_plan(self, plan: PlanChanged) -> None:
        self.plan = plan
        self.progress = PlanProgress(plan) if plan.state == "approved" else None

    def _follow(self, envelope: Envelope, notify: NotifyUser | None) -> None:
        if (
            isinstance(envelope.event, events.TurnStarted)
            and envelope.agent == "main"
            and self.mode != "plan"
        ):
            self.settled_mode = self.mode
        if self.progress is not None:
            self.progress.fold(envelope, notify)

    def _fold_answer(self, answer: events.ApprovalResolved) -> None:
        """Restore a session rule. An answer that left out a part of a change applied as a whole
        allowed nothing."""
        request = self._requests.pop(answer.id, None)
        if request is None or answer.decision != "allow_session":
            return
        if request.whole and (answer.refused or answer.edited):
            return
        self.rules += [parse_rule("allow", text, "this session") for text in request.remembers]

    def _warn_later(self, text: str, hint: str) -> None:
        """Warn after the event that is being handed out, so that readers get both in order."""
        asyncio.get_running_loop().call_soon(self.emit, Warned(text, hint, "plan"))


def stricter_mode(first: Mode, second: Mode | None) -> Mode:
    """The stricter of two modes; a role or a setting tightens the session's mode and never loosens it."""
    order: tuple[Mode, ...] = ("full", "auto-edit", "ask", "plan", "deny")
    return first if second is None else max(first, second, key=order.index)
