"""What the model is told of roles and running subagents: at the end of a request, so that neither the tools
nor the beginning of the conversation change when an agent comes or goes.

`@role` where a prompt begins: completed from the roles. What it does is the core's part: the rest of the
prompt is that role's task.

`/agent ROLE TASK` gives a task to a subagent; `/agents` shows them, speaks to them, stops them.

Giving work to subagents: the tools `delegate` and `agents`, `/agent` and `/agents`, `@role`, and the list
of roles that the model is shown beside its tools, never in them (docs/subagents.md).
"""

from cockpit.builtin.tools.delegate.agent_tools import agents_tool, delegate_tool
from cockpit.builtin.tools.delegate.summaries import format_status, format_transcript, shorten_task
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


async def collect_roles(context: Context) -> str:
    """The roles it may open, and those at work. Empty for who cannot delegate."""
    if not any(tool.name == "delegate" for tool in context.session.toolbox.tools()):
        return ""
    roles = context.agents.roles()
    if not roles:
        return ""
    lines = [
        f"- {one.name}: {single_line(one.description, DESCRIPTION_LENGTH)}" for one in roles[:DESCRIBED_ROLES]
    ]
    if more := [one.name for one in roles[DESCRIBED_ROLES:NAMED_ROLES]]:
        lines.append(f"- also: {', '.join(more)}")
    own = context.session.agent
    working = [
        f"- {one.id} ({one.role}, {one.phase}): {shorten_task(one.task)}"
        for one in context.agents.all()
        if one.phase in ("queued", "running") and one.id.startswith(f"{own}/")
    ]
    at_work = "\nAt work now; `agents` looks after them, do not give their task again:\n" if working else ""
    return "[Roles for `delegate`:\n" + "\n".join(lines) + at_work + "\n".join(working) + "]"


async def complete_role(word: str, context: Context) -> tuple[Completion, ...]:
    """The roles whose name holds what was typed."""
    wanted = word.lower()
    found = (one for one in context.agents.roles() if wanted in one.name.lower())
    return tuple(
        Completion(f"@{one.name} ", one.name, f"subagent: {single_line(one.description, 80)}", 0, 0)
        for one in found
    )


async def expand_role(word: str, context: Context) -> Block | None:
    """Nothing stands beside the words for a role."""
    return None


def role_mention() -> Mention:
    return Mention("roles", "@", complete_role, expand_role)


AGENTS_VERBS = ("list", "show", "transcript", "send", "stop")
BACKGROUND_FLAGS = ("-b", "--background", "&")


def agent_commands() -> tuple[Command, ...]:
    return (
        Command("agent", "Give a task to a subagent; -b: in the background", _run_agent, "[-b] ROLE TASK"),
        Command(
            "agents",
            "The subagents of this session: what they do, their reports; speak to one, stop one",
            _run_agents,
            "[list|show ID|transcript ID|send ID TEXT|stop ID|stop all]",
        ),
    )


async def _run_agent(invoked: Invoked, context: Context) -> CommandAnswer:
    words = invoked.text.split(maxsplit=1)
    background = bool(words) and words[0] in BACKGROUND_FLAGS
    if background:
        words = words[1].split(maxsplit=1) if len(words) > 1 else []
    if not words:
        return Show((_role_table(context),))
    role = context.agents.role(words[0])
    task = words[1].strip() if len(words) > 1 else ""
    if not task and not role.prompt:
        raise CockpitError(f"what should {role.name} do?", f"/agent {role.name} TASK")
    if not background:
        return AsPrompt(f"@{role.name} {task}".strip())
    said = "\n\n".join(part for part in (role.prompt, task) if part)
    handle = await context.agents.open(role.name, said, background=True)
    return Show((Text(f"{handle.id} has begun. /agents shows it; its report comes when it ends."),))


async def _run_agents(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, rest = invoked.text.strip().partition(" ")
    id, _, text = rest.strip().partition(" ")
    if verb not in ("", *AGENTS_VERBS):
        verb, id = "show", verb
    states = context.agents.all()
    if verb in ("", "list"):
        return Show(
            (
                _agent_table(states)
                if states
                else Text("No subagent was opened in this session. /agent begins one."),
            )
        )
    if verb == "stop" and id in ("all", "*"):
        living = [one for one in states if one.phase in ("queued", "running")]
        for one in living:
            await context.agents.find(one.id).cancel()
        return Show((Text(f"{len(living)} stopped"),))
    if not id:
        raise CockpitError(f"/agents {verb} which?", "/agents lists them")
    handle = context.agents.find(id)
    blocks: tuple[Block, ...]
    match verb:
        case "send":
            if not text.strip():
                raise CockpitError(f"what should {handle.id} hear?", f"/agents send {id} TEXT")
            await handle.send(text.strip())
            blocks = (Text(f"said to {handle.id}"),)
        case "stop":
            await handle.cancel()
            blocks = (Text(format_status(_find_state(context, handle.id))),)
        case "transcript":
            events, _ = handle.transcript()
            blocks = (
                Text(format_status(_find_state(context, handle.id))),
                Code("\n".join(format_transcript(events))),
            )
        case _:
            state = _find_state(context, handle.id)
            over = state.phase not in ("queued", "running")
            report = (await handle.wait()).text if over else state.doing or "it has no report yet"
            blocks = (Markdown(f"**{format_status(state)}**\n\n{state.task}"), Markdown(report))
    return Show(blocks)


def _find_state(context: Context, id: str) -> AgentRow:
    return next(one for one in context.agents.all() if one.id == id)


def _agent_table(states: tuple[AgentRow, ...]) -> Table:
    rows = tuple(
        (
            one.id,
            one.phase,
            str(one.steps),
            f"{one.tokens:,}",
            one.doing or one.branch,
            shorten_task(one.task),
        )
        for one in states
    )
    return Table(("agent", "", "steps", "tokens", "", "task"), rows, f"{len(states)} subagents")


def _role_table(context: Context) -> Block:
    rows = tuple((one.name, one.description) for one in context.agents.roles())
    return Table(("role", "for"), rows, "/agent ROLE TASK")


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(delegate_tool())
    register(agents_tool())


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in agent_commands():
        register(command)


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(role_mention())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("agents", "reminder", "step", collect_roles, order=30))
