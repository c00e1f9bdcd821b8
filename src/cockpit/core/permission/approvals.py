"""Approvals and questions that wait for the user, and the hunk ledger: which hunks of a change the user
accepted, refused or edited, the change set that remains, and the note for the model. An approval that is
not answered within `approvals.seconds` is rejected. Knows no tools and no screens."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.core.transcript.log import SessionLog, new_id
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.context import UserUnavailable
from cockpit.protocol.content import Diff, Hunk, new_text
from cockpit.protocol.events import ApprovalRequested, ApprovalResolved, Envelope, QuestionAsked, Warned
from cockpit.protocol.messages import Decision
from cockpit.protocol.ops import Answer, Decide, DecidePlan
from cockpit.protocol.queries import RefusalRow
from cockpit.protocol.rows import ApprovalPart, HunkEdit, HunkRow
from cockpit.workspace.files.changes import apply_hunks, make_diff, make_file_change

MAX_SHOWN_HUNKS = 12
MAX_SHOWN_LINES = 24
UNATTENDED_SECONDS = 300.0
REDACTION_MARK = "[redacted"


@dataclass(slots=True)
class ReviewedChanges:
    """A change set after the user's answer. `accepted`, `refused` and `edited` are names of hunks. `notes`
    describe the hunks that were not written as proposed; `problem` says why nothing may be written."""

    changes: ChangeSet
    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def note(self) -> str:
        """The note for the model, empty when everything was accepted unchanged."""
        if not self.notes:
            return ""
        total = len(self.accepted) + len(self.refused) + len(self.edited)
        head = (
            f"[The user decided by hunk: {len(self.accepted)} of {total} written as you sent them. "
            "Do not send the others again unless they ask for it."
        )
        left = len(self.notes) - MAX_SHOWN_HUNKS
        more = [f"and {left} more"] if left > 0 else []
        return "\n".join([head, *self.notes[:MAX_SHOWN_HUNKS], *more]) + "]"


def approval_part(change: FileChange, refused: Iterable[RefusalRow] = ()) -> ApprovalPart:
    """A file of a change set as it is shown to the user for approval."""
    diff = make_diff(change)
    before = tuple(row for row in refused if row.path == change.path)
    can_edit = _can_edit(change)
    rows = tuple(
        HunkRow(name, line, can_edit, _was_refused(lines, before))
        for name, line, lines in _decidable_hunks(diff)
    )
    return ApprovalPart(diff.path, diff.path, diff.note, diff, hunks=rows)


def _split_hunks(
    request: ApprovalRequested, answer: "ApprovalAnswer"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The hunks that an allowing answer refuses and edits; both empty when everything is rejected."""
    if not answer.is_allowed:
        return (), ()
    edited, parts = tuple(edit.hunk for edit in answer.edits), answer.parts
    refused = tuple(
        row.id
        for part in request.parts
        for row in part.hunks
        if parts and part.id not in parts and row.id not in parts and row.id not in edited
    )
    return refused, edited


def review_changes(
    changes: ChangeSet, parts: tuple[str, ...], edits: tuple[HunkEdit, ...] = ()
) -> ReviewedChanges:
    """`changes` as the user accepted them. `parts` names files or hunks; empty means all."""
    texts = {edit.hunk: edit.text for edit in edits}
    reviewed = ReviewedChanges(changes)
    files = [_review_file(change, parts, texts, reviewed) for change in changes.files]
    reviewed.changes = replace(changes, files=tuple(file for file in files if file is not None))
    return reviewed


def hunks_for_audit(reviewed: ReviewedChanges | None) -> dict[str, object] | None:
    """The names of the hunks for the audit log; None when everything was accepted unchanged."""
    if reviewed is None or not reviewed.note:
        return None
    return {"accepted": reviewed.accepted, "refused": reviewed.refused, "edited": reviewed.edited}


def _review_file(
    change: FileChange, parts: tuple[str, ...], texts: Mapping[str, str], reviewed: ReviewedChanges
) -> FileChange | None:
    """The file as it is to be written, or None when it is not written."""
    diff = make_diff(change)
    accepted: set[str] = set()
    written: dict[str, bytes] = {}
    pieces = _decidable_hunks(diff)
    hunks = diff.hunks if len(pieces) == len(diff.hunks) else ()
    for at, (name, line, lines) in enumerate(pieces):
        hunk = hunks[at] if hunks else None
        if name in texts:
            if problem := _edit_problem(change, hunk, texts[name]):
                reviewed.problem = f"{name}: {problem}"
            elif hunk is not None:
                written[hunk.id] = edited_bytes(hunk, texts[name])
                accepted.add(hunk.id)
            reviewed.edited.append(name)
            shown = tuple(texts[name].removesuffix("\n").split("\n")) if texts[name] else ("(nothing)",)
            reviewed.notes.append(_describe_hunk("edited by the user, written as", change.path, line, shown))
        elif not parts or change.path in parts or name in parts:
            accepted.add(hunk.id if hunk else name)
            reviewed.accepted.append(name)
        else:
            reviewed.refused.append(name)
            reviewed.notes.append(_describe_hunk("refused, not written", change.path, line, lines))
    if not accepted:
        return None
    if len(accepted) == len(pieces) and not written:
        return change
    content = apply_hunks(change.before or b"", change.after or b"", hunks, accepted, written)
    if change.before is not None and content == change.before:
        return None
    return make_file_change(change.path, change.before, content, change.mode, change.moved_from)


