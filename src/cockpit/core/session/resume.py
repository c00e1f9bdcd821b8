"""What of the files here was not taken over, told as one message: whole the first time, then in short.

Opening a session: a new one, a stored one as it was, a fork of one.

A stored one is folded out of its file: history, rules of the session, what was accepted and never
begun. What a crash left open is closed as interrupted, unless it only waited for a person.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from cockpit import __version__, paths
from cockpit.core.agent.agent import Host
from cockpit.core.permission.rules import PermissionRule, describe_unknown_rules, parse_rule
from cockpit.core.session.session import AgentSession
from cockpit.core.session.turn_queue import QueuedPrompt
from cockpit.core.subagents.opener import SubagentRecords, restore_subagents
from cockpit.core.transcript.history import INTERRUPTED_TEXT, ConversationHistory
from cockpit.core.transcript.log import SessionLog
from cockpit.core.transcript.transcript import AcceptedOp, AnswerDraft, CallMark, LoadedTranscript
from cockpit.plugin.origin import FileProblem
from cockpit.plugin.values import Observer, Resident
from cockpit.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    MessageFinished,
    PlanChanged,
    SessionChanged,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    UsageChanged,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage, Mode, ToolCall, ToolResult, Usage
from cockpit.protocol.ops import EditContext, FollowUp, Prompt, Steer
from cockpit.settings import permissions
from cockpit.settings.file_io import write_atomically

MAX_SHOWN_FAULTS = 6
FAULTS_HINT = "`cockpit skills|roles|commands|hooks|mcp list` say all of it"


def report_faults(host: Host, before: Collection[FileProblem] = ()) -> None:
    """Emit one `Warned` for the faults of the catalog that are not among `before`, none where there are none.

    Which set was told in full last is kept by folder in the state folder.
    """
    faults = [one for one in host.catalog.faults if one not in before]
    if not faults:
        return
    files = len({one.file for one in faults})
    count = f"{len(faults)} thing{'s' if len(faults) > 1 else ''} in {files} file{'s' if files > 1 else ''}"
    if not before and not _is_new_report(host.root, faults):
        host.log.emit(Warned(f"{count} here still not taken over", FAULTS_HINT, "files"))
        return
    lines = [str(replace(one, file=_relative_file(one.file, host.root))) for one in faults[:MAX_SHOWN_FAULTS]]
    more = [f"and {len(faults) - MAX_SHOWN_FAULTS} more"] if len(faults) > MAX_SHOWN_FAULTS else []
    host.log.emit(
        Warned(
            "\n".join([f"{count} here not taken over; the rest works", *lines, *more]), FAULTS_HINT, "files"
        )
    )


def _relative_file(file: str, root: str) -> str:
    try:
        return Path(file).relative_to(root).as_posix()
    except ValueError:
        return file


def _is_new_report(root: str, faults: list[FileProblem]) -> bool:
    """Whether just these were not told for `root` before; they count as told from now on."""
    digest = hashlib.sha256("\n".join(sorted(map(str, faults))).encode("utf-8", "replace")).hexdigest()
    file = paths.state() / "refusals.json"
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        kept = {}
    if not isinstance(kept, dict):
        kept = {}
    if kept.get(root) == digest:
        return False
    write_atomically(file, json.dumps(kept | {root: digest}, indent=1).encode(), private=True)
    return True


MAX_SHOWN_OFFERS = 5


@dataclass(slots=True)
class PastSession:
    """What a file says of its session."""

    envelopes: list[Envelope] = field(default_factory=list)
    history: ConversationHistory = field(default_factory=ConversationHistory)
    waiting: dict[str, QueuedPrompt] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    rules: list[PermissionRule] = field(default_factory=list)
    drafts: dict[str, list[AnswerDraft]] = field(default_factory=dict)
    asked: dict[str, tuple[str, ApprovalRequested]] = field(default_factory=dict)
    started: dict[str, tuple[str, ToolCall]] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    turn: str = ""
    model: str = ""
    mode: Mode | None = None
    title: str = ""
    folder: str = ""
    usage: Usage = field(default_factory=Usage)
    plan: PlanChanged | None = None
    agents: SubagentRecords = field(default_factory=SubagentRecords)


def read_past(loaded: LoadedTranscript) -> PastSession:
    """Fold a file's records."""
    past = PastSession()
    for record in loaded.records:
        match record:
            case Envelope():
                past.envelopes.append(record)
                past.history.see(record)
                past.agents.see(record)
                _fold_event(past, record)
            case AcceptedOp(op):
                past.ids.append(op.id)
                if isinstance(op, Prompt | FollowUp) or (isinstance(op, Steer) and op.agent == "main"):
                    past.waiting[op.id] = QueuedPrompt(op.id, op.origin, op.content)
                elif isinstance(op, EditContext):
                    past.history.edit(op.change, op.seqs)
            case AnswerDraft():
                past.drafts.setdefault(record.message, []).append(record)
            case CallMark(call):
                past.marked.add(call)
            case _:
                pass
    return past


