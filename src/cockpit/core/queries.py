"""Answers to queries. Only reads; what it tells is what the running session has."""

import asyncio
from dataclasses import replace
from typing import assert_never

from cockpit.core.agent import Agent
from cockpit.core.catalog import Entry, PluginState
from cockpit.core.checkpoint_rows import checkpoints
from cockpit.core.code import about_code
from cockpit.core.context import table
from cockpit.core.isolating import isolated
from cockpit.core.ledger import refusals
from cockpit.core.metering import Spent
from cockpit.core.offering import offered
from cockpit.core.rewinding import gone_turns
from cockpit.core.setting_rows import setting_rows
from cockpit.core.store import sessions_of
from cockpit.core.view import context_of
from cockpit.errors import CockpitError
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, Mention, Theme
from cockpit.protocol.code import FileText, Navigate, Place, Problems, Servers, Symbols
from cockpit.protocol.content import Diff
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json
from cockpit.protocol.offering import Expand, Offering, Prompts, Tools
from cockpit.protocol.queries import (
    AgentEventRows,
    AgentEvents,
    ChangeRows,
    Changes,
    Checkpoints,
    CommandRow,
    CommandRows,
    Commands,
    Complete,
    Completion,
    Completions,
    ContextRows,
    Listing,
    ListingRow,
    ListingRows,
    Output,
    OutputPage,
    PluginRow,
    PluginRows,
    Plugins,
    Query,
    RefusalRows,
    Refusals,
    Refused,
    Reply,
    SessionRows,
    Sessions,
    Settings,
    SettingsTable,
)

PAGE = 20_000
COMPLETIONS = 50


async def answer(agent: Agent, query: Query) -> Reply:
    """The reply to `query`, or `Refused` with the reason."""
    match query:
        case Complete():
            return await _complete(agent, query)
        case Commands():
            return _commands(agent)
        case Symbols() | Place() | Navigate() | Problems() | Servers() | FileText():
            return await about_code(agent, query)
        case Sessions():
            return SessionRows(sessions_of(agent.host.root))
        case ContextRows():
            return await table(agent)
        case Changes():
            return _changes(agent)
        case Refusals():
            return RefusalRows(refusals(agent.host.log.durable()))
        case Checkpoints():
            return await checkpoints(agent, query)
        case Output(handle, cursor):
            return _output(agent, handle, cursor)
        case AgentEvents():
            return _events_of(agent, query)
        case Plugins():
            return _plugins(agent)
        case Settings():
            return _settings(agent)
        case Listing(kind):
            return _listing(agent, kind)
        case Tools() | Prompts() | Expand():
            return await _offered(agent, query)
        case _:
            assert_never(query)


def _events_of(agent: Agent, query: AgentEvents) -> Reply:
    try:
        path = agent.agents.find(query.agent).id
    except CockpitError as error:
        return Refused(str(error))
    rows = tuple(one for one in agent.host.log.durable() if one.agent == path and one.seq > query.cursor)
    return AgentEventRows(rows, rows[-1].seq if rows else query.cursor)


async def _complete(agent: Agent, query: Complete) -> Reply:
    typed = query.text[: query.cursor]
    if query.trigger == "/" and typed.startswith("/") and " " in typed:
        return Completions((await _values(agent, query, typed))[:COMPLETIONS])
    start = max(typed.rfind(query.trigger), 0)
    word = typed[start + 1 :]
    if query.trigger == "/":
        rows = [one for one in _commands(agent).rows if _matches(word, one.name)]
        rows.sort(key=lambda one: (not one.name.startswith(word), one.name))
        found = [
            Completion(f"/{one.name} ", f"/{one.name}", one.description, start, query.cursor) for one in rows
        ]
        return Completions(tuple(found[:COMPLETIONS]))
    mentions = [one for one in agent.host.catalog.all(Mention) if one.sign == query.trigger]
    contexts = [context_of(agent, agent.host.catalog.owner(Mention, one.name)) for one in mentions]
    asked = (one.complete(word, context) for one, context in zip(mentions, contexts, strict=True))
    ranked = [
        (_fit(word, row), mention.name, at, row)
        for mention, rows in zip(mentions, await asyncio.gather(*asked), strict=True)
        for at, row in enumerate(rows)
    ]
    ranked.sort(key=lambda one: one[:3])
    rows_of = [Completion(row.insert, row.label, row.detail, start, query.cursor) for *_, row in ranked]
    return Completions(tuple(rows_of[:COMPLETIONS]))


