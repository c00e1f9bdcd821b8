"""Turns what servers offer into cockpit's tools and commands.

A server's tool is found by search and judged like any other; its hints can only tighten the verdict. Every
word of its arguments that may be a path is judged as one, because only the server knows what it does with
them. Prompts become commands; the server completes their arguments.
"""

import asyncio
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cockpit.mcp.pins import describe_target
from cockpit.mcp.supervisor import ServerSupervisor, SupervisorLookup
from cockpit.mcp.values import McpFailed, McpResult, PromptArgument, PromptDefinition, ToolDefinition
from cockpit.plugin.context import Context, FormAnswer, UserUnavailable
from cockpit.plugin.tools import Arguments, Capability, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, McpServer, Show
from cockpit.protocol.content import Text
from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json, Kind
from cockpit.protocol.queries import Completion
from cockpit.protocol.safe_text import clean, single_line

MAX_DESCRIPTION = 2_000
# The connection limits a call; this only ends one that waits for an absent user.
CALL_TIMEOUT = 3_600.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
YES, NO = "approve and call", "no"
# One word, with or without quotes; an open quote extends to the end.
ARGUMENT_WORD = re.compile(r"""(?:[^\s"']|"[^"]*(?:"|$)|'[^']*(?:'|$))+""")
MAX_PATH_WORDS = 200
MAX_PATH_LENGTH = 4_096
PATH_ARGUMENT = re.compile(
    r"path|file|dir|folder|cwd|root|location|source|destination|target|uri", re.IGNORECASE
)
COMMAND_ARGUMENT = re.compile(r"command|cmd|script|shell|^args$|argv", re.IGNORECASE)
ROOTED_PATH = re.compile(r"^(?:/|~/|~$|\.{1,2}/|\\\\|[A-Za-z]:[\\/])")
HIDDEN_FILE = re.compile(r"^\.[A-Za-z]")
COMMAND_WORD = re.compile(r"[^\s'\"`=<>|;&(){}\[\],]+")


