"""`reduce`: folds one envelope into the state. Each event costs the same however long the session is."""

from typing import Literal, TypeAlias, assert_never

from cockpit.protocol import events
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import Envelope, Event
from cockpit.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from cockpit.protocol.rows import TodoRow
from cockpit.protocol.safe_text import clean, clean_output, single_line
from cockpit.tui.state import changed_files, screen_state
from cockpit.tui.state.entries import (
    TAIL_LINES,
    AnswerEntry,
    CallEntry,
    CallStatus,
    OutputEntry,
    PlanEntry,
    PromptEntry,
    RemarkEntry,
    SubagentEntry,
    ThoughtEntry,
    TurnEndEntry,
    WelcomeEntry,
    clean_blocks,
)
from cockpit.tui.state.screen_state import FrontendRequest, RunningTurn, ScreenState


def apply_plan_change(state: ScreenState, event: events.PlanChanged) -> None:
    """Show a plan as one entry, whose state changes in place."""
    state.plan = event
    at, waiting = state.plan_entry, event.state == "pending"
    entry = state.entries[at] if 0 <= at < len(state.entries) else None
    if isinstance(entry, PlanEntry) and not (waiting and entry.text != clean(event.text)):
        entry.text, entry.note = clean(event.text or entry.text), single_line(event.note)
        entry.state = {"idle": "set aside", "planning": "set aside"}.get(event.state, event.state)
        state.touch(at)
    elif event.text and event.state not in ("idle", "planning"):
        state.plan_entry = state.add(PlanEntry(clean(event.text), event.state, single_line(event.note)))
    if not waiting:
        state.plan_entry = -1


def apply_subagent_event(state: ScreenState, envelope: Envelope) -> bool:
    """Fold an event of a subagent into its one entry; false where the event concerns the whole session."""
    event = envelope.event
    match event:
        case events.TextDelta() | events.ThoughtDelta() | events.ToolCallProgressed():
            return True
        case events.TurnStarted():
            _subagent_entry(state, envelope.agent)
        case events.StepStarted():
            entry = _subagent_entry(state, envelope.agent)
            entry.steps, entry.activity = event.step, "thinks"
        case events.ToolCallStarted():
            entry = _subagent_entry(state, envelope.agent)
            entry.calls += 1
            entry.activity = single_line(event.title)
        case events.ToolCallFinished():
            _subagent_entry(state, envelope.agent).activity = ""
        case events.MessageFinished(message=AssistantMessage(text=text)):
            _subagent_entry(state, envelope.agent).text = clean(text)
        case events.MessageFinished() | events.UsageChanged() | events.SessionChanged():
            pass
        case events.TurnFinished():
            entry = _subagent_entry(state, envelope.agent)
            entry.done, entry.activity = event.stop_reason, ""
        case _:
            return False
    state.seq = max(state.seq, envelope.seq)
    number = state.agents.get(envelope.agent)
    if number is not None:
        state.touch(number)
        state.aspects.add("work")
    return True


def _subagent_entry(state: ScreenState, agent: str) -> SubagentEntry:
    number = state.agents.get(agent)
    if number is None:
        number = state.agents[agent] = state.add(SubagentEntry(single_line(agent)))
    entry = state.entries[number]
    assert isinstance(entry, SubagentEntry)
    return entry


def reduce(state: ScreenState, envelope: Envelope) -> None:
    """Fold `envelope` into `state`."""
    event = envelope.event
    if envelope.agent not in ("main", "") and apply_subagent_event(state, envelope):
        return
    match event:
        case events.TextDelta():
            _add_text(state, event)
        case events.ThoughtDelta():
            _add_thought(state, event, envelope.time)
        case events.ToolCallProgressed():
            _append_output(state, event)
        case _:
            state.seq = max(state.seq, envelope.seq)
            _reduce_durable(state, envelope, event)


