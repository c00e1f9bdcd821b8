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
from cockpit.core.plugins.catalog import CatalogEntry, PluginState
from cockpit.core.queries.commands import answer_offering
from cockpit.core.transcript.session_store import list_sessions
from cockpit.core.turn.context import context_table
from cockpit.errors import CockpitError
from cockpit.plugin.context import PathRefused
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, Mention, Theme
from cockpit.protocol import code, queries
from cockpit.protocol.code import FileText, ServerRows, SymbolRows, TextPage
from cockpit.protocol.content import Diff
from cockpit.protocol.events import Rewound, ToolCallFinished
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import (
    ChangeRows,
    CheckpointRow,
    CheckpointRows,
    Complete,
    Completion,
    Completions,
    ListingRow,
    PluginRow,
    Query,
    Refused,
    Reply,
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
CodeQuery: TypeAlias = code.Symbols | code.Place | code.Navigate | code.Problems | code.Servers | FileText


async def _answer_code_query(agent: Agent, query: CodeQuery) -> Reply:
    navigator = agent.navigator
    match query:
        case code.Symbols(text, ""):
            return await navigator.symbols(text, patience=CODE_PATIENCE)
        case code.Symbols(_, path):
            return await navigator.outline(path)
        case code.Place(path, line, _):
            rows = (await navigator.outline(path)).rows
            around = [row for row in rows if row.first <= line <= row.last]
            return SymbolRows(tuple(sorted(around, key=lambda row: row.last - row.first)[:1]))
        case code.Navigate(relation, place, source):
            return await navigator.related(relation, await navigator.locate(place), source, CODE_PATIENCE)
        case code.Problems(path):
            return await navigator.problems((path,) if path else ())
        case code.Servers():
            return ServerRows(navigator.servers())
        case FileText():
            return await _read_file_text(agent, query)
        case _:
            assert_never(query)


async def _read_file_text(agent: Agent, query: FileText) -> TextPage:
    raw = await agent.workspace.files.read(query.path)
    if b"\0" in raw[:8192]:
        raise PathRefused(f"{query.path} is a binary file of {len(raw):,} bytes")
    lines = raw.decode("utf-8", "replace").split("\n")
    last = query.last or len(lines)
    return TextPage(query.path, query.first, "\n".join(lines[query.first - 1 : last]), len(lines))


MAX_SHOWN_CHANGES = 100
MAX_NAMED_PATHS = 20


async def _list_checkpoints(agent: Agent, turn: str) -> Reply:
    checkpoints = agent.folder.checkpoints
    if checkpoints is None:
        return Refused("this session has no checkpoints")
    return await asyncio.to_thread(_checkpoint_reply, agent, checkpoints.store, turn)


def _checkpoint_reply(agent: Agent, store: CheckpointStore, turn: str) -> CheckpointRows:
    """The checkpoints, and what going back to `turn` would change."""
    rows = _checkpoint_rows(agent, store)
    note = store.problem or describe_left_out(store.left_out())
    if not turn:
        return CheckpointRows(rows, note=note)
    way = way_back_to(agent, turn)
    steps = way.of("agent")
    changes, more = changes_for_steps(steps[:MAX_SHOWN_CHANGES], store.root, store.objects)
    left = [f"{step.path}: {step.reason}" for step in way.blocked]
    left += [f"{path}: {reason}" for path, reason in more]
    persons = tuple(step.path for step in way.of("person"))
    return CheckpointRows(rows, tuple(map(make_diff, changes)), len(steps), persons, tuple(left), note)


def _checkpoint_rows(agent: Agent, store: CheckpointStore) -> tuple[CheckpointRow, ...]:
    durable, active = agent.services.log.durable(), active_rewinds(agent)
    deltas: dict[str, TreeDelta] = defaultdict(TreeDelta)
    for record in store.records(agent.services.session):
        key = record.call.turn if record.kind == "call" else record.call.call
        deltas[key] = join_deltas(deltas[key], record.delta)
    without_files, without_text = rewound_turns(agent, "files"), rewound_turns(agent, "conversation")

    def make_row(id: str, title: str, time: float) -> CheckpointRow:
        delta = deltas[id]
        added, removed = store.counting.lines(delta)
        paths = tuple(file.path for file in delta.files[:MAX_NAMED_PATHS])
        return CheckpointRow(id, title, time, len(delta.files), added, removed, paths)

    rows: dict[str, CheckpointRow] = {}
    for turn in past_turns(durable):
        row = make_row(turn.id, " ".join(turn.prompt.split())[:80], turn.time)
        is_gone = turn.id in without_text or (turn.id in without_files and row.files > 0)
        rows[turn.id] = replace(row, state="rewound" if is_gone else "", prompt=turn.prompt)
    for envelope in durable:
        event = envelope.event
        if isinstance(event, Rewound) and not event.undoes:
            before = rows[event.turn].title if event.turn in rows else event.turn
            row = make_row(event.id, f"went back to before: {before}", envelope.time)
            rows[event.id] = replace(row, kind="rewind", state="" if event.id in active else "undone")
    return tuple(sorted(rows.values(), key=lambda row: -row.time))


PAGE_SIZE = 20_000
MAX_COMPLETIONS = 50


async def answer_query(agent: Agent, query: Query) -> Reply:
    """The reply to `query`, or `Refused` with the reason."""
    try:
        return await _answer(agent, query)
    except (FileNotFoundError, NotADirectoryError) as error:
        return Refused(str(error), "missing_file")
    except (CockpitError, OSError) as error:
        return Refused(str(error))


async def _answer(agent: Agent, query: Query) -> Reply:
    services = agent.services
    match query:
        case Complete():
            return await _complete(agent, query)
        case queries.Commands():
            return _command_rows(agent)
        case code.Symbols() | code.Place() | code.Navigate() | code.Problems() | code.Servers() | FileText():
            return await _answer_code_query(agent, query)
        case queries.Sessions():
            return queries.SessionRows(list_sessions(services.root))
        case queries.ContextRows():
            return await context_table(agent)
        case queries.Changes():
            return _change_rows(agent)
        case queries.Refusals():
            return queries.RefusalRows(collect_refusals(services.log.durable()))
        case queries.Checkpoints(turn):
            return await _list_checkpoints(agent, turn)
        case queries.Output(handle, cursor):
            return _output_page(agent, handle, cursor)
        case queries.AgentEvents():
            path = agent.agents.find(query.agent).id
            rows = tuple(
                row for row in services.log.durable() if row.agent == path and row.seq > query.cursor
            )
            return queries.AgentEventRows(rows, rows[-1].seq if rows else query.cursor)
        case queries.Plugins():
            return queries.PluginRows(
                tuple(_plugin_row(agent, plugin) for plugin in services.catalog.plugins)
            )
        case queries.Settings():
            return _settings_table(agent)
        case queries.Listing(kind):
            return _listing_rows(agent, kind)
        case queries.Tools() | queries.Prompts() | queries.Expand():
            return await answer_offering(agent, query)
        case _:
            assert_never(query)


async def _complete(agent: Agent, query: Complete) -> Reply:
    typed = query.text[: query.cursor]
    if query.trigger == "/" and typed.startswith("/") and " " in typed:
        return Completions((await _complete_command(agent, query, typed))[:MAX_COMPLETIONS])
    start = max(typed.rfind(query.trigger), 0)
    word = typed[start + 1 :]
    if query.trigger == "/":
        commands = [row for row in _command_rows(agent).rows if _has_letters(word, row.name)]
        commands.sort(key=lambda row: (not row.name.startswith(word), row.name))
        found = (
            Completion(f"/{row.name} ", f"/{row.name}", row.description, start, query.cursor)
            for row in commands[:MAX_COMPLETIONS]
        )
        return Completions(tuple(found))
    mentions = [mention for mention in agent.services.catalog.all(Mention) if mention.sign == query.trigger]
    answers = await asyncio.gather(*(_complete_mention(agent, mention, word) for mention in mentions))
    ranked = [
        (_match_rank(word, row), mention.name, at, row)
        for mention, rows in zip(mentions, answers, strict=True)
        for at, row in enumerate(rows)
    ]
    ranked.sort(key=lambda entry: entry[:3])
    return Completions(
        tuple(
            Completion(row.insert, row.label, row.detail, start, query.cursor)
            for *_, row in ranked[:MAX_COMPLETIONS]
        )
    )


async def _complete_mention(agent: Agent, mention: Mention, word: str) -> tuple[Completion, ...]:
    plugin = agent.services.catalog.owner(Mention, mention.name)
    return await mention.complete(word, build_context(agent, plugin))


async def _complete_command(agent: Agent, query: Complete, typed: str) -> tuple[Completion, ...]:
    """Completions for the arguments of a command."""
    name, _, text = typed[1:].partition(" ")
    catalog = agent.services.catalog
    commands = (command for command in catalog.all(Command) if not command.hidden)
    command = next((command for command in commands if name in (command.name, *command.aliases)), None)
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


def _command_rows(agent: Agent) -> queries.CommandRows:
    catalog = agent.services.catalog
    rows = [
        queries.CommandRow(
            command.name, command.description, command.hint, catalog.owner(Command, command.name)
        )
        for command in catalog.all(Command)
        if not command.hidden
    ]
    return queries.CommandRows(tuple(sorted(rows, key=lambda row: row.name)))


def _change_rows(agent: Agent) -> ChangeRows:
    """Every diff of this session's calls in order, except those that were rewound, and those in worktrees of
    subagents, which come with the merge."""
    gone, isolated = rewound_turns(agent, "files"), isolated_agents(agent.services)
    return ChangeRows(
        tuple(
            block
            for envelope in agent.services.log.durable()
            if isinstance(envelope.event, ToolCallFinished)
            and envelope.turn not in gone
            and envelope.agent not in isolated
            for block in envelope.event.result.blocks
            if isinstance(block, Diff)
        )
    )


def _output_page(agent: Agent, handle: str, cursor: int) -> Reply:
    try:
        text, following, total = agent.services.results.page(handle, cursor, PAGE_SIZE)
    except KeyError:
        return Refused(f"there is no output {handle} in this session")
    return queries.OutputPage(text, following, total)


def _plugin_row(agent: Agent, plugin: PluginState) -> PluginRow:
    found, costs = plugin.found, agent.services.catalog.meter.of(plugin.found.name)
    called = {hook.removeprefix("register_"): cost for hook, cost in costs.items() if cost.calls}
    return PluginRow(
        found.name,
        found.distribution,
        found.version,
        found.state,
        plugin.registers,
        found.reason,
        round(plugin.seconds * 1000, 1),
        {hook.removeprefix("register_"): round(took * 1000, 2) for hook, took in plugin.hooks.items()},
        {hook: cost.calls for hook, cost in called.items()},
        {hook: round(cost.seconds * 1000, 2) for hook, cost in called.items()},
    )


def _settings_table(agent: Agent) -> queries.SettingsTable:
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
    rows = setting_rows(services.settings)
    return queries.SettingsTable(values, counts, services.settings.sources, rows)


def _listing_rows(agent: Agent, kind: str) -> Reply:
    hook = f"register_{kind}"
    if hook not in HOOKS:
        kinds = ", ".join(hook.removeprefix("register_") for hook in HOOKS)
        return Refused(f"unknown kind {kind!r}; choose one of {kinds}")
    entries = sorted(agent.services.catalog.by_hook[hook].values(), key=lambda entry: entry.name)
    return queries.ListingRows(tuple(_listing_row(entry) for entry in entries))


def _listing_row(entry: CatalogEntry) -> ListingRow:
    texts = (getattr(entry.value, name, "") for name in ("description", "label", "title"))
    description = next((text for text in texts if isinstance(text, str) and text), "")
    state = ""
    if isinstance(entry.value, Tool):
        state = "deferred" if entry.value.deferred else "sent"
    values = dict(entry.value.colours) if isinstance(entry.value, Theme) else {}
    return ListingRow(entry.name, description, entry.plugin, entry.layer, entry.shadows, state, values)
