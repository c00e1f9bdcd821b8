"""`delegate`: a task for a subagent. Several in one step run beside each other."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.delegate.showing import headed, line_of
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Tool
from cockpit.protocol.content import Markdown
from cockpit.protocol.messages import Json

DAY = 86_400.0


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
    return Done(f"{same}{headed(state)}\n{report.text}", blocks, data, is_error=failed)


def title(arguments: Arguments) -> str:
    return f"{arguments.get('role') or 'general'}: {line_of(str(arguments.get('task', '')))}"


def reshaped(arguments: Arguments) -> Arguments:
    """Another agent's call: what it names the role, and a task that stands in two fields."""
    out = dict(arguments)
    role = next((out[key] for key in ROLES if out.get(key)), None)
    task = next((out[key] for key in TASKS if out.get(key)), None)
    for key in (*ROLES, *TASKS, *DROPPED):
        out.pop(key, None)
    if task is not None:
        out["task"] = task
    if role is not None:
        out["role"] = role
    for key in ("run_in_background", "is_background"):
        if key in out:
            out["background"] = out.pop(key)
    return out


ROLES = ("role", "subagent_type", "agent_type", "agent_name", "agent", "subagent", "profile", "type")
TASKS = (
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
DROPPED = ("model", "max_steps", "timeout_ms", "items", "fork_context", "session_id", "resume", "command")
NAMES = (
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
        title=title,
        is_concurrent=lambda arguments: True,
        seconds=DAY,
        aliases=tuple(Alias(name, reshape=reshaped) for name in NAMES),
        keywords=("subagent", "parallel", "role"),
    )
