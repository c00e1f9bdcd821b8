"""Answers queries from the running session: completions, commands, code, checkpoints, changes, plugins and
settings. Only reads.
"""

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import TypeAlias, assert_never, cast

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.agent.working_folder import describe_left_out
from cockpit.core.agent.worktrees import isolated_agents
from cockpit.core.calls.rewind import active_rewinds, past_turns, rewound_turns, way_back_to
from cockpit.core.permission.approvals import collect_refusals
from cockpit.core.plugins.catalog import CatalogEntry, HookCost, PluginState
from cockpit.core.queries.commands import answer_offering
from cockpit.core.transcript.session_store import list_sessions
from cockpit.core.turn.context import context_table
from cockpit.errors import CockpitError
from cockpit.plugin.context import PathRefused
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, Mention, Theme
from cockpit.protocol.code import (
    FileText,
    Navigate,
    Place,
    Problems,
    ServerRows,
    Servers,
    SymbolRows,
    Symbols,
    TextPage,
)
from cockpit.protocol.content import Diff
from cockpit.protocol.events import Rewound, ToolCallFinished
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import (
    AgentEventRows,
    AgentEvents,
    CatalogQuery,
    ChangeRows,
    Changes,
    CheckpointRow,
    CheckpointRows,
    Checkpoints,
    CommandRow,
    CommandRows,
    Commands,
    Complete,
    Completion,
    Completions,
    ContextRows,
    Expand,
    Listing,
    ListingRow,
    ListingRows,
    Output,
    OutputPage,
    PluginRow,
    PluginRows,
    Plugins,
    Prompts,
    Query,
    RefusalRows,
    Refusals,
    Refused,
    Reply,
    SessionRows,
    Sessions,
    Settings,
    SettingsTable,
    Tools,
)
from cockpit.protocol.rows import SettingRow
from cockpit.settings.layers import EffectiveSettings, get_value
from cockpit.settings.schema import KEYS
from cockpit.workspace.checkpoints.records import TreeDelta, join_deltas
from cockpit.workspace.checkpoints.restore import changes_for_steps
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.files.changes import make_diff


def setting_rows(settings: EffectiveSettings) -> tuple[SettingRow, ...]:
    """One row per key, in the order of the schema; tables are not rows."""
    return tuple(
        SettingRow(
            key=key.name,
            value=cast("Json", get_value(settings.values, key.path)),
            origin=settings.origin(key.path),
            about=key.about,
            kind=key.kind,
            wanted=key.expected,
            default=cast("Json", key.default),
            choices=key.choices,
            writable=not settings.is_managed(key.name),
            live=key.live,
        )
        for key in KEYS
        if key.kind != "table" and "*" not in key.name
    )


# The user is waiting: a source that is not ready by then is asked again later.
CODE_PATIENCE = 0.2

CodeQuery: TypeAlias = Symbols | Place | Navigate | Problems | Servers | FileText


async def answer_code_query(agent: Agent, query: CodeQuery) -> Reply:
    """The reply, or `Refused` with the reason."""
    try:
        return await _query_navigator(agent, query)
    except (FileNotFoundError, NotADirectoryError) as error:
        return Refused(str(error), "missing_file")
    except (CockpitError, OSError) as error:
        return Refused(str(error))


async def _query_navigator(agent: Agent, query: CodeQuery) -> Reply:
    navigator = agent.navigator
    match query:
        case Symbols(text, ""):
            return await navigator.symbols(text, patience=CODE_PATIENCE)
        case Symbols(_, path):
            return await navigator.outline(path)
        case Place(path, line, _):
            rows = (await navigator.outline(path)).rows
            around = [row for row in rows if row.first <= line <= row.last]
            return SymbolRows(tuple(sorted(around, key=lambda row: row.last - row.first)[:1]))
        case Navigate(relation, place, source):
            return await navigator.related(relation, await navigator.locate(place), source, CODE_PATIENCE)
        case Problems(path):
            return await navigator.problems((path,) if path else ())
        case Servers():
            return ServerRows(navigator.servers())
        case FileText():
            return await _read_file_text(agent, query)
        case _:
            assert_never(query)


