"""An approved plan while it is carried out: how long it stands before the model, which of its commands
ran, what is left to check, and what takes it back when a step fails. Decides nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cockpit.protocol.events import (
    Envelope,
    PlanChanged,
    TodoChanged,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from cockpit.protocol.messages import ToolCall

PLAN_TOOL = "propose_plan"
PLAN_TURNS = 10
MAX_PLAN_LENGTH = 8_000
CHANGING_KINDS = frozenset({"edit", "delete", "move", "execute"})

NotifyUser = Callable[[str, str], None]


@dataclass(slots=True)
class PlanProgress:
    """What became of one approved plan, folded out of the events after its approval."""

    plan: PlanChanged
    turns: int = 0
    done: bool = False
    worked: bool = False
    verified: bool = False
    told: bool = False
    ran: set[str] = field(default_factory=set)
    calls: dict[str, ToolCall] = field(default_factory=dict)

    @property
    def stands(self) -> bool:
        """Whether the model is still held to it: until its list is done, ten turns at most."""
        return not self.done and self.turns < PLAN_TURNS

    def see(self, envelope: Envelope, tell: NotifyUser | None = None) -> None:
        """Fold one event of the main agent in; `tell(text, hint)` says to the person that a step failed."""
        if envelope.agent != "main":
            return
        match envelope.event:
            case TurnStarted():
                self.turns += 1
            case TodoChanged(rows=rows):
                self.done = bool(rows) and all(row.status == "completed" for row in rows)
            case ToolCallStarted(call=call, kind=kind) if kind in CHANGING_KINDS:
                self.calls[call.id] = call
            case ToolCallFinished(result=result):
                self._ended(result.call, result.outcome, tell)
            case _:
                pass

    def unverified(self) -> tuple[str, ...]:
        """The checks that nobody ran, once, when something was done."""
        if self.verified or not self.worked:
            return ()
        self.verified = True
        return tuple(one for one in self.plan.verification if not self._has_run(one))

    def text(self) -> str:
        """The plan for the model, cut where it is very long."""
        text = self.plan.text
        return text if len(text) <= MAX_PLAN_LENGTH else f"{text[:MAX_PLAN_LENGTH]}\n[... the plan goes on]"

    def _ended(self, id: str, outcome: str, tell: NotifyUser | None) -> None:
        call = self.calls.pop(id, None)
        if call is None:
            return
        line = str(call.arguments.get("command", "")).strip()
        if outcome in ("ok", "error"):
            self.worked = True
            self.ran.add(line)
        if outcome != "error" or not self._is_step(line, str(call.arguments.get("path", ""))):
            return
        if self.plan.rollback and not self.told:
            self.told = True
            if tell is not None:
                what = line or call.name
                tell(
                    f"a step of the plan failed: {what}",
                    f"the plan's way back: {_join_rows(self.plan.rollback)}",
                )

    def _is_step(self, line: str, path: str) -> bool:
        steps = self.plan.steps
        commands = (*(one.command for one in steps), *self.plan.verification)
        named = any(command and command.strip() in line for command in commands)
        return bool(line and named) or (bool(path) and any(one.path == path for one in steps))

    def _has_run(self, check: str) -> bool:
        return any(check.strip() in line for line in self.ran)


def restore_progress(plan: PlanChanged, envelopes: Iterable[Envelope]) -> PlanProgress | None:
    """The state of an approved plan out of a transcript; None where there is none."""
    if plan.state != "approved":
        return None
    carrying = PlanProgress(plan)
    for envelope in envelopes:
        if isinstance(envelope.event, PlanChanged):
            carrying = PlanProgress(plan)
        carrying.see(envelope)
    return carrying


def _join_rows(rows: tuple[str, ...]) -> str:
    return "; ".join(rows)
