"""The tools `delegate`, which gives a task to a subagent, and `agents`, which manages subagents.

Several `delegate` calls in one step run in parallel. `agents` lists subagents, waits for them, messages
and cancels them.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.plugin.agents import AgentHandle, AgentRow
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Tool, ToolFailed
from cockpit.protocol.content import Markdown, plain_text
from cockpit.protocol.events import (
    Event,
    MessageFinished,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage, Json, UserMessage
from cockpit.protocol.safe_text import single_line

TIMEOUT_SECONDS = 86_400.0
MAX_WAIT = 3_600.0
DEFAULT_WAIT = 30.0
MAX_RESULT = 400
MAX_TASK = 90
ACTIVE_PHASES = ("queued", "running")

AgentAction = Literal["list", "wait", "send", "cancel", "transcript", "result"]

# Other agents' names for these tools and their arguments.
DELEGATE_NAMES = (
    "delegate Task task Agent agent spawn_agent agent_open agent_spawn tool_agent delegate_to_agent "
    "launch_agent subagent new_task"
)
AGENTS_NAMES: dict[AgentAction, str] = {
    "cancel": "agent_close close_agent TaskStop",
    "list": "agent_list list_agents",
    "result": "agent_status TaskOutput",
    "send": "send_input SendMessage",
    "transcript": "agent_transcript",
    "wait": "wait_agent wait",
}
ROLE_KEYS = "role subagent_type agent_type agent_name agent subagent profile type"
TASK_KEYS = "task prompt message objective instruction instructions query input description"
DROPPED_KEYS = "model max_steps timeout_ms items fork_context session_id resume command"
ID_KEYS = ("id", "agent_id", "session_id", "task_id", "name", "agent", "target")
MESSAGE_KEYS = ("text", "message", "prompt", "input")


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


@dataclass(frozen=True, slots=True)
class Delegate:
    task: Annotated[str, "all it must know: it does not see this conversation"]
    role: str = "general"
    background: Annotated[bool, "continue meanwhile; you are notified when it ends"] = False
    isolation: Annotated[Literal["none", "worktree"], "worktree: on a separate branch"] = "none"
    name: str = ""


async def delegate(arguments: Delegate, context: Context) -> Done:
    known = {agent.id for agent in context.agents.all()}
    handle = await context.agents.open(
        arguments.role,
        arguments.task,
        background=arguments.background,
        isolation=arguments.isolation,
        name=arguments.name,
        call=context.running().call.id,
    )
    agent = find_agent(context, handle.id)
    data: Json = {"id": handle.id, "role": agent.role, "phase": agent.phase}
    note = f"{handle.id} has this task already; it was not opened twice.\n" if handle.id in known else ""
    if agent.phase in ACTIVE_PHASES:
        text = (
            f"{note}{handle.id} ({agent.role}) is {agent.phase} in the background. You are notified when it "
            f"ends; agents(action='wait', id='{handle.id}') waits for it."
        )
        return Done(text, data=data)
    report = await handle.wait()
    text = f"{note}{format_status(agent)}\n{report.text}"
    return Done(text, (Markdown(report.text),), data, is_error=agent.phase == "failed")


def delegate_tool() -> Tool:
    return Tool(
        name="delegate",
        kind="think",
        description=(
            "Give a task to a subagent and get its report: long searches and side work do not fill your "
            "context. Several calls in one step run in parallel."
        ),
        parameters=schema(Delegate),
        capabilities=frozenset({"none"}),
        run=typed(Delegate, delegate),
        title=lambda arguments: (
            f"{arguments.get('role') or 'general'}: {shorten_task(str(arguments.get('task', '')))}"
        ),
        is_concurrent=lambda arguments: True,
        seconds=TIMEOUT_SECONDS,
        aliases=tuple(Alias(name, reshape=normalize_delegate) for name in DELEGATE_NAMES.split()),
        keywords=("subagent", "parallel", "role"),
    )


def normalize_delegate(arguments: Arguments) -> Arguments:
    """Translate another agent's call, which may name the role and the task differently."""
    normalized = dict(arguments)
    role = next((normalized[key] for key in ROLE_KEYS.split() if normalized.get(key)), None)
    task = next((normalized[key] for key in TASK_KEYS.split() if normalized.get(key)), None)
    for key in f"{ROLE_KEYS} {TASK_KEYS} {DROPPED_KEYS}".split():
        normalized.pop(key, None)
    if task is not None:
        normalized["task"] = task
    if role is not None:
        normalized["role"] = role
    for key in ("run_in_background", "is_background"):
        if key in normalized:
            normalized["background"] = normalized.pop(key)
    return normalized


@dataclass(frozen=True, slots=True)
class ManageAgents:
    action: AgentAction = "list"
    id: Annotated[str, "wait without an id: for the first that ends"] = ""
    text: Annotated[str, "send: what to say"] = ""
    seconds: float = DEFAULT_WAIT
    cursor: int = 0