async def _read_file_text(agent: Agent, query: FileText) -> Reply:
    raw = await agent.workspace.files.read(query.path)
    if b"\0" in raw[:8192]:
        raise PathRefused(f"{query.path} is a binary file of {len(raw):,} bytes")
    lines = raw.decode("utf-8", "replace").split("\n")
    last = query.last or len(lines)
    return TextPage(query.path, query.first, "\n".join(lines[query.first - 1 : last]), len(lines))


MAX_SHOWN_CHANGES = 100
MAX_NAMED_PATHS = 20


async def list_checkpoints(agent: Agent, query: Checkpoints) -> Reply:
    """The checkpoints, and what going back to `query.turn` would change."""
    kept = agent.folder.checkpoints
    if kept is None:
        return Refused("this session keeps no checkpoints")
    try:
        return await asyncio.to_thread(_checkpoint_reply, agent, kept.store, query.turn)
    except (CockpitError, OSError) as error:
        return Refused(str(error))


def _checkpoint_reply(agent: Agent, shadow: CheckpointStore, turn: str) -> CheckpointRows:
    rows = _checkpoint_rows(agent, shadow)
    note = shadow.problem or describe_left_out(shadow.left_out())
    if not turn:
        return CheckpointRows(rows, note=note)
    way = way_back_to(agent, turn)
    steps = way.of("agent")
    changes, more = changes_for_steps(steps[:MAX_SHOWN_CHANGES], shadow.root, shadow.objects)
    left = [f"{step.path}: {step.reason}" for step in way.blocked]
    left += [f"{path}: {reason}" for path, reason in more]
    persons = tuple(step.path for step in way.of("person"))
    return CheckpointRows(rows, tuple(map(make_diff, changes)), len(steps), persons, tuple(left), note)


def _checkpoint_rows(agent: Agent, shadow: CheckpointStore) -> tuple[CheckpointRow, ...]:
    durable = agent.services.log.durable()
    deltas: dict[str, TreeDelta] = defaultdict(TreeDelta)
    for record in shadow.records(agent.services.session):
        key = record.call.turn if record.kind == "call" else record.call.call
        deltas[key] = join_deltas(deltas[key], record.delta)
    files, said, active = (
        rewound_turns(agent, "files"),
        rewound_turns(agent, "conversation"),
        active_rewinds(agent),
    )
    rows: dict[str, CheckpointRow] = {}
    for turn in past_turns(durable):
        row = _checkpoint_row(shadow, turn.id, _prompt_title(turn.prompt), turn.time, deltas[turn.id])
        is_gone = turn.id in said or (turn.id in files and row.files > 0)
        rows[turn.id] = replace(row, state="rewound" if is_gone else "", prompt=turn.prompt)
    for one in durable:
        event = one.event
        if isinstance(event, Rewound) and not event.undoes:
            before = rows[event.turn].title if event.turn in rows else event.turn
            row = _checkpoint_row(
                shadow, event.id, f"went back to before: {before}", one.time, deltas[event.id]
            )
            rows[event.id] = replace(row, kind="rewind", state="" if event.id in active else "undone")
    return tuple(sorted(rows.values(), key=lambda row: -row.time))


def _checkpoint_row(
    shadow: CheckpointStore, id: str, title: str, time: float, delta: TreeDelta
) -> CheckpointRow:
    added, removed = shadow.counting.lines(delta)
    paths = tuple(file.path for file in delta.files[:MAX_NAMED_PATHS])
    return CheckpointRow(id, title, time, len(delta.files), added, removed, paths)


def _prompt_title(prompt: str) -> str:
    return " ".join(prompt.split())[:80]


PAGE_SIZE = 20_000
MAX_COMPLETIONS = 50