def _reduce_durable(state: ScreenState, envelope: Envelope, event: Event) -> None:
    """Fold what belongs to a turn; the rest goes to `_reduce_status`."""
    match event:
        case events.TurnStarted():
            _start_turn(state, event, envelope)
        case events.StepStarted():
            _start_step(state, event)
        case events.MessageFinished():
            _finish_message(state, event)
        case events.ToolCallStarted():
            _start_call(state, event, envelope.time)
            screen_state.note_call(state.code, event, state.root)
        case events.ToolCallFinished():
            _finish_call(state, event)
        case events.ApprovalRequested():
            _add_approval(state, event, envelope.call)
        case events.ApprovalResolved():
            _resolve_approval(state, event)
        case events.QuestionAsked():
            state.questions[event.id] = event
            state.request_calls[event.id] = envelope.call
            state.aspects.add("work")
        case events.TurnFinished():
            _finish_turn(state, event)
        case events.TextDelta() | events.ThoughtDelta() | events.ToolCallProgressed():
            pass
        case _:
            _reduce_status(state, envelope, event)


_StatusEvent: TypeAlias = (
    events.SessionStarted
    | events.SessionChanged
    | events.SessionClosed
    | events.TodoChanged
    | events.PlanChanged
    | events.AgentChanged
    | events.FileChanged
    | events.ContextCompacted
    | events.Rewound
    | events.UsageChanged
    | events.Warned
    | events.Noticed
    | events.PanelChanged
    | events.Unknown
)


def _reduce_status(state: ScreenState, envelope: Envelope, event: _StatusEvent) -> None:
    """Fold what may happen outside a turn."""
    state.aspects |= {"work", "bar"}
    match event:
        case events.SessionStarted():
            _start_session(state, event, envelope.session)
        case events.SessionChanged():
            _change_session(state, event)
        case events.SessionClosed():
            state.turn, state.closed = None, event.reason or "closed"
            state.add(RemarkEntry("note", f"session closed: {single_line(event.reason or 'by request')}"))
        case events.TodoChanged():
            state.todo = tuple(TodoRow(single_line(row.text), row.status) for row in event.rows)
        case events.PlanChanged():
            apply_plan_change(state, event)
        case events.FileChanged():
            changed_files.record_change(state, event, envelope)
            screen_state.note_file_change(state.code, event)
        case events.ContextCompacted():
            state.add(RemarkEntry("note", f"context compacted: {event.before:,} to {event.after:,} tokens"))
        case events.Unknown():
            state.add(
                RemarkEntry("note", f"unknown event {single_line(event.kind)}: a newer cockpit may show it")
            )
        case events.Rewound():
            changed_files.apply_rewind(state, event, envelope)
        case events.UsageChanged():
            state.usage, state.context, state.window = event.usage, event.context, event.window
        case events.Warned():
            state.add(RemarkEntry("warning", clean(event.text), clean(event.hint), single_line(event.source)))
        case events.Noticed():
            _add_notice(state, event, envelope.time)
        case events.PanelChanged():
            state.panels[event.panel] = event.rows
            screen_state.note_panel_change(state.code, event)
        case events.AgentChanged():
            pass  # the panel `agents` and the subagent's own events show it
        case _:
            assert_never(event)


def _change_session(state: ScreenState, event: events.SessionChanged) -> None:
    state.model, state.mode = event.model, event.mode
    state.trusted, state.title = event.trusted, single_line(event.title or state.title)
    state.isolation = event.isolation or state.isolation
    state.branch = single_line(event.branch)
    _update_welcome(state)


def _start_session(state: ScreenState, event: events.SessionStarted, session: str) -> None:
    state.session, state.root = session, event.root
    state.model, state.mode, state.trusted = event.model, event.mode, event.trusted
    state.isolation = event.isolation
    state.started = True
    _update_welcome(state)
    if event.resumed and len(state.entries) > 1:
        _close_unfinished(state, "interrupted")
        state.turn = None
        state.approvals.clear()
        state.questions.clear()
        state.add(RemarkEntry("note", "session resumed"))


