"""What a session offers to whoever may call it: tools with their schemas, prompts with their text."""

import asyncio
from typing import assert_never, cast

from cockpit.core.agent import Agent
from cockpit.core.commands import prompt_of
from cockpit.core.judgement import CHANGING, HARMLESS, LOOKING
from cockpit.formats.substitution import Values, expand
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
            skill = agent.host.catalog.get(Skill, name)
            if skill is not None and skill.for_person:
                return Expanded(await asyncio.to_thread(_body, skill, text))
            return Expanded(await prompt_of(agent, name, text))
        case _:
            assert_never(query)


def _body(skill: Skill, text: str) -> str:
    """The skill's text with its arguments. It is not in force here, and what it wants run stands in it as
    written: that is for the agent that reads it."""
    values = Values(text, skill.arguments, dialect=skill.dialect, name=skill.name)
    return expand(skill.body(), values).text


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
        skill = catalog.get(Skill, command.name)
        if command.hidden or command.name.startswith("mcp__"):
            # What another server wrote is not ours to pass on.
            continue
        if command.origin is None and skill is None:
            # What no file wrote is an action of ours.
            continue
        arguments = skill.arguments if skill is not None else ()
        rows.append(PromptRow(command.name, command.description, command.hint, arguments))
    return tuple(sorted(rows, key=lambda row: row.name))
