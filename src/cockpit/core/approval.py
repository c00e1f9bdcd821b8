"""Approvals and questions that wait for a person. Knows nothing of tools or screens."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.core import ledger
from cockpit.core.log import Log
from cockpit.plugin.context import NobodyThere
from cockpit.protocol.events import ApprovalRequested, ApprovalResolved, QuestionAsked, Warned
from cockpit.protocol.messages import Decision
from cockpit.protocol.ops import Answer, Decide
from cockpit.protocol.rows import HunkEdit

By = Literal["person", "timeout", "closed", "nobody"]


@dataclass(frozen=True, slots=True)
class Answered:
    """How a person answered."""

    decision: Decision
    note: str = ""
    parts: tuple[str, ...] = ()
    by: By = "person"
    edits: tuple[HunkEdit, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return self.decision.startswith("allow")

    @property
    def outcome(self) -> str:
        """How the audit names it: nobody there and too late are told apart."""
        names: dict[By, str] = {"nobody": "auto_deny", "timeout": "timeout"}
        return names.get(self.by, self.decision)


@dataclass(slots=True)
class Approvals:
    """What waits in one session. `someone` says whether a person can be asked at all."""

    log: Log
    new_id: Callable[[], str]
    someone: bool
    seconds: float = 0.0
    _approvals: dict[str, "asyncio.Future[Answered]"] = field(default_factory=dict)
    _asked: dict[str, ApprovalRequested] = field(default_factory=dict)
    _questions: dict[str, "asyncio.Future[Answer]"] = field(default_factory=dict)

    async def ask(self, request: ApprovalRequested, agent: str, call: str) -> Answered:
        """Put `request` to a person and wait. Nobody there, or too late, is a rejection."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._approvals[request.id], self._asked[request.id] = future, request
        self.log.emit(request, agent, call)
        try:
            if not self.someone:
                return self._resolve(request.id, Answered("reject_once"), "nobody", agent, call)
            async with asyncio.timeout(request.expires or None):
                answer = await future
            return self._resolve(request.id, answer, answer.by, agent, call)
        except TimeoutError:
            return self._resolve(request.id, Answered("reject_once"), "timeout", agent, call)
        except asyncio.CancelledError:
            self._resolve(request.id, Answered("reject_once"), "closed", agent, call)
            raise
        finally:
            self._approvals.pop(request.id, None)
            self._asked.pop(request.id, None)

    def decide(self, op: Decide) -> None:
        """A person's answer. One that nothing waits for, or that a schedule gives, is said, not obeyed."""
        if op.origin.startswith("schedule:"):
            self.log.emit(Warned("a schedule cannot answer an approval", "only a person can"))
            return
        future = self._approvals.get(op.request)
        if future is None or future.done():
            self.log.emit(Warned(f"nothing waits for an answer to {op.request or 'that'} any more"))
            return
        if op.by == "nobody":
            future.set_result(Answered("reject_once", op.note, by="nobody"))
            return
        if op.decision not in self._asked[op.request].options:
            self.log.emit(Warned(f"{op.decision} is not offered here", "choose one of the answers shown"))
            return
        asked = self._asked[op.request]
        known = {name for part in asked.parts for name in ledger.named(part)}
        parts = tuple(part for part in op.parts if part in known)
        if op.parts and not parts:
            self.log.emit(Warned("none of the named parts is in the request", "choose one that is shown"))
            return
        can_edit = {row.id for part in asked.parts for row in part.hunks if row.can_edit}
        if strange := [edit.hunk for edit in op.edits if edit.hunk not in can_edit]:
            # What the person wrote must not be dropped in silence.
            self.log.emit(Warned(f"{strange[0]} cannot be edited", "take it as it is, or refuse it"))
            return
        future.set_result(Answered(op.decision, op.note, parts, edits=op.edits))

    def is_waiting(self, request: str) -> bool:
        """Whether `request` is still to be answered."""
        future = self._approvals.get(request)
        return future is not None and not future.done()

    async def question(self, asked: QuestionAsked, agent: str, call: str) -> Answer:
        """A person's answer to `asked`, whose id is given here. Raises `NobodyThere`."""
        if not self.someone:
            raise NobodyThere("nobody is there to answer", "go on with what is most likely and say so")
        asked = replace(asked, id=self.new_id())
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._questions[asked.id] = future
        self.log.emit(asked, agent, call)
        try:
            return await future
        finally:
            self._questions.pop(asked.id, None)

    def answer(self, op: Answer) -> None:
        future = self._questions.get(op.request)
        if future is None or future.done():
            self.log.emit(Warned("nothing waits for that answer any more"))
            return
        future.set_result(op)

    def _resolve(self, id: str, answer: Answered, by: By, agent: str, call: str) -> Answered:
        parts = ledger.answered(self._asked[id], answer.decision, answer.parts, answer.edits)
        self.log.emit(ApprovalResolved(id, answer.decision, by, answer.note, *parts), agent, call)
        return replace(answer, by=by)