def edited_bytes(hunk: Hunk, text: str) -> bytes:
    """The bytes that replace a hunk's new lines, with its line endings, byte order mark and final newline."""
    new = [line for line in hunk.lines if line[:1] in (" ", "+")]
    text = text.replace("\r\n", "\n")
    if not text:
        return b""
    if not new_text(hunk).endswith("\n") and hunk.new_lines:
        text = text.removesuffix("\n")
    elif not text.endswith("\n"):
        text += "\n"
    if sum(line.endswith("\r") for line in new) * 2 > len(new):
        text = text.replace("\n", "\r\n")
    if new and new[0][1:2] == "\ufeff" and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    return text.encode("utf-8", "replace")


def collect_refusals(envelopes: Iterable[Envelope]) -> tuple[RefusalRow, ...]:
    """Every hunk the user refused, in order, from the durable events of a session."""
    requests: dict[str, ApprovalRequested] = {}
    refusals: list[RefusalRow] = []
    for envelope in envelopes:
        match envelope.event:
            case ApprovalRequested() as request:
                requests[request.id] = request
            case ApprovalResolved(by="person") as answer if answer.id in requests:
                request = requests.pop(answer.id)
                everything = answer.decision.startswith("reject")
                names = set(answer.refused)
                for part in request.parts:
                    refusals += [
                        RefusalRow(part.id, line, lines, envelope.call, envelope.time, answer.note)
                        for name, line, lines in (_decidable_hunks(part.diff) if part.diff else ())
                        if everything or name in names
                    ]
            case _:
                pass
    return tuple(refusals)


def _decidable_hunks(diff: Diff) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """Name, first line and signed lines of each piece of a file's change that can be decided separately."""
    if not (diff.note or diff.moved_from or not diff.hunks):
        return tuple(
            (f"{diff.path}#{number}", max(hunk.old_start, 1), _changed_lines(hunk.lines))
            for number, hunk in enumerate(diff.hunks, 1)
        )
    lines = tuple(line for hunk in diff.hunks for line in _changed_lines(hunk.lines))
    facts = (f"{diff.moved_from} -> {diff.path}",) if diff.moved_from else (diff.note or "mode",)
    return ((f"{diff.path}#1", 1, lines or facts),)


def _changed_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in lines if line[:1] in ("+", "-"))


def _was_refused(lines: tuple[str, ...], before: tuple[RefusalRow, ...]) -> bool:
    """Whether refused lines appear again in these lines."""
    here = [line.rstrip() for line in lines]
    for row in before:
        wanted = [line.rstrip() for line in row.lines]
        if not any(character.isalnum() for line in wanted for character in line):
            continue
        if any(here[at : at + len(wanted)] == wanted for at in range(len(here) - len(wanted) + 1)):
            return True
    return False


def _can_edit(change: FileChange) -> bool:
    if change.binary or change.moved_from or change.after is None or not change.hunks:
        return False
    try:
        (change.before or b"").decode("utf-8")
        change.after.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _edit_problem(change: FileChange, hunk: Hunk | None, text: str) -> str:
    if hunk is None or not _can_edit(change):
        return "this cannot be edited; accept or refuse it"
    if REDACTION_MARK in text and not any(REDACTION_MARK in line for line in hunk.lines):
        return "the edited text contains a redaction mark in place of a secret; refuse the hunk instead"
    return ""


def _describe_hunk(action: str, path: str, line: int, lines: tuple[str, ...]) -> str:
    shown = [f"  {text}" for text in lines[:MAX_SHOWN_LINES]]
    more = [f"  ... {len(lines) - MAX_SHOWN_LINES} more lines"] if len(lines) > MAX_SHOWN_LINES else []
    return "\n".join([f"{action}: {path} line {line}", *shown, *more])


DecidedBy = Literal["person", "timeout", "closed", "nobody"]


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The user's answer to an approval. `plan` is their decision on a plan."""

    decision: Decision
    note: str = ""
    parts: tuple[str, ...] = ()
    by: DecidedBy = "person"
    edits: tuple[HunkEdit, ...] = ()
    plan: DecidePlan | None = None

    @property
    def is_allowed(self) -> bool:
        return self.decision.startswith("allow")

    @property
    def outcome(self) -> str:
        """The name in the audit log, which distinguishes an absent user from a late answer."""
        names: dict[DecidedBy, str] = {"nobody": "auto_deny", "timeout": "timeout"}
        return names.get(self.by, self.decision)


