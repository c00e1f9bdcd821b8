"""Events in which a person is asked: approvals, questions, the plan. Part of `protocol/events`."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.messages import Decision, Json, Mode
from cockpit.protocol.rows import ApprovalPart, PlanStep


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A person is asked. `risk` is 0 to 100; `expires` is seconds from now, 0 for never. `note` says what
    a change does to problems. `remembers` are the rules that `allow_session` would keep, `keeps` those of
    `allow_always`, `shape` both in one line; empty when nothing can be remembered (`options` lacks them
    then). `whole`: an answer with some parts only rejects. `rules` are the ids that led here, `alternative`
    what the model could do instead, `held` what the program may touch if it runs."""

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
    keeps: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    alternative: str = ""
    held: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """How the asking ended; `by` says who answered. `refused` and `edited` are the hunks of an allow that
    were left out or written otherwise (docs/adr/0015)."""

    id: str
    decision: Decision
    by: Literal["person", "timeout", "closed", "nobody"]
    note: str = ""
    refused: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormField:
    """One thing a form asks for. A `choice` is one of `options`, `choices` are some of them; `labels` are
    their words for people where they differ. `default` is used where nothing is entered."""

    name: str
    label: str
    kind: Literal["text", "number", "integer", "yes_no", "choice", "choices"] = "text"
    required: bool = False
    options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default: Json = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model (or a plugin) wants a word; free text unless `options` is not empty.

    With `fields` it is a form and with `url` a page to open: both are answered by an `Answer` with an
    `action`. `source` says who asks, where it is not the model: `MCP server github`. Asked by another
    than the model, only an option of `options` is an answer: words are meant for the model.
    """

    id: str
    question: str
    options: tuple[str, ...] = ()
    expires: float = 0.0
    fields: tuple[FormField, ...] = ()
    url: str = ""
    source: str = ""

    @property
    def takes_words(self) -> bool:
        """Whether free text answers it."""
        is_form = bool(self.fields or self.url)
        return not is_form and not (self.source and self.options)


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Plan mode, and the plan that a person approves (docs/plan-mode.md).

    `text` is the whole plan as Markdown, with a person's edits once it is approved; `steps`,
    `verification` and `rollback` are the same as rows. `request` is the approval that waits for it, ""
    where the call that asked is gone and the plan still waits. `mode` is the one that comes back, or came
    back, when it is approved. `note` is the person's word to the model."""

    text: str
    state: Literal["idle", "planning", "pending", "approved", "rejected"]
    request: str = ""
    title: str = ""
    steps: tuple[PlanStep, ...] = ()
    verification: tuple[str, ...] = ()
    rollback: tuple[str, ...] = ()
    mode: Mode | None = None
    note: str = ""
