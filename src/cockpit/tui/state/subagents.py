"""Subagents: all that one of them does is one entry of the Trace, folded."""

from cockpit.protocol import events
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import AssistantMessage
from cockpit.tui.clean import clean, one_line
from cockpit.tui.state.entries import Delegated
from cockpit.tui.state.state import State


def take(state: State, envelope: Envelope) -> bool:
    """Whether the event was a subagent's own business and was taken; else it is the session's."""
    event = envelope.event
    match event:
        case events.TextDelta() | events.ThoughtDelta() | events.ToolCallProgressed():
            return True
        case events.TurnStarted():
            _entry(state, envelope.agent)
        case events.StepStarted():
            entry = _entry(state, envelope.agent)
            entry.steps, entry.activity = event.step, "thinks"
        case events.ToolCallStarted():
            entry = _entry(state, envelope.agent)
            entry.calls += 1
            entry.activity = one_line(event.title)
        case events.ToolCallFinished():
            _entry(state, envelope.agent).activity = ""
        case events.MessageFinished(message=AssistantMessage(text=text)):
            _entry(state, envelope.agent).text = clean(text)
        case events.MessageFinished() | events.UsageChanged() | events.SessionChanged():
            pass
        case events.TurnFinished():
            entry = _entry(state, envelope.agent)
            entry.done, entry.activity = event.stop_reason, ""
        case _:
            return False
    state.seq = max(state.seq, envelope.seq)
    number = state.agents.get(envelope.agent)
    if number is not None:
        state.touch(number)
        state.aspects.add("work")
    return True


def _entry(state: State, agent: str) -> Delegated:
    number = state.agents.get(agent)
    if number is None:
        number = state.agents[agent] = state.add(Delegated(one_line(agent)))
    entry = state.entries[number]
    assert isinstance(entry, Delegated)
    return entry