async def answer_query(agent: Agent, query: Query) -> Reply:
    """The reply to `query`, or `Refused` with the reason."""
    match query:
        case Complete():
            return await _complete(agent, query)
        case Commands():
            return _command_rows(agent)
        case Symbols() | Place() | Navigate() | Problems() | Servers() | FileText():
            return await answer_code_query(agent, query)
        case Sessions():
            return SessionRows(list_sessions(agent.services.root))
        case ContextRows():
            return await context_table(agent)
        case Changes():
            return _change_rows(agent)
        case Refusals():
            return RefusalRows(collect_refusals(agent.services.log.durable()))
        case Checkpoints():
            return await list_checkpoints(agent, query)
        case Output(handle, cursor):
            return _output_page(agent, handle, cursor)
        case AgentEvents():
            return _agent_events(agent, query)
        case Plugins():
            return _plugin_rows(agent)
        case Settings():
            return _settings_table(agent)
        case Listing(kind):
            return _listing_rows(agent, kind)
        case Tools() | Prompts() | Expand():
            return await _offering_reply(agent, query)
        case _:
            assert_never(query)


def _agent_events(agent: Agent, query: AgentEvents) -> Reply:
    try:
        path = agent.agents.find(query.agent).id
    except CockpitError as error:
        return Refused(str(error))
    rows = tuple(
        envelope
        for envelope in agent.services.log.durable()
        if envelope.agent == path and envelope.seq > query.cursor
    )
    return AgentEventRows(rows, rows[-1].seq if rows else query.cursor)


async def _complete(agent: Agent, query: Complete) -> Reply:
    typed = query.text[: query.cursor]
    if query.trigger == "/" and typed.startswith("/") and " " in typed:
        return Completions((await _complete_command(agent, query, typed))[:MAX_COMPLETIONS])
    start = max(typed.rfind(query.trigger), 0)
    word = typed[start + 1 :]
    if query.trigger == "/":
        rows = [one for one in _command_rows(agent).rows if _has_letters(word, one.name)]
        rows.sort(key=lambda one: (not one.name.startswith(word), one.name))
        found = [
            Completion(f"/{one.name} ", f"/{one.name}", one.description, start, query.cursor) for one in rows
        ]
        return Completions(tuple(found[:MAX_COMPLETIONS]))
    mentions = [one for one in agent.services.catalog.all(Mention) if one.sign == query.trigger]
    contexts = [build_context(agent, agent.services.catalog.owner(Mention, one.name)) for one in mentions]
    asked = (one.complete(word, context) for one, context in zip(mentions, contexts, strict=True))
    ranked = [
        (_match_rank(word, row), mention.name, at, row)
        for mention, rows in zip(mentions, await asyncio.gather(*asked), strict=True)
        for at, row in enumerate(rows)
    ]
    ranked.sort(key=lambda one: one[:3])
    rows_of = [Completion(row.insert, row.label, row.detail, start, query.cursor) for *_, row in ranked]
    return Completions(tuple(rows_of[:MAX_COMPLETIONS]))


async def _complete_command(agent: Agent, query: Complete, typed: str) -> tuple[Completion, ...]:
    """Completions for the arguments of a command."""
    name, _, text = typed[1:].partition(" ")
    catalog = agent.services.catalog
    named = (one for one in catalog.all(Command) if not one.hidden and name in (one.name, *one.aliases))
    command = next(named, None)
    if command is None or command.complete is None:
        return ()
    rows = await command.complete(text, build_context(agent, catalog.owner(Command, command.name)))
    before = len(name) + 2
    return tuple(replace(row, start=before + row.start, end=before + row.end) for row in rows)


def _match_rank(word: str, row: Completion) -> int:
    """How well a row matches, 0 for the best: its name equals `word`, starts with it, contains it, or has its
    letters. It gives rows of several mentions one order; among equals `files` comes before `symbols`."""
    wanted, label = word.strip('"').lower(), row.label.lower()
    names = (label, label.rpartition(".")[2], row.insert.lower().lstrip('@"').rstrip('" '))
    if wanted in names:
        return 0
    if any(name.startswith(wanted) for name in names):
        return 1
    return 2 if any(wanted in name for name in names) else 3


def _has_letters(word: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in word)