def _fold_event(past: PastSession, envelope: Envelope) -> None:
    match envelope.event:
        case SessionStarted(model=model, mode=mode):
            past.model, past.mode = model, mode
        case SessionChanged(model=model, mode=mode, title=title, folder=folder):
            past.model, past.mode, past.title = model, mode, title or past.title
            past.folder = folder
        case TurnStarted(op=op) if envelope.agent == "main":
            past.turn = op
            past.waiting.pop(op, None)
        case TurnFinished() if envelope.agent == "main":
            past.turn = ""
        case MessageFinished(id=id, message=message):
            past.waiting.pop(id, None)
            past.drafts.pop(id, None)
            if isinstance(message, AssistantMessage):
                past.started |= {call.id: (envelope.agent, call) for call in message.calls}
        case ToolCallStarted(call=call):
            past.started[call.id] = (envelope.agent, call)
        case ToolCallFinished(result=result):
            past.started.pop(result.call, None)
        case ApprovalRequested() as request:
            past.asked[request.id] = (envelope.call, request)
        case ApprovalResolved(id=id, decision=decision):
            _fold_answer(past, id, decision)
        case UsageChanged(usage=usage):
            past.usage = usage
        case PlanChanged() as plan:
            past.plan = plan
        case _:
            pass


def _fold_answer(past: PastSession, id: str, decision: str) -> None:
    _, request = past.asked.pop(id, ("", None))
    if request is not None and decision == "allow_session":
        past.rules += [parse_rule("allow", text, "this session") for text in request.remembers]


def _announce_offers(host: Host) -> None:
    """Tell a person once what files would allow here; nothing of it applies by itself."""
    offers = permissions.find_offers(host.root, host.trusted) if host.approvals.someone else ()
    if permissions.is_new_offer(host.root, offers):
        names = ", ".join(one.text for one in offers[:MAX_SHOWN_OFFERS])
        more = f" and {len(offers) - MAX_SHOWN_OFFERS} more" if len(offers) > MAX_SHOWN_OFFERS else ""
        text = f"files here would allow, and do not: {names}{more}"
        hint = "`cockpit permissions adopt` takes them over for this folder; this is said once"
        host.log.emit(Warned(text, hint, "permissions"))


def close_open_calls(past: PastSession, log: SessionLog) -> tuple[ToolCall, ...]:
    """Close what a crash left open and say so. Calls that may be taken up again are returned: those
    of the main agent whose turn broke off while a person was asked, none of which had begun."""
    for pieces in past.drafts.values():
        text = "".join(piece.text for piece in pieces)
        thoughts = "".join(piece.thoughts for piece in pieces)
        message = AssistantMessage(text, (), thoughts, "interrupted")
        log.emit(MessageFinished(pieces[0].message, message), pieces[0].agent)
    resumable = _resumable_calls(past)
    keep = {call.id for call in resumable}
    for agent, call in tuple(past.started.values()):
        if call.id not in keep:
            result = ToolResult(call.id, call.name, "interrupted", INTERRUPTED_TEXT)
            log.emit(ToolCallFinished(result), agent, call.id)
            if call.id in past.marked:
                log.emit(Warned(f"{call.name} was running when cockpit ended", "look whether it was done"))
    for id in past.asked:
        log.emit(ApprovalResolved(id, "reject_once", "closed"))
    if past.turn and not resumable:
        log.emit(TurnFinished("cancelled", Usage(), 0.0, message="interrupted: cockpit ended in this turn"))
    return resumable


def _resumable_calls(past: PastSession) -> tuple[ToolCall, ...]:
    if not past.turn or not past.asked:
        return ()
    calls = past.history.open_calls()
    waiting = {call for call, _ in past.asked.values()}
    if any(call.id in past.marked for call in calls) or not any(call.id in waiting for call in calls):
        return ()
    return calls


def start_session(
    session: AgentSession, past: PastSession, reports: tuple[str, ...], takes_up: bool = True
) -> None:
    """Say what was opened, close what a crash left open, take up what waits (unless it may not)."""
    host, log = session.host, session.host.log
    resumed = bool(past.envelopes)
    log.emit(SessionStarted(host.root, host.model, host.mode, host.trusted, resumed, __version__))
    if past.folder:
        # It stands there again, or no more: either way readers hear of it.
        session.changed(host.mode)
    for text in reports:
        log.emit(Warned(text, source="transcript"))
    strange = describe_unknown_rules(host.all_rules(), session.main.toolbox.tools())
    for text in strange:
        log.emit(Warned(text, "mend the rule: what it should stop is not stopped", "permissions"))
    for text in host.catalog.warnings:
        log.emit(Warned(text, "cockpit plugins and cockpit doctor say more", "plugins"))
    for text in host.settings.left_out:
        log.emit(Warned(text, "cockpit config check and cockpit permissions list say more", "settings"))
    report_faults(host)
    _announce_offers(host)
    calls = close_open_calls(past, log)
    if host.crew is not None:
        restore_subagents(host.crew, past.agents, takes_up)
    session.observers.keep(host.catalog.all(Observer))
    session.residents.keep(host.catalog.all(Resident))
    session.occasions.begin("resume" if resumed else "startup")
    if not takes_up:
        return
    if calls:
        session.turns.take_up(past.turn, calls)
    for prompt in past.waiting.values():
        log.emit(Warned("a prompt that was accepted before the crash is taken up now"))
        session.turns.add(prompt)
