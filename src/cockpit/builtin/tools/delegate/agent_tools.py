"""`delegate`: a task for a subagent. Several in one step run beside each other.

`agents`: what became of the subagents; waiting for them, speaking to them, ending them.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.tools.delegate.summaries import (
    format_row,
    format_status,
    format_transcript,
    shorten_task,
)
from cockpit.plugin.agents import AgentHandle, AgentRow
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Tool, ToolFailed
from cockpit.protocol.content import Markdown
from cockpit.protocol.messages import Json

TIMEOUT_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Delegate:
    task: Annotated[str, "all it must know: it sees nothing of this conversation"]
    role: str = "general"
    background: Annotated[bool, "go on meanwhile; you are told of its end"] = False
    isolation: Annotated[Literal["none", "worktree"], "worktree: on a branch of its own"] = "none"
    name: str = ""


async def delegate(arguments: Delegate, context: Context) -> Done:
    known = {one.id for one in context.agents.all()}
    handle = await context.agents.open(
        arguments.role,
        arguments.task,
        background=arguments.background,
        isolation=arguments.isolation,
        name=arguments.name,
        call=context.running().call.id,
    )
    state = next(one for one in context.agents.all() if one.id == handle.id)
    data: Json = {"id": handle.id, "role": state.role, "phase": state.phase}
    same = f"{handle.id} has this task already; it was not opened twice.\n" if handle.id in known else ""
    if state.phase in ("queued", "running"):
        text = (
            f"{same}{handle.id} ({state.role}) is {state.phase} in the background. You are told when it "
            f"ends; agents(action='wait', id='{handle.id}') waits for it."
        )
        return Done(text, data=data)
    report = await handle.wait()
    blocks = (Markdown(report.text),)
    failed = state.phase == "failed"
    return Done(f"{same}{format_status(state)}\n{report.text}", blocks, data, is_error=failed)


def delegate_title(arguments: Arguments) -> str:
    return f"{arguments.get('role') or 'general'}: {shorten_task(str(arguments.get('task', '')))}"


def normalize_delegate(arguments: Arguments) -> Arguments:
    """Another agent's call: what it names the role, and a task that stands in two fields."""
    out = dict(arguments)
    role = next((out[key] for key in ROLE_KEYS if out.get(key)), None)
    task = next((out[key] for key in TASK_KEYS if out.get(key)), None)
    for key in (*ROLE_KEYS, *TASK_KEYS, *DROPPED_KEYS):
        out.pop(key, None)
    if task is not None:
        out["task"] = task
    if role is not None:
        out["role"] = role
    for key in ("run_in_background", "is_background"):
        if key in out:
            out["background"] = out.pop(key)
    return out


ROLE_KEYS = ("role", "subagent_type", "agent_type", "agent_name", "agent", "subagent", "profile", "type")
TASK_KEYS = (
    "task",
    "prompt",
    "message",
    "objective",
    "instruction",
    "instructions",
    "query",
    "input",
    "description",
)
DROPPED_KEYS = (
    "model",
    "max_steps",
    "timeout_ms",
    "items",
    "fork_context",
    "session_id",
    "resume",
    "command",
)
DELEGATE_ALIASES = (
    "delegate",
    "Task",
    "task",
    "Agent",
    "agent",
    "spawn_agent",
    "agent_open",
    "agent_spawn",
    "tool_agent",
    "delegate_to_agent",
    "launch_agent",
    "subagent",
    "new_task",
)


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
        title=delegate_title,
        is_concurrent=lambda arguments: True,
        seconds=TIMEOUT_SECONDS,
        aliases=tuple(Alias(name, reshape=normalize_delegate) for name in DELEGATE_ALIASES),
        keywords=("subagent", "parallel", "role"),
    )


AgentAction = Literal["list", "wait", "send", "cancel", "transcript", "result"]
ACTIVE_PHASES = ("queued", "running")
MAX_WAIT = 3_600.0
DEFAULT_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class ManageAgents:
    action: AgentAction = "list"
    id: Annotated[str, "wait without one: for the first that ends"] = ""
    text: Annotated[str, "send: what to say"] = ""
    seconds: float = DEFAULT_WAIT
    cursor: int = 0


async def manage_agents(arguments: ManageAgents, context: Context) -> Done:
    agents = context.agents
    if arguments.action == "list":
        rows = [format_row(one) for one in agents.all()]
        return Done("\n".join(rows) or "no subagent was opened in this session")
    if arguments.action == "wait" and not arguments.id:
        return await _wait_for_any(arguments.seconds, context)
    if not arguments.id:
        raise ToolFailed(f"`id` is missing: {arguments.action} which? action='list' lists them")
    handle = agents.find(arguments.id)
    match arguments.action:
        case "wait":
            return await _wait((handle,), arguments.seconds, context)
        case "send":
            if not arguments.text.strip():
                raise ToolFailed("`text` is empty; write what the agent should hear")
            was = _find_state(context, handle.id)
            await handle.send(arguments.text)
            hears = (
                "hears it at its next step"
                if was.phase in ACTIVE_PHASES
                else "goes on with it, in the background"
            )
            return Done(f"{handle.id} {hears}")
        case "cancel":
            await handle.cancel()
            return Done(format_status(_find_state(context, handle.id)))
        case "transcript":
            events, cursor = handle.transcript(arguments.cursor)
            text = "\n".join(format_transcript(events)) or "(nothing new)"
            return Done(
                f"{format_status(_find_state(context, handle.id))}\n{text}\n[cursor={cursor}]",
                data={"cursor": cursor},
            )
        case _:
            return await _read_report(handle, context)


