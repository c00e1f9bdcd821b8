"""Runs slash commands and plugin actions (plugins register them, see `cockpit.builtin.commands`), and lists
what a session offers to other programs: tools with their schemas, prompts with their text."""

import asyncio
from dataclasses import replace
from typing import assert_never, cast

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.models import TIERS, ModelUnknown, choose_model
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.permission.verdicts import (
    CHANGING_CAPABILITIES,
    HARMLESS_CAPABILITIES,
    MCP_START_SECONDS,
    READ_ONLY_KINDS,
)
from cockpit.errors import CockpitError
from cockpit.formats.substitution import TemplateValues, expand_template
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Action, AsPrompt, Command, Invoked, Show, Skill
from cockpit.protocol.content import Text
from cockpit.protocol.events import Noticed
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import Invoke
from cockpit.protocol.queries import (
    CatalogQuery,
    CatalogReply,
    Expand,
    Expanded,
    PromptRow,
    PromptRows,
    Prompts,
    ToolRow,
    ToolRows,
    Tools,
)


async def run_command(agent: Agent, op: Invoke) -> AsPrompt | None:
    """Run the command `op.action` and return the prompt it makes, if any.

    Emits a `Noticed` with kind `show` (content to draw) or `action` (an action of the frontend); its data
    holds the op's id under `op`. Raises `CockpitError` for an unknown command.
    """
    services = agent.services
    if is_mcp_name(op.action):
        await services.connections.settled(MCP_START_SECONDS)
        agent.state.record_outside_text()
    command = _find_command(agent, op.action)
    plugin = services.catalog.owner(Command, command.name)
    text = str(op.arguments.get("text", ""))
    answer = await command.run(Invoked(text, op.arguments), build_context(agent, plugin))
    facts: dict[str, Json] = {"op": op.id, "command": command.name}
    match answer:
        case Show(content, data):
            services.log.emit(Noticed(plugin, "show", content, {**data, **facts}))
        case Action(action, arguments):
            facts |= {"action": action, "arguments": dict(arguments)}
            services.log.emit(Noticed(plugin, "action", (Text(action),), facts))
        case AsPrompt():
            return replace(answer, model=_command_model(agent, answer.model))
    return None


def _command_model(agent: Agent, name: str) -> str:
    """The model a command's file names, or an empty string for the session's own: an unknown model is
    reported, and a tier that no setting defines is ignored."""
    services = agent.services
    if not name or (name in TIERS and not services.settings.table("models.tiers").get(name)):
        return ""
    try:
        return choose_model(services.catalog, services.settings, name).name
    except ModelUnknown as error:
        agent.warn(f"{error.message}; the session's model is used", error.hint)
        return ""


async def expand_prompt(agent: Agent, name: str, text: str) -> str:
    """The prompt of the file command `name`. Raises `CockpitError` when it makes none."""
    command = _find_command(agent, name)
    if command.hidden or command.origin is None:
        raise CockpitError(
            f"/{name} is not a prompt", "only commands and skills defined in files are prompts"
        )
    plugin = agent.services.catalog.owner(Command, command.name)
    answer = await command.run(Invoked(text, {"text": text}), build_context(agent, plugin))
    if not isinstance(answer, AsPrompt):
        raise CockpitError(f"/{name} does not make a prompt", "run it in cockpit")
    return answer.text


def _find_command(agent: Agent, name: str) -> Command:
    commands = agent.services.catalog.all(Command)
    for command in commands:
        if name == command.name or name in command.aliases:
            return command
    similar = [f"/{other.name}" for other in commands if not other.hidden and other.name.startswith(name[:2])]
    hint = f"similar commands: {', '.join(similar[:4])}" if similar else "/help lists all commands"
    raise CockpitError(f"there is no command /{name}", hint)


async def answer_offering(agent: Agent, query: CatalogQuery) -> CatalogReply:
    """The answer to `query`. Raises `CockpitError` for a name that is not a prompt."""
    match query:
        case Tools():
            return ToolRows(tuple(_tool_row(agent, tool) for tool in agent.toolbox.tools()))
        case Prompts():
            return PromptRows(_prompt_rows(agent))
        case Expand(name, text):
            skill = agent.services.catalog.get(Skill, name)
            if skill is not None and skill.for_user:
                return Expanded(await asyncio.to_thread(_skill_text, skill, text))
            return Expanded(await expand_prompt(agent, name, text))
        case _:
            assert_never(query)


def _skill_text(skill: Skill, text: str) -> str:
    """The skill's text with its arguments. Its embedded commands are not run: the agent that reads it runs
    them."""
    values = TemplateValues(text, skill.arguments, dialect=skill.dialect, name=skill.name)
    return expand_template(skill.body(), values).text


def _tool_row(agent: Agent, tool: Tool) -> ToolRow:
    reads_only = (
        tool.kind in READ_ONLY_KINDS
        and tool.capabilities <= HARMLESS_CAPABILITIES
        and not tool.capabilities & CHANGING_CAPABILITIES
    )
    return ToolRow(
        tool.name,
        tool.description,
        tool.kind,
        cast("dict[str, Json]", dict(tool.parameters)),
        tuple(sorted(tool.capabilities)),
        reads_only,
        agent.services.catalog.owner(Tool, tool.name),
    )


def _prompt_rows(agent: Agent) -> tuple[PromptRow, ...]:
    catalog = agent.services.catalog
    rows = []
    for command in catalog.all(Command):
        skill = catalog.get(Skill, command.name)
        # Prompts of MCP servers are not passed on, and a command without a file is an action of cockpit.
        is_prompt = not is_mcp_name(command.name) and (command.origin is not None or skill is not None)
        if is_prompt and not command.hidden:
            arguments = skill.arguments if skill is not None else ()
            rows.append(PromptRow(command.name, command.description, command.hint, arguments))
    return tuple(sorted(rows, key=lambda row: row.name))
