"""Reduces the events of tool calls, and of the approvals and questions that belong to them."""

from cockpit.protocol import events
from cockpit.protocol.safe_text import clean_output, single_line
from cockpit.tui.state.entries import TAIL_LINES, CallEntry, CallStatus, clean_blocks
from cockpit.tui.state.screen_state import ScreenState


def start_call(state: ScreenState, event: events.ToolCallStarted, time: float) -> None:
    call = event.call
    entry = CallEntry(
        call.id, single_line(call.name), event.kind, single_line(event.title), event.asked_by, began=time
    )
    number = state.add(entry)
    state.calls[call.id] = state.running[call.id] = number
    if state.turn is not None:
        state.turn.calls += 1
    state.aspects.add("work")


def append_output(state: ScreenState, event: events.ToolCallProgressed) -> None:
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


def finish_call(state: ScreenState, event: events.ToolCallFinished) -> None:
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


def add_approval(state: ScreenState, event: events.ApprovalRequested, call: str) -> None:
    state.approvals[event.id] = event
    state.request_calls[event.id] = call
    _set_status(state, call, "waiting")
    state.aspects |= {"work", "bar"}


def resolve_approval(state: ScreenState, event: events.ApprovalResolved) -> None:
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