def _update_welcome(state: ScreenState) -> None:
    if state.entries and isinstance(first := state.entries[0], WelcomeEntry):
        first.model = state.model
        offline = state.model.partition(":")[0] == "offline"
        first.note = "offline: no language model yet, /connect attaches one" if offline else ""
        state.touch(0)


def _start_turn(state: ScreenState, event: events.TurnStarted, envelope: Envelope) -> None:
    state.pending = [prompt for prompt in state.pending if prompt.op != event.op]
    state.turn = RunningTurn(envelope.turn, envelope.time)
    text = clean(plain_text(event.content))
    if text:
        state.add(PromptEntry(text, event.origin, seq=envelope.seq))
    state.aspects |= {"work", "bar"}


def _start_step(state: ScreenState, event: events.StepStarted) -> None:
    if state.turn is not None:
        state.turn.step, state.turn.model = event.step, event.model
        state.turn.streaming = False
    state.aspects.add("work")


def _add_text(state: ScreenState, event: events.TextDelta) -> None:
    number = state.texts.get(event.message)
    if number is None:
        _end_thought(state, event.message)
        number = state.texts[event.message] = state.add(AnswerEntry())
        if state.turn is not None:
            state.turn.streaming = True
            state.aspects.add("work")
    entry = state.entries[number]
    if isinstance(entry, AnswerEntry) and not entry.done:
        entry.parts.append(clean(event.text))
        state.touch(number)


def _add_thought(state: ScreenState, event: events.ThoughtDelta, time: float) -> None:
    number = state.thoughts.get(event.message)
    if number is None:
        number = state.thoughts[event.message] = state.add(ThoughtEntry(began=time))
        state.aspects.add("work")
    entry = state.entries[number]
    if isinstance(entry, ThoughtEntry) and not entry.done:
        entry.parts.append(clean(event.text))
        entry.seconds = max(0.0, time - entry.began)
        state.touch(number)


def _end_thought(state: ScreenState, message: str) -> None:
    number = state.thoughts.get(message)
    if number is not None and isinstance(entry := state.entries[number], ThoughtEntry):
        entry.done = True
        state.touch(number)


def _start_call(state: ScreenState, event: events.ToolCallStarted, time: float) -> None:
    call = event.call
    entry = CallEntry(
        call.id, single_line(call.name), event.kind, single_line(event.title), event.asked_by, began=time
    )
    number = state.add(entry)
    state.calls[call.id] = state.running[call.id] = number
    if state.turn is not None:
        state.turn.calls += 1
    state.aspects.add("work")


def _append_output(state: ScreenState, event: events.ToolCallProgressed) -> None:
    entry, number = _find_call(state, event.call)
    if entry is None:
        return
    pieces = event.text.split("\n")
    if entry.tail:
        pieces[0] = entry.tail.pop() + pieces[0]
    entry.tail += [clean_output(piece) for piece in pieces[:-1]]
    entry.tail.append(pieces[-1])  # unfinished: cleaned when it is drawn
    if len(entry.tail) > 2 * TAIL_LINES:
        del entry.tail[:-TAIL_LINES]
    state.touch(number)
    state.aspects.add("work")


def _finish_call(state: ScreenState, event: events.ToolCallFinished) -> None:
    result = event.result
    entry, number = _find_call(state, result.call)
    if entry is None:
        entry = CallEntry(result.call, single_line(result.name), "other", single_line(result.name))
        number = state.calls[result.call] = state.add(entry)
    entry.status, entry.seconds, entry.text = result.outcome, result.seconds, clean_output(result.text)
    entry.blocks = clean_blocks(result.blocks)
    entry.tail = []
    state.running.pop(result.call, None)
    _forget_requests(state, result.call)
    state.touch(number)
    state.aspects.add("work")


def _add_approval(state: ScreenState, event: events.ApprovalRequested, call: str) -> None:
    state.approvals[event.id] = event
    state.request_calls[event.id] = call
    _set_status(state, call, "waiting")
    state.aspects |= {"work", "bar"}


