"""Slash commands and plugin actions: found, run, and answered as an event or a prompt."""

from dataclasses import replace

from cockpit.core import foreign
from cockpit.core.agent import Agent
from cockpit.core.router import TIERS, ModelUnknown, choose
from cockpit.core.view import context_of
from cockpit.errors import CockpitError
from cockpit.plugin.values import Action, AsPrompt, Command, Invoked, Show
from cockpit.protocol.content import Text
from cockpit.protocol.events import Noticed, Warned
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import Invoke


async def invoke(agent: Agent, op: Invoke) -> AsPrompt | None:
    """Run the command `op.action`.

    Emits a `Noticed` with kind `show` (content to draw) or `action` (one of the frontend's own
    actions); its data holds the op's id under `op`. Returns the prompt a command makes.
    Raises `CockpitError` for an unknown command.
    """
    host = agent.host
    if op.action.startswith(foreign.PREFIX):
        await foreign.listen(agent)
    command = _find(agent, op.action)
    plugin = host.catalog.owner(Command, command.name)
    text = str(op.arguments.get("text", ""))
    answer = await command.run(Invoked(text, op.arguments), context_of(agent, plugin))
    told: dict[str, Json] = {"op": op.id, "command": command.name}
    match answer:
        case Show(content, data):
            host.log.emit(Noticed(plugin, "show", content, {**data, **told}))
        case Action(action, arguments):
            told |= {"action": action, "arguments": dict(arguments)}
            host.log.emit(Noticed(plugin, "action", (Text(action),), told))
        case AsPrompt():
            return replace(answer, model=_model(agent, answer.model))
    return None


def _model(agent: Agent, name: str) -> str:
    """The model that a command's file names, "" where there is none of that name: that is said. A tier that
    nobody has set is the session's own model."""
    host = agent.host
    if not name or (name in TIERS and not host.settings.table("models.tiers").get(name)):
        return ""
    try:
        return choose(host.catalog, host.settings, name).name
    except ModelUnknown as error:
        host.log.emit(Warned(f"{error.message}: the session's model answers", error.hint))
        return ""


async def prompt_of(agent: Agent, name: str, text: str) -> str:
    """What the command `name` of a file says to a model. Raises `CockpitError` where it says nothing."""
    command = _find(agent, name)
    if command.hidden or command.origin is None:
        raise CockpitError(f"/{name} is no prompt", "prompts are the commands and skills of files")
    plugin = agent.host.catalog.owner(Command, command.name)
    answer = await command.run(Invoked(text, {"text": text}), context_of(agent, plugin))
    if not isinstance(answer, AsPrompt):
        raise CockpitError(f"/{name} shows something instead of a prompt", "run it in the cockpit")
    return answer.text


def _find(agent: Agent, name: str) -> Command:
    commands = agent.host.catalog.all(Command)
    for command in commands:
        if name == command.name or name in command.aliases:
            return command
    near = [one.name for one in commands if not one.hidden and (one.name.startswith(name[:2]))]
    raise CockpitError(
        f"there is no command /{name}",
        f"near it: {', '.join(f'/{one}' for one in near[:4])}" if near else "/help lists them",
    )
