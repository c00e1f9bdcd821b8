"""`/agent ROLE TASK` gives a task to a subagent; `/agents` shows them, speaks to them, stops them."""

from cockpit.builtin.delegate.showing import headed, line_of, lines_of
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentState
from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Code, Markdown, Table, Text

VERBS = ("list", "show", "transcript", "send", "stop")
BACKGROUND = ("-b", "--background", "&")


def commands() -> tuple[Command, ...]:
    return (
        Command("agent", "Give a task to a subagent; -b: in the background", _agent, "[-b] ROLE TASK"),
        Command(
            "agents",
            "The subagents of this session: what they do, their reports; speak to one, stop one",
            _agents,
            "[list|show ID|transcript ID|send ID TEXT|stop ID|stop all]",
        ),
    )


async def _agent(invoked: Invoked, context: Context) -> CommandAnswer:
    words = invoked.text.split(maxsplit=1)
    background = bool(words) and words[0] in BACKGROUND
    if background:
        words = words[1].split(maxsplit=1) if len(words) > 1 else []
    if not words:
        return Show((_roles(context),))
    role = context.agents.role(words[0])
    task = words[1].strip() if len(words) > 1 else ""
    if not task and not role.prompt:
        raise CockpitError(f"what should {role.name} do?", f"/agent {role.name} TASK")
    if not background:
        return AsPrompt(f"@{role.name} {task}".strip())
    said = "\n\n".join(part for part in (role.prompt, task) if part)
    handle = await context.agents.open(role.name, said, background=True)
    return Show((Text(f"{handle.id} has begun. /agents shows it; its report comes when it ends."),))


async def _agents(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, rest = invoked.text.strip().partition(" ")
    id, _, text = rest.strip().partition(" ")
    if verb not in ("", *VERBS):
        verb, id = "show", verb
    states = context.agents.all()
    if verb in ("", "list"):
        return Show(
            (
                _table(states)
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
            blocks = (Text(headed(_state(context, handle.id))),)
        case "transcript":
            events, _ = handle.transcript()
            blocks = (Text(headed(_state(context, handle.id))), Code("\n".join(lines_of(events))))
        case _:
            state = _state(context, handle.id)
            over = state.phase not in ("queued", "running")
            report = (await handle.wait()).text if over else state.doing or "it has no report yet"
            blocks = (Markdown(f"**{headed(state)}**\n\n{state.task}"), Markdown(report))
    return Show(blocks)


def _state(context: Context, id: str) -> AgentState:
    return next(one for one in context.agents.all() if one.id == id)


def _table(states: tuple[AgentState, ...]) -> Table:
    rows = tuple(
        (one.id, one.phase, str(one.steps), f"{one.tokens:,}", one.doing or one.branch, line_of(one.task))
        for one in states
    )
    return Table(("agent", "", "steps", "tokens", "", "task"), rows, f"{len(states)} subagents")


def _roles(context: Context) -> Block:
    rows = tuple((one.name, one.description) for one in context.agents.roles())
    return Table(("role", "for"), rows, "/agent ROLE TASK")