def find_path_words(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The words of `arguments` that may be paths. Touches no file."""
    words = (word for word in _iter_words(dict(arguments), "") if 0 < len(word) <= MAX_PATH_LENGTH)
    return tuple(dict.fromkeys(words))[:MAX_PATH_WORDS]


def resolve_paths(words: tuple[str, ...], root: str) -> tuple[str, ...]:
    """The real paths that `words` may name, relative to `root`. Reads links: call it in a worker thread."""
    home = str(Path.home())
    expanded = (re.sub(r"^~(?=/|$)", lambda match: home, word) for word in words)
    return tuple(dict.fromkeys(os.path.realpath(Path(root, word)) for word in expanded))


def _iter_words(value: Json, name: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from _iter_path_words(value, name)
    elif isinstance(value, list):
        for item in value:
            yield from _iter_words(item, name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _iter_words(item, key)


def _iter_path_words(text: str, name: str) -> Iterator[str]:
    """The value itself, and the words of a value that may be a command line."""
    whole = text.strip()
    if "\0" in whole:
        return
    if whole.startswith("file:"):
        yield unquote(urlsplit(whole).path)
        return
    if (PATH_ARGUMENT.search(name) and "\n" not in whole and "://" not in whole) or _looks_like_path(whole):
        yield whole
    elif COMMAND_ARGUMENT.search(name):
        for word in COMMAND_WORD.findall(whole[: 4 * MAX_PATH_LENGTH]):
            if _looks_like_path(word) and not word.startswith("//"):
                yield word


def _looks_like_path(word: str) -> bool:
    if not word or "://" in word or any(character.isspace() for character in word):
        return False
    return (
        bool(ROOTED_PATH.match(word) or HIDDEN_FILE.match(word))
        or ("/" in word and ".." in word)
        or "/." in word
    )


def choose_kind(definition: ToolDefinition) -> Kind:
    """The kind of a tool, by its hints. Even a tool that claims to be read-only gets a kind that asks."""
    if definition.destroys and not definition.reads_only:
        return "delete"
    return "fetch" if definition.reads_only else "other"


def choose_capabilities(server: McpServer, definition: ToolDefinition) -> frozenset[Capability]:
    """A tool runs the server's code. One that may change something remote can also send data."""
    remote = bool(server.url) and urlsplit(server.url).hostname not in LOOPBACK
    if not definition.reads_only and (remote or definition.is_open):
        return frozenset({"code.exec", "net.egress"})
    return frozenset({"code.exec"})


def make_tool(
    supervisors: SupervisorLookup, server: McpServer, definition: ToolDefinition, name: str
) -> Tool:
    """A server's tool under the name `name`."""

    async def run(arguments: Arguments, context: Context) -> Done:
        report = context.running().progress

        def report_progress(done: float, total: float | None, message: str) -> None:
            count = f"{done:g}/{total:g}" if total else f"{done:g}" if done else ""
            report(f"{message or 'working'} {count}".rstrip() + "\n")

        supervisor = supervisors.supervisor(server.name)
        try:
            connection = await supervisor.connected()
            await _require_approval(supervisor, definition.name, context)
            handler = supervisors.request_handler(server.name, context)
            return make_done(await connection.call(definition.name, arguments, handler, report_progress))
        except McpFailed as error:
            raise ToolFailed(error.message, error.hint) from error

    def describe_call(arguments: Arguments) -> str:
        shown = (str(value) for value in arguments.values() if isinstance(value, str | int | float))
        return f"{server.name}: {definition.name} {single_line(' '.join(shown), 80)}".rstrip()

    async def preview(arguments: Arguments, context: Context) -> Preview:
        # The server runs in the session's root, whatever worktree its caller works in.
        words = find_path_words(arguments)
        paths = await asyncio.to_thread(resolve_paths, words, context.session.root) if words else ()
        written = clean(json.dumps(dict(arguments), ensure_ascii=False, indent=1))
        part = Part("arguments", f"{definition.name} of {server.name}", written)
        # Where data would be sent: the host, or the program.
        destination = urlsplit(server.url).netloc if server.url else describe_target(server)
        title = f"{server.name}: {definition.title or definition.name}"
        return Preview(title, (part,), paths=paths, destination=destination, lift="*")

    about = definition.description or definition.title or definition.name
    return Tool(
        name=name,
        kind=choose_kind(definition),
        description=f"[MCP server {server.name}] {about}"[:MAX_DESCRIPTION],
        parameters=definition.parameters,
        capabilities=choose_capabilities(server, definition),
        run=run,
        title=describe_call,
        preview=preview,
        deferred=True,
        keywords=(server.name, definition.name, definition.title, "mcp"),
        seconds=CALL_TIMEOUT,
    )


def make_done(outcome: McpResult) -> Done:
    """A server's result as a tool's result."""
    return Done(outcome.text, outcome.blocks, outcome.structured, outcome.is_error, "none")


async def _require_approval(supervisor: ServerSupervisor, name: str, context: Context) -> None:
    """Ask the user if the tool has changed since it was approved. Raises `ToolFailed`."""
    if name not in supervisor.changed:
        return
    changed, server = supervisor.changed[name], supervisor.server.name
    text = f"{name} of the MCP server {server} has changed since it was approved, so it was not called"
    hint = f"the user can look at the change and approve it with /mcp approve {server}"
    refused = ToolFailed(f"the tool {text}:\n{changed}\n", hint)
    question = f"The MCP server {server} has changed the tool {name} since it was approved:\n{changed}"
    field = FormField("answer", "Call it?", "choice", True, (YES, NO), (), NO)
    try:
        answer = await context.session.ask_form(question, (field,), source=f"MCP server {server}")
    except UserUnavailable as error:
        raise refused from error
    if answer.action != "accept" or answer.values.get("answer") != YES:
        raise refused
    if supervisor.changed.get(name) != changed:
        raise ToolFailed(f"{name} changed again while the user looked at it; call it again")
    await supervisor.accept(name)


def make_command(
    supervisors: SupervisorLookup, server: McpServer, definition: PromptDefinition, name: str
) -> Command:
    """A server's prompt as the command `name`."""

    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        try:
            values = await _collect_arguments(definition.arguments, invoked, context)
            connection = await supervisors.supervisor(server.name).connected()
            handler = supervisors.request_handler(server.name, context)
            prompt = await connection.prompt(definition.name, values, handler)
        except McpFailed as error:
            return Show((Text(str(error)),))
        return AsPrompt(prompt.text)

    async def complete(text: str, context: Context) -> tuple[Completion, ...]:
        return await _complete_argument(supervisors, server.name, definition, text)

    hint = " ".join(
        f"<{argument.name}>" if argument.required else f"[{argument.name}]"
        for argument in definition.arguments
    )
    about = definition.description or f"the prompt {definition.name}"
    about = f"{single_line(about, 200)} (MCP server {server.name})"
    return Command(name, about, run, hint, complete=complete if definition.arguments else None)


async def _complete_argument(
    supervisors: SupervisorLookup, server: str, definition: PromptDefinition, text: str
) -> tuple[Completion, ...]:
    """Values that the server offers for the argument at the end of `text`. Empty if the server is not ready
    or a complete value is already there, so that Enter sends."""
    supervisor = supervisors.supervisor(server)
    words = [match for match in ARGUMENT_WORD.finditer(text) if match.end() == len(text)]
    start, word = (words[-1].start(), words[-1].group()) if words else (len(text), "")
    known = _parse_arguments(definition.arguments, text[:start])
    argument, typed = _match_argument(definition.arguments, known, word)
    if argument is None or supervisor.state != "ready" or not (typed or argument.required):
        return ()
    try:
        connection = await supervisor.connected()
        values = await connection.complete(definition.name, argument.name, typed, known)
    except McpFailed:
        return ()
    if typed in values:
        return ()
    prefix = f"{argument.name}=" if word.startswith(f"{argument.name}=") else ""
    about = argument.description or argument.name
    return tuple(
        Completion(f"{prefix}{shlex.quote(value)} ", value, single_line(about, 100), start, len(text))
        for value in values
        if value
    )


def _match_argument(
    arguments: tuple[PromptArgument, ...], known: Mapping[str, str], word: str
) -> tuple[PromptArgument | None, str]:
    """The argument that `word` belongs to, and the part of its value typed so far."""
    name, equals, value = word.partition("=")
    argument = next((argument for argument in arguments if equals and argument.name == name), None)
    if argument is None:
        argument, value = next((free for free in arguments if free.name not in known), None), word
    return argument, value.replace('"', "").replace("'", "")


async def _collect_arguments(
    arguments: tuple[PromptArgument, ...], invoked: Invoked, context: Context
) -> Mapping[str, str]:
    """The arguments of a prompt. The user is asked for missing ones. Raises `McpFailed`."""
    values = _parse_arguments(arguments, invoked.text)
    for argument in arguments:
        value = invoked.arguments.get(argument.name)
        # A screen also sends the words after the name as an argument.
        if value is not None and value != invoked.text:
            values[argument.name] = str(value)
    missing = tuple(argument for argument in arguments if argument.required and not values.get(argument.name))
    if not missing:
        return values
    fields = tuple(
        FormField(argument.name, argument.name, "text", True, note=argument.description)
        for argument in missing
    )
    try:
        answer = await context.session.ask_form("Which values should the prompt use?", fields)
    except UserUnavailable:
        answer = FormAnswer("decline")
    if answer.action != "accept":
        names = ", ".join(argument.name for argument in missing)
        raise McpFailed(f"the prompt needs {names}", "write them after the command's name, as name=value")
    return values | {name: str(value) for name, value in answer.values.items()}


def _parse_arguments(arguments: tuple[PromptArgument, ...], text: str) -> dict[str, str]:
    """Parse `name=value`, or values in order; further words belong to the last argument."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [argument.name for argument in arguments]
    values: dict[str, str] = {}
    unnamed: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            unnamed.append(word)
    free = [name for name in names if name not in values]
    if free and len(unnamed) > len(free):
        unnamed = [*unnamed[: len(free) - 1], " ".join(unnamed[len(free) - 1 :])]
    return values | dict(zip(free, unnamed, strict=False))
