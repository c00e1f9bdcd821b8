"""Prompts: the commands and skills of files, as prompts of the protocol."""

import shlex
from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from cockpit.errors import CockpitError
from cockpit.mcp_serve.served import Served
from cockpit.protocol.offering import PromptRow

# Where a file does not name its arguments, it takes one text.
ALL = "arguments"


async def listed(served: Served) -> list[Prompt]:
    return [_prompt(row) for row in (await served.prompts()).rows]


async def gotten(served: Served, name: str, given: Mapping[str, str]) -> GetPromptResult:
    """The prompt `name` with its arguments filled in. Raises `MCPError`."""
    row = next((one for one in (await served.prompts()).rows if one.name == name), None)
    if row is None:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
    try:
        text = await served.expand(name, _text(row, given))
    except CockpitError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    return GetPromptResult(
        description=row.description,
        messages=[PromptMessage(role="user", content=TextContent(text=text))],
    )


def _prompt(row: PromptRow) -> Prompt:
    if row.arguments:
        arguments = [PromptArgument(name=one, required=False) for one in row.arguments]
    else:
        arguments = [PromptArgument(name=ALL, description=row.hint or None, required=False)]
    return Prompt(name=row.name, description=row.description, arguments=arguments)


def _text(row: PromptRow, given: Mapping[str, str]) -> str:
    """What stands after the command's name: words in quotes, so that each stays one."""
    if not row.arguments:
        return given.get(ALL, "")
    words = [given.get(name, "") for name in row.arguments]
    while words and not words[-1]:
        words.pop()
    return shlex.join(words)
