"""The prompts of servers as commands: their arguments as a person writes them, completed by the server and
asked for where they are missing."""

import re
import shlex
from collections.abc import Mapping

from cockpit.mcp.lives import Lives
from cockpit.mcp.values import McpFailed, PromptArgument, PromptDefinition
from cockpit.plugin.context import Context, FormAnswer, NobodyThere
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, McpServer, Show
from cockpit.protocol.asking import FormField
from cockpit.protocol.clean import one_line
from cockpit.protocol.content import Text
from cockpit.protocol.queries import Completion

# One word, quoted or not; a quote that is still open goes on to the end.
WORD = re.compile(r"""(?:[^\s"']|"[^"]*(?:"|$)|'[^']*(?:'|$))+""")


def command_of(lives: Lives, server: McpServer, definition: PromptDefinition, name: str) -> Command:
    """A server's prompt as the command `name`."""

    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        try:
            values = await _values(definition.arguments, invoked, context)
            connection = await lives.life(server.name).connected()
            asking = lives.asking(server.name, context)
            prompt = await connection.prompt(definition.name, values, asking)
        except McpFailed as error:
            return Show((Text(str(error)),))
        return AsPrompt(prompt.text)

    async def complete(text: str, context: Context) -> tuple[Completion, ...]:
        return await _completed(lives, server.name, definition, text)

    hint = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in definition.arguments)
    about = definition.description or f"the prompt {definition.name}"
    about = f"{one_line(about, 200)} (MCP server {server.name})"
    return Command(name, about, run, hint, complete=complete if definition.arguments else None)


async def _completed(
    lives: Lives, server: str, definition: PromptDefinition, text: str
) -> tuple[Completion, ...]:
    """What the server offers for the argument at the end of `text`; nothing where it is not there now, or
    what stands there is a whole value already: then Enter sends."""
    life = lives.life(server)
    start, word = _last(text)
    known = _written(definition.arguments, text[:start])
    argument, typed = _meant(definition.arguments, known, word)
    if argument is None or life.state != "ready" or not (typed or argument.required):
        return ()
    try:
        connection = await life.connected()
        values = await connection.complete(definition.name, argument.name, typed, known)
    except McpFailed:
        return ()
    if typed in values:
        return ()
    named = f"{argument.name}=" if word.startswith(f"{argument.name}=") else ""
    about = argument.description or argument.name
    return tuple(
        Completion(f"{named}{shlex.quote(one)} ", one, one_line(about, 100), start, len(text))
        for one in values
        if one
    )


def _last(text: str) -> tuple[int, str]:
    """Where the word begins that is being written at the end, and that word."""
    found = [match for match in WORD.finditer(text) if match.end() == len(text)]
    return (found[-1].start(), found[-1].group()) if found else (len(text), "")


def _meant(
    wanted: tuple[PromptArgument, ...], known: Mapping[str, str], word: str
) -> tuple[PromptArgument | None, str]:
    """The argument that `word` is for, and what of its value is written."""
    name, equals, value = word.partition("=")
    for one in wanted:
        if equals and one.name == name:
            return one, _bare(value)
    return next((one for one in wanted if one.name not in known), None), _bare(word)


def _bare(word: str) -> str:
    return word.replace('"', "").replace("'", "")


async def _values(
    wanted: tuple[PromptArgument, ...], invoked: Invoked, context: Context
) -> Mapping[str, str]:
    """The arguments of a prompt: `name=value` or in their order; the rest of the words are the last one's.
    What is missing is asked for. Raises `McpFailed`."""
    given = {one.name: invoked.arguments.get(one.name) for one in wanted}
    # A screen sends the words behind the name as an argument, too.
    named = {name: str(one) for name, one in given.items() if one is not None and one != invoked.text}
    values = _written(wanted, invoked.text) | named
    missing = tuple(one for one in wanted if one.required and not values.get(one.name))
    if not missing:
        return values
    fields = tuple(FormField(one.name, one.name, "text", True, note=one.description) for one in missing)
    try:
        answer = await context.session.ask_form("What should the prompt be made of?", fields)
    except NobodyThere:
        answer = FormAnswer("decline")
    if answer.action != "accept":
        names = ", ".join(one.name for one in missing)
        raise McpFailed(f"the prompt needs {names}", "write them behind its name: name=value")
    return values | {name: str(value) for name, value in answer.values.items()}


def _written(wanted: tuple[PromptArgument, ...], text: str) -> dict[str, str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [one.name for one in wanted]
    values: dict[str, str] = {}
    loose: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            loose.append(word)
    free = [name for name in names if name not in values]
    if free and len(loose) > len(free):
        loose = [*loose[: len(free) - 1], " ".join(loose[len(free) - 1 :])]
    return values | dict(zip(free, loose, strict=False))
