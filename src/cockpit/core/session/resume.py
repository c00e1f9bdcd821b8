"""Restores a stored session from its file, and starts a session; `deck` opens, forks and closes sessions.

Restored are state, history, and prompts that were accepted and never begun. What a crash left open is closed
as interrupted, unless it only waited for the user.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from cockpit import __version__, paths
from cockpit.core.agent.agent import Agent
from cockpit.core.agent.session_state import SessionState
from cockpit.core.permission.rules import describe_unknown_rules
from cockpit.core.session.session import AgentSession
from cockpit.core.session.turn_queue import QueuedPrompt
from cockpit.core.subagents.opener import SubagentRecords, restore_subagents
from cockpit.core.transcript.history import INTERRUPTED_TEXT, ConversationHistory
from cockpit.core.transcript.log import SessionLog
from cockpit.core.transcript.transcript import AcceptedOp, AnswerDraft, LoadedTranscript, StartedMark
from cockpit.plugin.origin import FileProblem
from cockpit.plugin.values import Observer, Resident
from cockpit.protocol import events
from cockpit.protocol.events import Envelope, Warned
from cockpit.protocol.messages import AssistantMessage, ToolCall, ToolResult, Usage
from cockpit.protocol.ops import EditContext, FollowUp, Prompt, Steer
from cockpit.settings import permissions
from cockpit.settings.file_io import write_atomically

MAX_SHOWN_FAULTS = 6
MAX_SHOWN_OFFERS = 5
FAULTS_HINT = "details: `cockpit skills|roles|commands|hooks|mcp list`"


@dataclass(slots=True)
class PastSession:
    """The state a transcript records. `requests` and `calls` are still open; `marked` calls were about to
    run.

    `worktree` is the folder the main agent worked in, empty for the session's own.
    """

    envelopes: list[Envelope] = field(default_factory=list)
    history: ConversationHistory = field(default_factory=ConversationHistory)
    state: SessionState = field(default_factory=SessionState)
    agents: SubagentRecords = field(default_factory=SubagentRecords)
    prompts: dict[str, QueuedPrompt] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    drafts: dict[str, list[AnswerDraft]] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[str, ToolCall]] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    turn: str = ""
    worktree: str = ""


def read_past(loaded: LoadedTranscript) -> PastSession:
    """Fold the records of a transcript."""
    past = PastSession()
    for record in loaded.records:
        match record:
            case Envelope():
                past.envelopes.append(record)
                past.history.see(record)
                past.agents.see(record)
                past.state.fold(record)
                _fold_event(past, record)
            case AcceptedOp(op):
                past.ids.append(op.id)
                if isinstance(op, Prompt | FollowUp) or (isinstance(op, Steer) and op.agent == "main"):
                    past.prompts[op.id] = QueuedPrompt(op.id, op.origin, op.content)
                elif isinstance(op, EditContext):
                    past.history.edit(op.change, op.seqs)
            case AnswerDraft():
                past.drafts.setdefault(record.message, []).append(record)
            case StartedMark(call):
                past.marked.add(call)
            case _:
                pass
    past.worktree = past.state.worktree
    return past


def _fold_event(past: PastSession, envelope: Envelope) -> None:
    is_main = envelope.agent == "main"
    match envelope.event:
        case events.TurnStarted(op=op) if is_main:
            past.turn = op
            past.prompts.pop(op, None)
        case events.TurnFinished() if is_main:
            past.turn = ""
        case events.MessageFinished(id=id, message=message):
            past.prompts.pop(id, None)
            past.drafts.pop(id, None)
            if isinstance(message, AssistantMessage):
                past.calls |= {call.id: (envelope.agent, call) for call in message.calls}
        case events.ToolCallStarted(call=call):
            past.calls[call.id] = (envelope.agent, call)
        case events.ToolCallFinished(result=result):
            past.calls.pop(result.call, None)
        case events.ApprovalRequested(id=id):
            past.requests[id] = envelope.call
        case events.ApprovalResolved(id=id):
            past.requests.pop(id, None)
        case _:
            pass


def start_session(
    session: AgentSession, past: PastSession, reports: tuple[str, ...], continues: bool = True
) -> None:
    """Report what was opened, close what a crash left open, and continue what was waiting, unless `continues`
    is False."""
    main, services, state = session.main, session.services, session.main.state
    log, catalog = services.log, services.catalog
    resumed = bool(past.envelopes)
    opened = events.SessionStarted(
        services.root, state.model, state.mode, state.trusted, resumed, __version__
    )
    log.emit(opened)
    if past.worktree:
        # The worktree is open again, or gone: readers are informed either way.
        state.announce()
    for text in reports:
        log.emit(Warned(text, source="transcript"))
    for text in describe_unknown_rules(main.all_rules(), main.toolbox.tools()):
        log.emit(Warned(text, "correct the rule: now it has no effect", "permissions"))
    for text in catalog.warnings:
        log.emit(Warned(text, "details: cockpit plugins, cockpit doctor", "plugins"))
    for text in services.settings.left_out:
        log.emit(Warned(text, "details: cockpit config check, cockpit permissions list", "settings"))
    report_faults(main)
    _announce_offers(main)
    calls = close_open_calls(past, log)
    restore_subagents(session.pool, past.agents, continues)
    session.observers.keep(catalog.all(Observer))
    session.residents.keep(catalog.all(Resident))
    session.guards.begin("resume" if resumed else "startup")
    if not continues:
        return
    if calls:
        session.turns.resume(past.turn, calls)
    for prompt in past.prompts.values():
        log.emit(Warned("a prompt that was accepted before the crash begins now"))
        session.turns.add(prompt)


def close_open_calls(past: PastSession, log: SessionLog) -> tuple[ToolCall, ...]:
    """Close what a crash left open and report it.

    Returns the calls that may continue: those of the main agent whose turn ended while the user was
    asked, when none of them had begun.
    """
    for pieces in past.drafts.values():
        text = "".join(piece.text for piece in pieces)
        thoughts = "".join(piece.thoughts for piece in pieces)
        message = AssistantMessage(text, (), thoughts, "interrupted")
        log.emit(events.MessageFinished(pieces[0].message, message), pieces[0].agent)
    resumable = _resumable_calls(past)
    for agent, call in tuple(past.calls.values()):
        if call not in resumable:
            result = ToolResult(call.id, call.name, "interrupted", INTERRUPTED_TEXT)
            log.emit(events.ToolCallFinished(result), agent, call.id)
            if call.id in past.marked:
                log.emit(Warned(f"{call.name} was running when cockpit ended", "check whether it was done"))
    for id in past.requests:
        log.emit(events.ApprovalResolved(id, "reject_once", "closed"))
    if past.turn and not resumable:
        text = "interrupted: cockpit ended in this turn"
        log.emit(events.TurnFinished("cancelled", Usage(), 0.0, message=text))
    return resumable


def _resumable_calls(past: PastSession) -> tuple[ToolCall, ...]:
    if not past.turn or not past.requests:
        return ()
    calls = past.history.open_calls()
    waiting = set(past.requests.values())
    if any(call.id in past.marked for call in calls) or not any(call.id in waiting for call in calls):
        return ()
    return calls


def _announce_offers(main: Agent) -> None:
    """Tell the user once what files would allow in this folder; it does not apply by itself."""
    services = main.services
    asks = services.approvals.can_ask
    offers = permissions.find_offers(services.root, main.state.trusted) if asks else ()
    if permissions.is_new_offer(services.root, offers):
        names = ", ".join(offer.text for offer in offers[:MAX_SHOWN_OFFERS])
        more = f" and {len(offers) - MAX_SHOWN_OFFERS} more" if len(offers) > MAX_SHOWN_OFFERS else ""
        text = f"files here would allow the following, which does not apply: {names}{more}"
        hint = "`cockpit permissions adopt` applies them to this folder; this is reported once"
        services.log.emit(Warned(text, hint, "permissions"))


def report_faults(main: Agent, before: Collection[FileProblem] = ()) -> None:
    """Emit one `Warned` for the faults of the catalog that are not in `before`.

    A set of faults is listed once per folder, then only counted; the state folder records which set was
    listed last.
    """
    services = main.services
    faults = [fault for fault in services.catalog.faults if fault not in before]
    if not faults:
        return
    files = len({fault.file for fault in faults})
    count = f"{len(faults)} problem{'s' if len(faults) > 1 else ''} in {files} file{'s' if files > 1 else ''}"
    if not before and not _is_new_report(services.root, faults):
        services.log.emit(Warned(f"{count} here: these parts are still not used", FAULTS_HINT, "files"))
        return
    shown = [
        replace(fault, file=_relative_file(fault.file, services.root)) for fault in faults[:MAX_SHOWN_FAULTS]
    ]
    more = [f"and {len(faults) - MAX_SHOWN_FAULTS} more"] if len(faults) > MAX_SHOWN_FAULTS else []
    text = "\n".join([f"{count} here: these parts are not used, the rest works", *map(str, shown), *more])
    services.log.emit(Warned(text, FAULTS_HINT, "files"))


def _relative_file(file: str, root: str) -> str:
    try:
        return Path(file).relative_to(root).as_posix()
    except ValueError:
        return file


def _is_new_report(root: str, faults: list[FileProblem]) -> bool:
    """Whether these faults were not listed for `root` before. Stores that they are now."""
    digest = hashlib.sha256("\n".join(sorted(map(str, faults))).encode("utf-8", "replace")).hexdigest()
    file = paths.state() / "refusals.json"
    try:
        stored = json.loads(file.read_bytes())
    except (OSError, ValueError):
        stored = {}
    if not isinstance(stored, dict):
        stored = {}
    if stored.get(root) == digest:
        return False
    write_atomically(file, json.dumps(stored | {root: digest}, indent=1).encode(), private=True)
    return True
