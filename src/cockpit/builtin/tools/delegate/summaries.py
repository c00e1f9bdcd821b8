"""Subagents as text: their status, their tasks and their transcripts."""

from collections.abc import Iterable, Iterator

from cockpit.plugin.agents import AgentRow
from cockpit.plugin.context import Context
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
ACTIVE_PHASES = ("queued", "running")


def find_agent(context: Context, id: str) -> AgentRow:
    """Return the current state of a subagent of this session."""
    return next(agent for agent in context.agents.all() if agent.id == id)


def format_status(agent: AgentRow) -> str:
    """Format a subagent's role, phase and cost in one line."""
    parts = [agent.id, agent.role, agent.phase, f"{agent.steps} steps"]
    if agent.tokens:
        parts.append(f"{agent.tokens:,} tokens")
    if agent.seconds:
        parts.append(f"{agent.seconds:.0f} s")
    if agent.branch:
        parts.append(f"branch {agent.branch}")
    if agent.recovered:
        parts.append("resumed after a restart")
    return f"[{' · '.join(parts)}]"


def format_row(agent: AgentRow) -> str:
    """Format a subagent's status, task and current activity in one line."""
    activity = f" - {agent.doing}" if agent.doing else ""
    return f"{format_status(agent)} {shorten_task(agent.task)}{activity}"


def shorten_task(task: str) -> str:
    return single_line(task, MAX_TASK)


def format_transcript(events: Iterable[Event]) -> Iterator[str]:
    """Format a transcript as lines for a model or a user."""
    for event in events:
        match event:
            case TurnStarted(content=content):
                yield f"task: {plain_text(content)}"
            case MessageFinished(message=UserMessage(content=content)):
                yield f"message: {plain_text(content)}"
            case MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                yield f"says: {text}"
            case ToolCallStarted(title=title):
                yield f"call: {title}"
            case ToolCallFinished(result=result):
                text = result.text
                if len(text) > MAX_RESULT:
                    text = f"{text[:MAX_RESULT]} [...]"
                yield f"  {result.outcome}: {text}"
            case Warned(text=text):
                yield f"warning: {text}"
            case TurnFinished(stop_reason=reason, message=message):
                yield f"end: {reason}{f', {message}' if message else ''}"
            case _:
                pass
