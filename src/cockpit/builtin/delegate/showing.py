"""Subagents in words: where one stands, what it has done."""

from collections.abc import Iterable, Iterator

from cockpit.plugin.agents import AgentState
from cockpit.protocol.clean import one_line
from cockpit.protocol.content import plain
from cockpit.protocol.events import (
    Event,
    MessageFinished,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage, UserMessage

SHOWN_RESULT = 400
SHOWN_TASK = 90


def headed(state: AgentState) -> str:
    """One line: who, how it stands, what it has cost."""
    parts = [state.id, state.role, state.phase, f"{state.steps} steps"]
    if state.tokens:
        parts.append(f"{state.tokens:,} tokens")
    if state.seconds:
        parts.append(f"{state.seconds:.0f} s")
    if state.branch:
        parts.append(f"branch {state.branch}")
    if state.recovered:
        parts.append("taken up after a restart")
    return f"[{' · '.join(parts)}]"


def row_of(state: AgentState) -> str:
    """The same with its task, and what it is at."""
    doing = f" - {state.doing}" if state.doing else ""
    return f"{headed(state)} {line_of(state.task)}{doing}"


def line_of(task: str) -> str:
    return one_line(task, SHOWN_TASK)


def lines_of(events: Iterable[Event]) -> Iterator[str]:
    """A transcript as lines that a model, or a person, can follow."""
    for event in events:
        match event:
            case TurnStarted(content=content):
                yield f"task: {plain(content)}"
            case MessageFinished(message=UserMessage(content=content)):
                yield f"told: {plain(content)}"
            case MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                yield f"says: {text}"
            case ToolCallStarted(title=title):
                yield f"call: {title}"
            case ToolCallFinished(result=result):
                text = (
                    result.text if len(result.text) <= SHOWN_RESULT else f"{result.text[:SHOWN_RESULT]} [...]"
                )
                yield f"  {result.outcome}: {text}"
            case Warned(text=text):
                yield f"warning: {text}"
            case TurnFinished(stop_reason=reason, message=message):
                yield f"end: {reason}{f', {message}' if message else ''}"
            case _:
                pass
