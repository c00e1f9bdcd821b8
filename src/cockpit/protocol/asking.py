"""Events in which a person is asked: approvals, questions, the plan. Part of `protocol/events`."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.messages import Decision
from cockpit.protocol.rows import ApprovalPart


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A person is asked. `risk` is 0 to 100; `expires` is seconds from now, 0 for never. `note` says what
    a change does to problems. `remembers` are the rules that `allow_session` and `allow_always` would keep
    and `shape` the same in one line, empty when nothing can be remembered (`options` lacks them then).
    `whole`: an answer with some parts only rejects. `rules` are the ids that led here, `alternative` what
    the model could do instead, `held` what the program may touch if it runs."""

    id: str
    agent: str
    tool: str
    title: str
    reason: str
    parts: tuple[ApprovalPart, ...]
    destination: str
    risk: int
    shape: str
    options: tuple[Decision, ...]
    expires: float = 0.0
    note: str = ""
    whole: bool = False
    remembers: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    alternative: str = ""
    held: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """How the asking ended; `by` says who answered."""

    id: str
    decision: Decision
    by: Literal["person", "timeout", "closed", "nobody"]
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model (or a plugin) wants a word; free text unless `options` is not empty."""

    id: str
    question: str
    options: tuple[str, ...] = ()
    expires: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The plan that a person approves."""

    text: str
    state: Literal["planning", "pending", "approved", "rejected"]
