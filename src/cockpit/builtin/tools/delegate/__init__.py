"""Subagents: the tools `delegate` and `agents`, `/agent`, `/agents` and `@role` (docs/use/subagents.md).

Start with `agent_tools.py`. A reminder lists the roles for the model. They are not part of the tools, so that
neither the tools nor the beginning of a request change when an agent comes or goes.
"""

from cockpit.builtin.tools.delegate.agent_tools import (
    ACTIVE_PHASES,
    agents_tool,
    delegate_tool,
    find_agent,
    format_status,
    format_transcript,
    shorten_task,
)
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import AgentRow
from cockpit.plugin.context import Context
from cockpit.plugin.values import (
    AsPrompt,
    Command,
    CommandAnswer,
    ContextSource,
    Invoked,
    Mention,
    Register,
    Scope,
    Show,
)
from cockpit.protocol.content import Block, Code, Markdown, Table, Text
from cockpit.protocol.queries import Completion
from cockpit.protocol.safe_text import single_line

DESCRIBED_ROLES = 30
NAMED_ROLES = 100
DESCRIPTION_LENGTH = 110
AGENTS_VERBS = ("list", "show", "transcript", "send", "stop")
BACKGROUND_FLAGS = ("-b", "--background", "&")


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(delegate_tool())
    register(agents_tool())


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    about = "Give a task to a subagent; -b: in the background"
    register(Command("agent", about, _run_agent, "[-b] ROLE TASK"))
    about = "The subagents of this session, their activity and reports; message or stop one"
    hint = "[list|show ID|transcript ID|send ID TEXT|stop ID|stop all]"
    register(Command("agents", about, _run_agents, hint))


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("roles", "@", _complete_role, _expand_role))


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("agents", "reminder", "step", _collect_roles, order=30))


async def _collect_roles(context: Context) -> str:
    """List the roles the agent may delegate to and its running subagents; empty if it cannot delegate."""
    may_delegate = any(tool.name == "delegate" for tool in context.session.toolbox.tools())
    roles = context.agents.roles() if may_delegate else ()
    if not roles:
        return ""
    lines = [
        f"- {role.name}: {single_line(role.description, DESCRIPTION_LENGTH)}"
        for role in roles[:DESCRIBED_ROLES]
    ]
    if more := [role.name for role in roles[DESCRIBED_ROLES:NAMED_ROLES]]:
        lines.append(f"- also: {', '.join(more)}")
    running = [
        f"- {agent.id} ({agent.role}, {agent.phase}): {shorten_task(agent.task)}"
        for agent in context.agents.all()
        if agent.phase in ACTIVE_PHASES and agent.id.startswith(f"{context.session.agent}/")
    ]
    if running:
        lines += ["Running now; `agents` manages them, do not delegate their tasks again:", *running]
    return "[Roles for `delegate`:\n" + "\n".join(lines) + "]"


async def _complete_role(word: str, context: Context) -> tuple[Completion, ...]:
    """Complete roles whose name contains `word`."""
    return tuple(
        Completion(f"@{role.name} ", role.name, f"subagent: {single_line(role.description, 80)}", 0, 0)
        for role in context.agents.roles()
        if word.lower() in role.name.lower()
    )


async def _expand_role(word: str, context: Context) -> Block | None:
    """Add nothing: the core gives the rest of the prompt to the role as a task."""
    return None


async def _run_agent(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/agent [-b] ROLE TASK` gives a task to a subagent."""
    words = invoked.text.split(maxsplit=1)
    background = bool(words) and words[0] in BACKGROUND_FLAGS
    if background:
        words = words[1].split(maxsplit=1) if len(words) > 1 else []
    if not words:
        rows = tuple((role.name, role.description) for role in context.agents.roles())
        return Show((Table(("role", "for"), rows, "/agent ROLE TASK"),))
    role = context.agents.role(words[0])
    task = words[1].strip() if len(words) > 1 else ""
    if not task and not role.prompt:
        raise CockpitError(f"the task for {role.name} is missing", f"/agent {role.name} TASK")
    if not background:
        return AsPrompt(f"@{role.name} {task}".strip())
    prompt = "\n\n".join(filter(None, (role.prompt, task)))
    handle = await context.agents.open(role.name, prompt, background=True)
    return Show((Text(f"{handle.id} has started. /agents shows it; its report comes when it ends."),))


async def _run_agents(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/agents` lists subagents; with an action it shows, messages or stops one."""
    verb, _, rest = invoked.text.strip().partition(" ")
    id, _, text = rest.strip().partition(" ")
    if verb not in ("", *AGENTS_VERBS):
        verb, id = "show", verb
    agents = context.agents.all()
    if verb in ("", "list"):
        empty = Text("No subagent was opened in this session. /agent opens one.")
        return Show((_agent_table(agents) if agents else empty,))
    if verb == "stop" and id in ("all", "*"):
        active = [agent.id for agent in agents if agent.phase in ACTIVE_PHASES]
        for agent_id in active:
            await context.agents.find(agent_id).cancel()
        return Show((Text(f"{len(active)} stopped"),))
    if not id:
        raise CockpitError(f"/agents {verb} needs the ID of a subagent", "/agents lists them")
    handle = context.agents.find(id)
    match verb:
        case "send":
            if not text.strip():
                raise CockpitError(f"the message for {handle.id} is missing", f"/agents send {id} TEXT")
            await handle.send(text.strip())
            return Show((Text(f"sent to {handle.id}"),))
        case "stop":
            await handle.cancel()
            return Show((Text(format_status(find_agent(context, handle.id))),))
        case "transcript":
            events, _ = handle.transcript()
            status = Text(format_status(find_agent(context, handle.id)))
            return Show((status, Code("\n".join(format_transcript(events)))))
        case _:
            agent = find_agent(context, handle.id)
            is_active = agent.phase in ACTIVE_PHASES
            report = (agent.doing or "it has no report yet") if is_active else (await handle.wait()).text
            return Show((Markdown(f"**{format_status(agent)}**\n\n{agent.task}"), Markdown(report)))


def _agent_table(agents: tuple[AgentRow, ...]) -> Table:
    rows = tuple(
        (
            agent.id,
            agent.phase,
            str(agent.steps),
            f"{agent.tokens:,}",
            agent.doing or agent.branch,
            shorten_task(agent.task),
        )
        for agent in agents
    )
    return Table(("agent", "", "steps", "tokens", "", "task"), rows, f"{len(agents)} subagents")