@dataclass(slots=True)
class Approvals:
    """The approvals and questions of one session that wait for the user.

    `can_ask` says whether a user can be asked at all; `seconds` is the time to answer, 0 for no limit.
    """

    log: SessionLog
    can_ask: bool
    seconds: float = 0.0
    _answers: dict[str, "asyncio.Future[ApprovalAnswer]"] = field(default_factory=dict)
    _requests: dict[str, ApprovalRequested] = field(default_factory=dict)
    _questions: dict[str, "asyncio.Future[Answer]"] = field(default_factory=dict)

    async def ask(self, request: ApprovalRequested, agent: str, call: str) -> ApprovalAnswer:
        """Ask the user and wait. Nobody there, or no answer in time, is a rejection."""
        future: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._answers[request.id], self._requests[request.id] = future, request
        self.log.emit(request, agent, call)
        try:
            if not self.can_ask:
                return self._resolve(request.id, ApprovalAnswer("reject_once"), "nobody", agent, call)
            async with asyncio.timeout(request.expires or None):
                answer = await future
            return self._resolve(request.id, answer, answer.by, agent, call)
        except TimeoutError:
            return self._resolve(request.id, ApprovalAnswer("reject_once"), "timeout", agent, call)
        except asyncio.CancelledError:
            self._resolve(request.id, ApprovalAnswer("reject_once"), "closed", agent, call)
            raise
        finally:
            self._answers.pop(request.id, None)
            self._requests.pop(request.id, None)

    def timeout(self, origin: str) -> float:
        """Seconds until an unanswered approval is a rejection; 0 for no limit."""
        unattended = origin.startswith(("schedule:", "channel:"))
        return self.seconds or (UNATTENDED_SECONDS if unattended else 0.0)

    def decide(self, op: Decide, plan: DecidePlan | None = None) -> None:
        """Take the user's answer; `plan` holds their decision on a plan. An answer to no open request, or
        from a schedule, is reported and ignored."""
        if op.origin.startswith("schedule:"):
            self.log.emit(Warned("a schedule cannot answer an approval", "only the user can"))
            return
        future = self._answers.get(op.request)
        if future is None or future.done():
            self.log.emit(Warned(f"the request {op.request or '(none)'} no longer waits for an answer"))
            return
        if op.by == "nobody":
            future.set_result(ApprovalAnswer("reject_once", op.note, by="nobody"))
            return
        request = self._requests[op.request]
        if op.decision not in request.options:
            options = ", ".join(request.options)
            self.log.emit(Warned(f"{op.decision} is not offered here", f"choose one of {options}"))
            return
        known = {name for part in request.parts for name in (part.id, *(row.id for row in part.hunks))}
        parts = tuple(part for part in op.parts if part in known)
        if op.parts and not parts:
            self.log.emit(Warned("none of the named parts is in the request", "choose a part that is shown"))
            return
        can_edit = {row.id for part in request.parts for row in part.hunks if row.can_edit}
        if invalid := [edit.hunk for edit in op.edits if edit.hunk not in can_edit]:
            # What the user wrote must not be dropped silently.
            self.log.emit(Warned(f"{invalid[0]} cannot be edited", "accept it as it is, or refuse it"))
            return
        future.set_result(ApprovalAnswer(op.decision, op.note, parts, edits=op.edits, plan=plan))

    def is_waiting(self, request: str) -> bool:
        """Whether `request` is still unanswered."""
        future = self._answers.get(request)
        return future is not None and not future.done()

    async def ask_question(self, question: QuestionAsked, agent: str, call: str) -> Answer:
        """The user's answer to `question`, which gets its id here. Raises `UserUnavailable`."""
        if not self.can_ask:
            raise UserUnavailable(
                "no user is there to answer", "continue with the most likely choice and say so"
            )
        question = replace(question, id=new_id())
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = future
        self.log.emit(question, agent, call)
        try:
            return await future
        finally:
            self._questions.pop(question.id, None)

    def answer(self, op: Answer) -> None:
        future = self._questions.get(op.request)
        if future is None or future.done():
            self.log.emit(Warned("that question no longer waits for an answer"))
            return
        future.set_result(op)

    def _resolve(
        self, id: str, answer: ApprovalAnswer, by: DecidedBy, agent: str, call: str
    ) -> ApprovalAnswer:
        hunks = _split_hunks(self._requests[id], answer)
        self.log.emit(ApprovalResolved(id, answer.decision, by, answer.note, *hunks), agent, call)
        return replace(answer, by=by)