def _resolve_approval(state: ScreenState, event: events.ApprovalResolved) -> None:
    state.approvals.pop(event.id, None)
    call = state.request_calls.pop(event.id, "")
    if call in state.running:
        _set_status(state, call, "running")
    state.aspects |= {"work", "bar"}


def _set_status(state: ScreenState, call: str, status: CallStatus) -> None:
    entry, number = _find_call(state, call)
    if entry is not None:
        entry.status = status
        state.touch(number)


def _forget_requests(state: ScreenState, call: str) -> None:
    for request in [request for request, owner in state.request_calls.items() if owner == call]:
        state.approvals.pop(request, None)
        state.questions.pop(request, None)
        del state.request_calls[request]


def _find_call(state: ScreenState, call: str) -> tuple[CallEntry | None, int]:
    number = state.calls.get(call, -1)
    entry = state.entries[number] if number >= 0 else None
    return (entry, number) if isinstance(entry, CallEntry) else (None, -1)


def _finish_message(state: ScreenState, event: events.MessageFinished) -> None:
    match event.message:
        case UserMessage(content):
            _add_steer(state, clean(plain_text(content)))
        case AssistantMessage():
            _finish_answer(state, event.id, event.message)
        case ToolMessage():
            pass  # ToolCallFinished has the same result, and more


def _add_steer(state: ScreenState, text: str) -> None:
    for prompt in state.pending:
        if prompt.kind == "steer" and prompt.text.strip() == text.strip():
            state.pending.remove(prompt)
            break
    state.add(PromptEntry(text, steer=True))


def _finish_answer(state: ScreenState, id: str, message: AssistantMessage) -> None:
    if message.thoughts:
        number = state.thoughts.get(id)
        if number is None:
            number = state.thoughts[id] = state.add(ThoughtEntry())
        thought = state.entries[number]
        assert isinstance(thought, ThoughtEntry)
        thought.parts, thought.done = [clean(message.thoughts)], True
        state.touch(number)
    if not message.text and id not in state.texts:
        return
    number = state.texts.get(id)
    if number is None:
        number = state.texts[id] = state.add(AnswerEntry())
    entry = state.entries[number]
    assert isinstance(entry, AnswerEntry)
    whole = clean(message.text)
    if entry.parts and entry.text != whole:
        entry.replacements += 1
    entry.parts, entry.done = [whole], True
    state.touch(number)


def _finish_turn(state: ScreenState, event: events.TurnFinished) -> None:
    turn = state.turn
    _close_unfinished(state, "cancelled" if event.stop_reason == "cancelled" else "interrupted")
    state.turn = None
    state.approvals.clear()
    state.questions.clear()
    state.aspects |= {"work", "bar"}
    state.add(
        TurnEndEntry(
            event.stop_reason,
            event.limit,
            event.seconds,
            event.usage,
            turn.step if turn else 0,
            turn.calls if turn else 0,
            event.denied,
            clean(event.message),
        )
    )


def _close_unfinished(state: ScreenState, status: Literal["cancelled", "interrupted"]) -> None:
    for number in list(state.running.values()):
        entry = state.entries[number]
        if isinstance(entry, CallEntry):
            entry.status = status
            state.touch(number)
    state.running.clear()
    for numbers in (state.texts, state.thoughts):
        for number in numbers.values():
            entry = state.entries[number]
            if isinstance(entry, AnswerEntry | ThoughtEntry) and not entry.done:
                entry.done = True
                state.touch(number)
        numbers.clear()


def _add_notice(state: ScreenState, event: events.Noticed, time: float) -> None:
    op = str(event.data.get("op", ""))
    values = dict(event.data)
    if event.kind == "action" or op in state.captured:
        text = clean(plain_text(event.content))
        state.requests.append(FrontendRequest(event.kind, event.plugin, op, time, values, text))
        return
    if event.content:
        state.add(OutputEntry(single_line(event.plugin), clean_blocks(event.content)))