async def manage_agents(arguments: ManageAgents, context: Context) -> Done:
    if arguments.action == "list":
        rows = map(format_row, context.agents.all())
        return Done("\n".join(rows) or "no subagent was opened in this session")
    if arguments.action == "wait" and not arguments.id:
        agents = [agent for agent in context.agents.all() if agent.id != context.session.agent]
        active = [context.agents.find(agent.id) for agent in agents if agent.phase in ACTIVE_PHASES]
        if not active:
            return Done("\n".join(["no subagent is running", *map(format_row, context.agents.all())]))
        return await _wait(tuple(active), arguments.seconds, context)
    if not arguments.id:
        raise ToolFailed(f"`id` is missing: {arguments.action} needs a subagent; action='list' lists them")
    handle = context.agents.find(arguments.id)
    match arguments.action:
        case "wait":
            return await _wait((handle,), arguments.seconds, context)
        case "send":
            if not arguments.text.strip():
                raise ToolFailed("`text` is empty; write the message for the agent")
            was_active = find_agent(context, handle.id).phase in ACTIVE_PHASES
            await handle.send(arguments.text)
            effect = "gets it at its next step" if was_active else "continues with it, in the background"
            return Done(f"{handle.id} {effect}")
        case "cancel":
            await handle.cancel()
            return Done(format_status(find_agent(context, handle.id)))
        case "transcript":
            events, cursor = handle.transcript(arguments.cursor)
            status = format_status(find_agent(context, handle.id))
            text = "\n".join(format_transcript(events)) or "(nothing new)"
            return Done(f"{status}\n{text}\n[cursor={cursor}]", data={"cursor": cursor})
        case _:
            agent = find_agent(context, handle.id)
            if agent.phase in ACTIVE_PHASES:
                return Done(f"{format_status(agent)}\nIt has no report yet; action='wait' waits for it.")
            return Done(f"{format_status(agent)}\n{(await handle.wait()).text}")


async def _wait(handles: tuple[AgentHandle, ...], seconds: float, context: Context) -> Done:
    """Wait until the first of the subagents ends or the time is over; the others go on."""
    timeout = min(max(seconds, 0.0), MAX_WAIT)
    waits = [asyncio.create_task(handle.wait(), name=handle.id) for handle in handles]
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    ended = [task for task in waits if task in done]
    parts = [f"{format_status(find_agent(context, task.get_name()))}\n{task.result().text}" for task in ended]
    if not parts:
        parts.append(f"none has ended within {timeout:g} s; they go on")
    if running := [format_row(find_agent(context, task.get_name())) for task in waits if task not in done]:
        parts.append("\n".join(("Still running:", *running)))
    return Done("\n\n".join(parts), data={"ended": [task.get_name() for task in ended]})


def agents_tool() -> Tool:
    return Tool(
        name="agents",
        kind="think",
        description="Manage subagents in the background. A message to one that has ended continues it.",
        parameters=schema(ManageAgents),
        capabilities=frozenset({"none"}),
        run=typed(ManageAgents, manage_agents),
        title=lambda arguments: f"agents {arguments.get('action', 'list')} {arguments.get('id', '')}".strip(),
        is_concurrent=lambda arguments: arguments.get("action", "list") in ("list", "transcript", "result"),
        polling=True,
        cap=Cap(shape="head and tail"),
        seconds=MAX_WAIT + 60,
        aliases=(
            Alias("agent_eval", reshape=_normalize_eval),
            *(
                Alias(name, fixed=(("action", action),), reshape=normalize_agents)
                for action, names in AGENTS_NAMES.items()
                for name in names.split()
            ),
        ),
        keywords=("subagent", "background", "report"),
    )


def normalize_agents(arguments: Arguments) -> Arguments:
    """Translate another agent's names for the id and the message, and its milliseconds."""
    id = next((arguments[key] for key in ID_KEYS if arguments.get(key)), None)
    ids = arguments.get("ids")
    if id is None and isinstance(ids, list) and len(ids) == 1:
        id = ids[0]
    text = next((arguments[key] for key in MESSAGE_KEYS if arguments.get(key)), None)
    normalized = {key: value for key, value in arguments.items() if key in ("action", "cursor", "seconds")}
    milliseconds = arguments.get("timeout_ms")
    if isinstance(milliseconds, int | float):
        normalized["seconds"] = milliseconds / 1000
    if arguments.get("block") is False:
        normalized["seconds"] = 0.0
    return normalized | ({"id": id} if id else {}) | ({"text": text} if text else {})


def _normalize_eval(arguments: Arguments) -> Arguments:
    """`agent_eval` sends if there is a message, and waits otherwise."""
    normalized = dict(normalize_agents(arguments))
    normalized["action"] = "send" if normalized.get("text") else "wait"
    return normalized