def _command_rows(agent: Agent) -> CommandRows:
    catalog = agent.services.catalog
    rows = [
        CommandRow(command.name, command.description, command.hint, catalog.owner(Command, command.name))
        for command in catalog.all(Command)
        if not command.hidden
    ]
    return CommandRows(tuple(sorted(rows, key=lambda row: row.name)))


def _change_rows(agent: Agent) -> ChangeRows:
    """Every diff of this session's calls in order, except those that were rewound, and those in worktrees of
    subagents, which come with the merge."""
    gone, elsewhere = rewound_turns(agent, "files"), isolated_agents(agent.services)
    results = (
        envelope.event.result
        for envelope in agent.services.log.durable()
        if isinstance(envelope.event, ToolCallFinished)
        and envelope.turn not in gone
        and envelope.agent not in elsewhere
    )
    return ChangeRows(
        tuple(block for result in results for block in result.blocks if isinstance(block, Diff))
    )


async def _offering_reply(agent: Agent, query: CatalogQuery) -> Reply:
    try:
        return await answer_offering(agent, query)
    except CockpitError as error:
        return Refused(str(error))


def _output_page(agent: Agent, handle: str, cursor: int) -> Reply:
    try:
        text, following, total = agent.services.results.page(handle, cursor, PAGE_SIZE)
    except KeyError:
        return Refused(f"there is no output {handle} in this session")
    return OutputPage(text, following, total)


def _plugin_rows(agent: Agent) -> PluginRows:
    rows = [
        PluginRow(
            plugin.found.name,
            plugin.found.distribution,
            plugin.found.version,
            plugin.found.state,
            plugin.registers,
            plugin.found.reason,
            round(plugin.seconds * 1000, 1),
            {hook.removeprefix("register_"): _milliseconds(took) for hook, took in plugin.hooks.items()},
            {
                hook.removeprefix("register_"): spent.calls
                for hook, spent in _hook_costs(agent, plugin).items()
            },
            {
                hook.removeprefix("register_"): _milliseconds(spent.seconds)
                for hook, spent in _hook_costs(agent, plugin).items()
            },
        )
        for plugin in agent.services.catalog.plugins
    ]
    return PluginRows(tuple(rows))


def _hook_costs(agent: Agent, plugin: PluginState) -> dict[str, HookCost]:
    return {
        hook: one for hook, one in agent.services.catalog.meter.of(plugin.found.name).items() if one.calls
    }


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _settings_table(agent: Agent) -> SettingsTable:
    services, state = agent.services, agent.state
    values: dict[str, Json] = {
        "model": state.model,
        "mode": state.mode,
        "trusted": state.trusted,
        "root": services.root,
        "window": agent.window(),
        "rules": [f"{rule.level} {rule} ({rule.source})" for rule in agent.all_rules()],
    }
    counts = {hook.removeprefix("register_"): len(found) for hook, found in services.catalog.by_hook.items()}
    return SettingsTable(values, counts, services.settings.sources, setting_rows(services.settings))


def _listing_rows(agent: Agent, kind: str) -> Reply:
    hook = f"register_{kind}"
    if hook not in HOOKS:
        return Refused(
            f"nothing is called {kind}; there are {', '.join(h.removeprefix('register_') for h in HOOKS)}"
        )
    entries = agent.services.catalog.by_hook[hook].values()
    return ListingRows(
        tuple(_listing_row(agent, entry) for entry in sorted(entries, key=lambda one: one.name))
    )


def _listing_row(agent: Agent, entry: CatalogEntry) -> ListingRow:
    texts = (getattr(entry.value, name, "") for name in ("description", "label", "title"))
    description = next((str(one) for one in texts if isinstance(one, str) and one), "")
    state = ""
    if isinstance(entry.value, Tool):
        state = "deferred" if entry.value.deferred else "sent"
    values = dict(entry.value.colours) if isinstance(entry.value, Theme) else {}
    return ListingRow(entry.name, description, entry.plugin, entry.layer, entry.shadows, state, values)
