"""`agents`: what became of the subagents; waiting for them, speaking to them, ending them."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.delegate.showing import headed, lines_of, row_of
from cockpit.plugin.agents import AgentHandle, AgentState
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Tool, ToolFailed
from cockpit.protocol.messages import Json

Action = Literal["list", "wait", "send", "cancel", "transcript", "result"]
LIVING = ("queued", "running")
LONGEST = 3_600.0
USUAL = 30.0


@dataclass(frozen=True, slots=True)
class LookAfter:
    action: Action = "list"
    id: Annotated[str, "wait without one: for the first that ends"] = ""
    text: Annotated[str, "send: what to say"] = ""
    seconds: float = USUAL
    cursor: int = 0


async def look_after(arguments: LookAfter, context: Context) -> Done:
    agents = context.agents
    if arguments.action == "list":
        rows = [row_of(one) for one in agents.all()]
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
            was = _state(context, handle.id)
            await handle.send(arguments.text)
            hears = (
                "hears it at its next step" if was.phase in LIVING else "goes on with it, in the background"
            )
            return Done(f"{handle.id} {hears}")
        case "cancel":
            await handle.cancel()
            return Done(headed(_state(context, handle.id)))
        case "transcript":
            events, cursor = handle.transcript(arguments.cursor)
            text = "\n".join(lines_of(events)) or "(nothing new)"
            return Done(
                f"{headed(_state(context, handle.id))}\n{text}\n[cursor={cursor}]", data={"cursor": cursor}
            )
        case _:
            return await _result(handle, context)


async def _result(handle: AgentHandle, context: Context) -> Done:
    state = _state(context, handle.id)
    if state.phase in LIVING:
        return Done(f"{headed(state)}\nIt has no report yet; action='wait' waits for it.")
    report = await handle.wait()
    return Done(f"{headed(state)}\n{report.text}")


async def _wait_for_any(seconds: float, context: Context) -> Done:
    own = context.session.agent
    living = [one for one in context.agents.all() if one.phase in LIVING and one.id != own]
    if not living:
        rows = [row_of(one) for one in context.agents.all()]
        return Done("\n".join(["no subagent is at work", *rows]))
    return await _wait(tuple(context.agents.find(one.id) for one in living), seconds, context)


async def _wait(handles: tuple[AgentHandle, ...], seconds: float, context: Context) -> Done:
    """Until the first of them ends, or the time is over. Nothing else waits with it."""
    most = min(max(seconds, 0.0), LONGEST)
    waits = [asyncio.create_task(one.wait(), name=one.id) for one in handles]
    try:
        done, _ = await asyncio.wait(waits, timeout=most, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waits:
            one.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    parts = [
        f"{headed(_state(context, one.get_name()))}\n{one.result().text}" for one in waits if one in done
    ]
    left = [row_of(_state(context, one.get_name())) for one in waits if one not in done]
    if not parts:
        parts.append(f"none has ended within {most:g} s; they go on")
    data: Json = {"ended": [one.get_name() for one in waits if one in done]}
    return Done("\n\n".join((*parts, *(("\n".join(("Still at work:", *left)),) if left else ()))), data=data)


def _state(context: Context, id: str) -> AgentState:
    return next(one for one in context.agents.all() if one.id == id)


def title(arguments: Arguments) -> str:
    return f"agents {arguments.get('action', 'list')} {arguments.get('id', '')}".strip()


IDS = ("id", "agent_id", "session_id", "task_id", "name", "agent", "target")


def reshaped(arguments: Arguments) -> Arguments:
    """Other agents' names for the id and what is said, and their milliseconds."""
    out = dict(arguments)
    id = next((out[key] for key in IDS if out.get(key)), None)
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


def _eval(arguments: Arguments) -> Arguments:
    """LilBot's `agent_eval` says something where there is a message, and waits."""
    out = dict(reshaped(arguments))
    out["action"] = "send" if out.get("text") else "wait"
    return out


def _as(name: str, action: Action) -> Alias:
    return Alias(name, fixed=(("action", action),), reshape=reshaped)


def agents_tool() -> Tool:
    return Tool(
        name="agents",
        kind="think",
        description="Look after subagents in the background. One that has ended goes on with what is sent.",
        parameters=schema(LookAfter),
        capabilities=frozenset({"none"}),
        run=typed(LookAfter, look_after),
        title=title,
        is_concurrent=lambda arguments: arguments.get("action", "list") in ("list", "transcript", "result"),
        polling=True,
        cap=Cap(shape="head and tail"),
        seconds=LONGEST + 60,
        aliases=(
            Alias("agent_eval", reshape=_eval),
            _as("agent_close", "cancel"),
            _as("close_agent", "cancel"),
            _as("agent_status", "result"),
            _as("agent_transcript", "transcript"),
            _as("agent_list", "list"),
            _as("list_agents", "list"),
            _as("send_input", "send"),
            _as("SendMessage", "send"),
            _as("wait_agent", "wait"),
            _as("wait", "wait"),
            _as("TaskOutput", "result"),
            _as("TaskStop", "cancel"),
        ),
        keywords=("subagent", "background", "report"),
    )