async def _read_report(handle: AgentHandle, context: Context) -> Done:
    state = _find_state(context, handle.id)
    if state.phase in ACTIVE_PHASES:
        return Done(f"{format_status(state)}\nIt has no report yet; action='wait' waits for it.")
    report = await handle.wait()
    return Done(f"{format_status(state)}\n{report.text}")


async def _wait_for_any(seconds: float, context: Context) -> Done:
    own = context.session.agent
    living = [one for one in context.agents.all() if one.phase in ACTIVE_PHASES and one.id != own]
    if not living:
        rows = [format_row(one) for one in context.agents.all()]
        return Done("\n".join(["no subagent is at work", *rows]))
    return await _wait(tuple(context.agents.find(one.id) for one in living), seconds, context)


async def _wait(handles: tuple[AgentHandle, ...], seconds: float, context: Context) -> Done:
    """Until the first of them ends, or the time is over. Nothing else waits with it."""
    most = min(max(seconds, 0.0), MAX_WAIT)
    waits = [asyncio.create_task(one.wait(), name=one.id) for one in handles]
    try:
        done, _ = await asyncio.wait(waits, timeout=most, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waits:
            one.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    parts = [
        f"{format_status(_find_state(context, one.get_name()))}\n{one.result().text}"
        for one in waits
        if one in done
    ]
    left = [format_row(_find_state(context, one.get_name())) for one in waits if one not in done]
    if not parts:
        parts.append(f"none has ended within {most:g} s; they go on")
    data: Json = {"ended": [one.get_name() for one in waits if one in done]}
    return Done("\n\n".join((*parts, *(("\n".join(("Still at work:", *left)),) if left else ()))), data=data)


def _find_state(context: Context, id: str) -> AgentRow:
    return next(one for one in context.agents.all() if one.id == id)


def agents_title(arguments: Arguments) -> str:
    return f"agents {arguments.get('action', 'list')} {arguments.get('id', '')}".strip()


ID_KEYS = ("id", "agent_id", "session_id", "task_id", "name", "agent", "target")


def normalize_agents(arguments: Arguments) -> Arguments:
    """Other agents' names for the id and what is said, and their milliseconds."""
    out = dict(arguments)
    id = next((out[key] for key in ID_KEYS if out.get(key)), None)
    ids = out.get("ids")
    if id is None and isinstance(ids, list) and len(ids) == 1:
        id = ids[0]
    text = next((out[key] for key in ("text", "message", "prompt", "input") if out.get(key)), None)
    milliseconds = out.get("timeout_ms")
    blocks = out.get("block")
    kept = {key: value for key, value in out.items() if key in ("action", "cursor", "seconds")}
    if isinstance(milliseconds, int | float):
        kept["seconds"] = milliseconds / 1000
    if blocks is False:
        kept["seconds"] = 0.0
    return kept | ({"id": id} if id else {}) | ({"text": text} if text else {})


def _normalize_eval(arguments: Arguments) -> Arguments:
    """LilBot's `agent_eval` says something where there is a message, and waits."""
    out = dict(normalize_agents(arguments))
    out["action"] = "send" if out.get("text") else "wait"
    return out


def _alias(name: str, action: AgentAction) -> Alias:
    return Alias(name, fixed=(("action", action),), reshape=normalize_agents)


def agents_tool() -> Tool:
    return Tool(
        name="agents",
        kind="think",
        description="Look after subagents in the background. One that has ended goes on with what is sent.",
        parameters=schema(ManageAgents),
        capabilities=frozenset({"none"}),
        run=typed(ManageAgents, manage_agents),
        title=agents_title,
        is_concurrent=lambda arguments: arguments.get("action", "list") in ("list", "transcript", "result"),
        polling=True,
        cap=Cap(shape="head and tail"),
        seconds=MAX_WAIT + 60,
        aliases=(
            Alias("agent_eval", reshape=_normalize_eval),
            _alias("agent_close", "cancel"),
            _alias("close_agent", "cancel"),
            _alias("agent_status", "result"),
            _alias("agent_transcript", "transcript"),
            _alias("agent_list", "list"),
            _alias("list_agents", "list"),
            _alias("send_input", "send"),
            _alias("SendMessage", "send"),
            _alias("wait_agent", "wait"),
            _alias("wait", "wait"),
            _alias("TaskOutput", "result"),
            _alias("TaskStop", "cancel"),
        ),
        keywords=("subagent", "background", "report"),
    )