async def _values(agent: Agent, query: Complete, typed: str) -> tuple[Completion, ...]:
    """What a command would take at the cursor, which stands behind its name."""
    name, _, text = typed[1:].partition(" ")
    catalog = agent.host.catalog
    named = (one for one in catalog.all(Command) if not one.hidden and name in (one.name, *one.aliases))
    command = next(named, None)
    if command is None or command.complete is None:
        return ()
    rows = await command.complete(text, context_of(agent, catalog.owner(Command, command.name)))
    before = len(name) + 2
    return tuple(replace(row, start=before + row.start, end=before + row.end) for row in rows)


def _fit(word: str, row: Completion) -> int:
    """0 for the best: its name is `word`, begins with it, holds it, or only its letters. So that rows of
    several mentions stand in one order; between equals `files` comes before `symbols`."""
    wanted, label = word.strip('"').lower(), row.label.lower()
    names = (label, label.rpartition(".")[2], row.insert.lower().lstrip('@"').rstrip('" '))
    if wanted in names:
        return 0
    if any(name.startswith(wanted) for name in names):
        return 1
    return 2 if any(wanted in name for name in names) else 3


def _matches(word: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in word)


def _commands(agent: Agent) -> CommandRows:
    catalog = agent.host.catalog
    rows = [
        CommandRow(one.name, one.description, one.hint, catalog.owner(Command, one.name))
        for one in catalog.all(Command)
        if not one.hidden
    ]
    return CommandRows(tuple(sorted(rows, key=lambda one: one.name)))


def _changes(agent: Agent) -> ChangeRows:
    """Every diff a call of this session has made, in order, but those that were taken back, and those in
    worktrees of subagents: they come with the merge."""
    gone, elsewhere = gone_turns(agent, "files"), isolated(agent.host)
    results = (
        one.event.result
        for one in agent.host.log.durable()
        if isinstance(one.event, ToolCallFinished) and one.turn not in gone and one.agent not in elsewhere
    )
    return ChangeRows(tuple(block for one in results for block in one.blocks if isinstance(block, Diff)))


async def _offered(agent: Agent, query: Offering) -> Reply:
    try:
        return await offered(agent, query)
    except CockpitError as error:
        return Refused(str(error))


def _output(agent: Agent, handle: str, cursor: int) -> Reply:
    try:
        text, following, total = agent.host.results.page(handle, cursor, PAGE)
    except KeyError:
        return Refused(f"there is no output {handle} in this session")
    return OutputPage(text, following, total)


def _plugins(agent: Agent) -> PluginRows:
    rows = [
        PluginRow(
            one.found.name,
            one.found.distribution,
            one.found.version,
            one.found.state,
            one.registers,
            one.found.reason,
            round(one.seconds * 1000, 1),
            {hook.removeprefix("register_"): _milliseconds(took) for hook, took in one.hooks.items()},
            {hook.removeprefix("register_"): spent.calls for hook, spent in _spent(agent, one).items()},
            {
                hook.removeprefix("register_"): _milliseconds(spent.seconds)
                for hook, spent in _spent(agent, one).items()
            },
        )
        for one in agent.host.catalog.plugins
    ]
    return PluginRows(tuple(rows))


def _spent(agent: Agent, plugin: PluginState) -> dict[str, Spent]:
    return {hook: one for hook, one in agent.host.catalog.meter.of(plugin.found.name).items() if one.calls}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _settings(agent: Agent) -> SettingsTable:
    host = agent.host
    values: dict[str, Json] = {
        "model": host.model,
        "mode": host.mode,
        "trusted": host.trusted,
        "root": host.root,
        "window": agent.window(),
        "rules": [f"{one.level} {one} ({one.source})" for one in host.all_rules()],
    }
    counts = {hook.removeprefix("register_"): len(found) for hook, found in host.catalog.by_hook.items()}
    return SettingsTable(values, counts, host.settings.sources, setting_rows(host.settings))


def _listing(agent: Agent, kind: str) -> Reply:
    hook = f"register_{kind}"
    if hook not in HOOKS:
        return Refused(
            f"nothing is called {kind}; there are {', '.join(h.removeprefix('register_') for h in HOOKS)}"
        )
    entries = agent.host.catalog.by_hook[hook].values()
    return ListingRows(tuple(_row(agent, entry) for entry in sorted(entries, key=lambda one: one.name)))


def _row(agent: Agent, entry: Entry) -> ListingRow:
    told = (getattr(entry.value, name, "") for name in ("description", "label", "title"))
    description = next((str(one) for one in told if isinstance(one, str) and one), "")
    state = ""
    if isinstance(entry.value, Tool):
        state = "deferred" if entry.value.deferred else "sent"
    values = dict(entry.value.colours) if isinstance(entry.value, Theme) else {}
    return ListingRow(entry.name, description, entry.plugin, entry.layer, entry.shadows, state, values)
