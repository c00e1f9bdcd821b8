"""Subagents in words: where one stands, what it has done."""

from collections.abc import Iterable, Iterator

from cockpit.plugin.agents import AgentRow
from cockpit.protocol.content import plain_text
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
from cockpit.protocol.safe_text import single_line

MAX_RESULT = 400
MAX_TASK = 90


def format_status(state: AgentRow) -> str:
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


def format_row(state: AgentRow) -> str:
    """The same with its task, and what it is at."""
    doing = f" - {state.doing}" if state.doing else ""
    return f"{format_status(state)} {shorten_task(state.task)}{doing}"


def shorten_task(task: str) -> str:
    return single_line(task, MAX_TASK)


def format_transcript(events: Iterable[Event]) -> Iterator[str]:
    """A transcript as lines that a model, or a person, can follow."""
    for event in events:
        match event:
            case TurnStarted(content=content):
                yield f"task: {plain_text(content)}"
            case MessageFinished(message=UserMessage(content=content)):
                yield f"told: {plain_text(content)}"
            case MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                yield f"says: {text}"
            case ToolCallStarted(title=title):
                yield f"call: {title}"
            case ToolCallFinished(result=result):
                text = result.text if len(result.text) <= MAX_RESULT else f"{result.text[:MAX_RESULT]} [...]"
                yield f"  {result.outcome}: {text}"
            case Warned(text=text):
                yield f"warning: {text}"
            case TurnFinished(stop_reason=reason, message=message):
                yield f"end: {reason}{f', {message}' if message else ''}"
            case _:
                pass
