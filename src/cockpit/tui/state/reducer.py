"""`reduce`: one envelope into the state. Each event costs the same however long the session is."""

from typing import TypeAlias, assert_never

from cockpit.protocol import events
from cockpit.protocol.content import plain
from cockpit.protocol.events import Envelope, Event
from cockpit.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from cockpit.protocol.rows import TodoRow
from cockpit.tui.clean import clean, one_line
from cockpit.tui.state import calls, code, files, plans, rewinds, subagents
from cockpit.tui.state.entries import Answered, Called, Ended, Remark, Said, Shown, Thought, Welcomed
from cockpit.tui.state.safe import safe_blocks
from cockpit.tui.state.state import Request, State, Turn


def reduce(state: State, envelope: Envelope) -> None:
    """Take `envelope` into `state`."""
    event = envelope.event
    if envelope.agent not in ("main", "") and subagents.take(state, envelope):
        return
    match event:
        case events.TextDelta():
            _text(state, event)
        case events.ThoughtDelta():
            _thought(state, event, envelope.time)
        case events.ToolCallProgressed():
            calls.progressed(state, event)
        case _:
            state.seq = max(state.seq, envelope.seq)
            _durable(state, envelope, event)


def _durable(state: State, envelope: Envelope, event: Event) -> None:
    """Everything but deltas; split in two, for the reader's sake, by whether a turn is needed."""
    match event:
        case events.TurnStarted():
            _turn_started(state, event, envelope)
        case events.StepStarted():
            _step_started(state, event)
        case events.MessageFinished():
            _message(state, event, envelope.time)
        case events.ToolCallStarted():
            calls.started(state, event, envelope.time)
            code.called(state.code, event, state.root)
        case events.ToolCallFinished():
            calls.finished(state, event)
        case events.ApprovalRequested():
            calls.asked(state, event, envelope.call)
        case events.ApprovalResolved():
            calls.resolved(state, event)
        case events.QuestionAsked():
            state.questions[event.id] = event
            state.asked_in[event.id] = envelope.call
            state.aspects.add("work")
        case events.TurnFinished():
            _turn_finished(state, event)
        case events.TextDelta() | events.ThoughtDelta() | events.ToolCallProgressed():
            pass
        case _:
            _standing(state, envelope, event)


