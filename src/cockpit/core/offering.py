"""What a session offers to whoever may call it: tools with their schemas, prompts with their text."""

from typing import assert_never, cast

from cockpit.core.agent import Agent
from cockpit.core.commands import prompt_of
from cockpit.core.judgement import CHANGING, HARMLESS, LOOKING
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, Skill
from cockpit.protocol.messages import Json
from cockpit.protocol.offering import (
    Expand,
    Expanded,
    Offered,
    Offering,
    PromptRow,
    PromptRows,
    Prompts,
    ToolRow,
    ToolRows,
    Tools,
)


async def offered(agent: Agent, query: Offering) -> Offered:
    """The answer to `query`. Raises `CockpitError` for a prompt that is none."""
    match query:
        case Tools():
            return ToolRows(tuple(_tool(agent, one) for one in agent.toolbox.tools()))
        case Prompts():
            return PromptRows(_prompts(agent))
        case Expand(name, text):
            return Expanded(await prompt_of(agent, name, text))
        case _:
            assert_never(query)


def _tool(agent: Agent, tool: Tool) -> ToolRow:
    looks = tool.kind in LOOKING and tool.capabilities <= HARMLESS and not tool.capabilities & CHANGING
    return ToolRow(
        tool.name,
        tool.description,
        tool.kind,
        cast("dict[str, Json]", dict(tool.parameters)),
        tuple(sorted(tool.capabilities)),
        looks,
        agent.host.catalog.owner(Tool, tool.name),
    )


def _prompts(agent: Agent) -> tuple[PromptRow, ...]:
    catalog = agent.host.catalog
    rows = []
    for command in catalog.all(Command):
        # What no file wrote is an action of ours; what another server wrote is not ours to pass on.
        if command.hidden or command.origin is None or command.name.startswith("mcp__"):
            continue
        skill = catalog.get(Skill, command.name)
        arguments = skill.arguments if skill is not None else ()
        rows.append(PromptRow(command.name, command.description, command.hint, arguments))
    return tuple(sorted(rows, key=lambda row: row.name))