_Standing: TypeAlias = (
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


def _standing(state: State, envelope: Envelope, event: _Standing) -> None:
    """What is so between turns and beside them."""
    state.aspects |= {"work", "bar"}
    match event:
        case events.SessionStarted():
            _session_started(state, event, envelope.session)
        case events.SessionChanged():
            _session_changed(state, event)
        case events.SessionClosed():
            state.turn, state.closed = None, event.reason or "closed"
            state.add(Remark("note", f"session closed: {one_line(event.reason or 'by request')}"))
        case events.TodoChanged():
            state.todo = tuple(TodoRow(one_line(row.text), row.status) for row in event.rows)
        case events.PlanChanged():
            plans.changed(state, event)
        case events.FileChanged():
            files.changed(state, event, envelope)
            code.changed(state.code, event)
        case events.ContextCompacted():
            state.add(Remark("note", f"context compacted: {event.before:,} to {event.after:,} tokens"))
        case events.Unknown():
            state.add(Remark("note", f"event {one_line(event.kind)} is not known to this version"))
        case events.Rewound():
            rewinds.rewound(state, event, envelope)
        case events.UsageChanged():
            state.usage, state.context, state.window = event.usage, event.context, event.window
        case events.Warned():
            state.add(Remark("warning", clean(event.text), clean(event.hint), one_line(event.source)))
        case events.Noticed():
            _noticed(state, event, envelope.time)
        case events.PanelChanged():
            state.panels[event.panel] = event.rows
            code.panel(state.code, event)
        case events.AgentChanged():
            pass  # the panel `agents` and the subagent's own events tell of it
        case _:
            assert_never(event)


def _session_changed(state: State, event: events.SessionChanged) -> None:
    state.model, state.mode = event.model, event.mode
    state.trusted, state.title = event.trusted, one_line(event.title or state.title)
    state.isolation = event.isolation or state.isolation
    state.branch = one_line(event.branch)
    _welcome(state)


def _session_started(state: State, event: events.SessionStarted, session: str) -> None:
    state.session, state.root, state.version = session, event.root, event.version
    state.model, state.mode, state.trusted = event.model, event.mode, event.trusted
    state.isolation = event.isolation
    state.started, state.resumed = True, event.resumed
    _welcome(state)
    if event.resumed and len(state.entries) > 1:
        _close_open(state, "interrupted")
        state.turn = None
        state.approvals.clear()
        state.questions.clear()
        state.add(Remark("note", "session resumed"))


def _welcome(state: State) -> None:
    """The first entry names the model, and how to attach one where there is none."""
    if state.entries and isinstance(first := state.entries[0], Welcomed):
        first.model = state.model
        offline = state.model.partition(":")[0] == "offline"
        first.note = "offline: no language model yet, /connect attaches one" if offline else ""
        state.touch(0)


def _turn_started(state: State, event: events.TurnStarted, envelope: Envelope) -> None:
    state.waiting = [one for one in state.waiting if one.op != event.op]
    state.turn = Turn(envelope.turn, envelope.time)
    text = clean(plain(event.content))
    if text:
        state.add(Said(text, event.origin, seq=envelope.seq))
    state.aspects |= {"work", "bar"}


def _step_started(state: State, event: events.StepStarted) -> None:
    if state.turn is not None:
        state.turn.step, state.turn.model = event.step, event.model
        state.turn.streaming = False
    state.aspects.add("work")


def _text(state: State, event: events.TextDelta) -> None:
    number = state.texts.get(event.message)
    if number is None:
        _end_thought(state, event.message)
        number = state.texts[event.message] = state.add(Answered())
        if state.turn is not None:
            state.turn.streaming = True
            state.aspects.add("work")
    entry = state.entries[number]
    if isinstance(entry, Answered) and not entry.done:
        entry.parts.append(clean(event.text))
        state.touch(number)


def _thought(state: State, event: events.ThoughtDelta, time: float) -> None:
    number = state.thoughts.get(event.message)
    if number is None:
        number = state.thoughts[event.message] = state.add(Thought(began=time))
        state.aspects.add("work")
    entry = state.entries[number]
    if isinstance(entry, Thought) and not entry.done:
        entry.parts.append(clean(event.text))
        entry.seconds = max(0.0, time - entry.began)
        state.touch(number)


def _end_thought(state: State, message: str) -> None:
    number = state.thoughts.get(message)
    if number is not None and isinstance(entry := state.entries[number], Thought):
        entry.done = True
        state.touch(number)


def _message(state: State, event: events.MessageFinished, time: float) -> None:
    match event.message:
        case UserMessage(content):
            _steered(state, clean(plain(content)))
        case AssistantMessage():
            _answer(state, event.id, event.message)
        case ToolMessage():
            pass  # the call's ToolCallFinished says the same, and more


def _steered(state: State, text: str) -> None:
    for one in state.waiting:
        if one.kind == "steer" and one.text.strip() == text.strip():
            state.waiting.remove(one)
            break
    state.add(Said(text, steer=True))


def _answer(state: State, id: str, message: AssistantMessage) -> None:
    """The whole message; deltas that built it are kept where they say the same."""
    if message.thoughts:
        number = state.thoughts.get(id)
        if number is None:
            number = state.thoughts[id] = state.add(Thought())
        thought = state.entries[number]
        assert isinstance(thought, Thought)
        thought.parts, thought.done = [clean(message.thoughts)], True
        state.touch(number)
    if not message.text and id not in state.texts:
        return
    number = state.texts.get(id)
    if number is None:
        number = state.texts[id] = state.add(Answered())
    entry = state.entries[number]
    assert isinstance(entry, Answered)
    whole = clean(message.text)
    if entry.parts and entry.text != whole:
        entry.whole += 1
    entry.parts, entry.done = [whole], True
    entry.cut = {
        "length": "cut off by the model's limit",
        "content_filter": "stopped by a content filter",
    }.get(message.finish, "interrupted" if message.finish == "interrupted" else "")
    state.touch(number)


def _turn_finished(state: State, event: events.TurnFinished) -> None:
    turn = state.turn
    status = "cancelled" if event.stop_reason == "cancelled" else "interrupted"
    _close_open(state, status)
    state.turn = None
    state.approvals.clear()
    state.questions.clear()
    state.aspects |= {"work", "bar"}
    state.add(
        Ended(
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


def _close_open(state: State, status: str) -> None:
    """Nothing runs any more: whatever was open is marked so."""
    for number in list(state.running.values()):
        entry = state.entries[number]
        if isinstance(entry, Called):
            entry.status = "cancelled" if status == "cancelled" else "interrupted"
            state.touch(number)
    state.running.clear()
    for numbers in (state.texts, state.thoughts):
        for number in numbers.values():
            entry = state.entries[number]
            if isinstance(entry, Answered | Thought) and not entry.done:
                entry.done = True
                state.touch(number)
        numbers.clear()


def _noticed(state: State, event: events.Noticed, time: float) -> None:
    op = str(event.data.get("op", ""))
    values = dict(event.data)
    if event.kind == "action" or op in state.captured:
        text = clean(plain(event.content))
        state.requests.append(Request(event.kind, event.plugin, op, time, values, text))
        return
    if event.content:
        state.add(Shown(one_line(event.plugin), safe_blocks(event.content)))
