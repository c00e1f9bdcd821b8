"""Code navigation without a model: symbols, references, callers, problems, renaming."""

from collections.abc import Sequence
from dataclasses import replace

from cockpit.fuzzy_match import best_matches
from cockpit.protocol.code import (
    Navigate,
    Place,
    ProblemRows,
    Problems,
    Relation,
    SymbolRow,
    SymbolRows,
    Symbols,
)
from cockpit.protocol.queries import Refused, Reply
from cockpit.protocol.safe_text import single_line
from cockpit.tui.actions.open_location import open_location
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import TextDialog
from cockpit.tui.screens.live_picker import LiveAnswer, LivePicker, PickedLocation
from cockpit.tui.screens.picker import PickerChoice
from cockpit.tui.session_link import SessionLink

_PICK_FOOT = "Enter choose   Esc close"
_SEVERITIES = ("error", "warning", "info", "hint")
_SEVERITY_SIGNS = {"error": "✗", "warning": "▲", "info": "·", "hint": "·"}
_RELATION_TITLES = {"references": "References of", "callers": "Callers of"}


async def go_to_symbol(app: ThemedApp, link: SessionLink) -> None:
    """Open a definition of the workspace, found by name."""
    picked = await _pick_symbol(app, link, "Go to symbol")
    if picked is not None:
        await open_location(app, link, picked.value, view=picked.view)


async def go_to_symbol_in_file(app: ThemedApp, link: SessionLink) -> None:
    """Open a definition of the current file."""
    path = link.state.code.current_file
    if not path:
        app.notify("there is no current file yet: F6 goes to a symbol anywhere")
        return

    async def ask(text: str) -> LiveAnswer:
        return _definition_choices(_filter_rows(await link.ask(Symbols("", path)), text), in_one_file=True)

    await _pick_and_open(app, link, LivePicker(single_line(path), ask))


async def show_problems(app: ThemedApp, link: SessionLink) -> None:
    """List what the language servers find wrong in every file they have checked."""

    async def ask(text: str) -> LiveAnswer:
        reply = await query_problems(link)
        if not isinstance(reply, ProblemRows):
            return LiveAnswer((), note=_refusal_reason(reply))
        rows = best_matches(text, reply.rows, lambda row: f"{row.message} {row.path}")
        rows.sort(key=lambda row: (_SEVERITIES.index(row.severity), row.path, row.line))
        choices = [
            PickerChoice(
                f"{row.path}:{row.line}:{row.column}",
                f"{_SEVERITY_SIGNS[row.severity]} {single_line(row.message)}",
                "",
                f"{single_line(row.path)}:{row.line}",
            )
            for row in rows
        ]
        servers = ", ".join(sorted({row.server for row in rows}))
        note = single_line(reply.note) or ("" if rows else "none known")
        return LiveAnswer(choices, servers, reply.complete, note)

    await _pick_and_open(app, link, LivePicker("Problems", ask))


async def query_problems(link: SessionLink) -> Reply:
    """What the servers know of every file, and what they find in the current file when asked about it."""
    current = link.state.code.current_file
    here = await link.ask(Problems(current)) if current else None
    everywhere = await link.ask(Problems())
    if not isinstance(here, ProblemRows) or not isinstance(everywhere, ProblemRows):
        return everywhere
    others = tuple(row for row in everywhere.rows if row.path != current)
    notes = dict.fromkeys(note for note in (everywhere.note, here.note) if note)
    return ProblemRows(others + here.rows, everywhere.complete and here.complete, "; ".join(notes))


async def find_related(app: ThemedApp, link: SessionLink, relation: Relation, title: str) -> None:
    """Choose a symbol, then open one of the places in `relation` to it."""
    start = await _pick_symbol(app, link, title, await _current_symbol(link), _PICK_FOOT)
    if start is None:
        return

    async def ask(text: str) -> LiveAnswer:
        return _use_choices(_filter_rows(await link.ask(Navigate(relation, start.value)), text))

    heading = f"{_RELATION_TITLES.get(relation, relation)} {link.state.code.symbol or start.value}"
    await _pick_and_open(app, link, LivePicker(heading, ask))


async def rename_symbol(app: ThemedApp, link: SessionLink) -> None:
    """Choose a symbol and its new name; the approval that follows shows every change."""
    picked = await _pick_symbol(app, link, "Rename symbol", await _current_symbol(link), _PICK_FOOT)
    if picked is None:
        return
    old = link.state.code.symbol
    foot = "Enter shows every change first   Esc close"
    new = await app.push_screen_wait(TextDialog(f"Rename {old} to", picked.value, old, foot))
    if new and new != old:
        await link.call_tool("rename", {"symbol": picked.value, "to": new})


async def _pick_symbol(
    app: ThemedApp,
    link: SessionLink,
    title: str,
    typed: str = "",
    foot: str = "Enter open   Tab preview   Esc close",
) -> PickedLocation | None:
    """Let the user pick a symbol of the workspace; its name becomes the current symbol."""
    names: dict[str, str] = {}

    async def ask(text: str) -> LiveAnswer:
        reply = await link.ask(Symbols(text))
        if isinstance(reply, SymbolRows):
            names.update({_location(row): row.name for row in reply.rows})
        return _definition_choices(reply, progress=_index_progress(link))

    placeholder = "a name, or the beginnings of its words"
    picker = LivePicker(title, ask, placeholder=placeholder, typed=typed, foot=foot)
    picked = await app.push_screen_wait(picker)
    if picked is not None:
        link.state.code.symbol = names.get(picked.value, "")
    return picked


async def _pick_and_open(app: ThemedApp, link: SessionLink, picker: LivePicker) -> None:
    picked = await app.push_screen_wait(picker)
    if picked is not None:
        await open_location(app, link, picked.value, view=picked.view)


async def _current_symbol(link: SessionLink) -> str:
    code = link.state.code
    if code.current_file and code.line:
        reply = await link.ask(Place(code.current_file, code.line, 1))
        if isinstance(reply, SymbolRows) and reply.rows:
            return reply.rows[0].name
    return code.symbol


def _index_progress(link: SessionLink) -> str:
    """How far the index is, as Work shows it; empty when it is complete."""
    rows = link.state.panels.get("servers", ())
    index = next((row for row in rows if row.files_read is not None), None)
    if index is None:
        return ""
    if index.files_known:
        return f"reading files: {index.files_read} of {index.files_known}"
    return "looking for files"


def _refusal_reason(reply: Reply) -> str:
    return single_line(reply.reason) if isinstance(reply, Refused) else "no answer"


def _filter_rows(reply: Reply, text: str) -> Reply:
    """Keep only the rows that match `text`, the best first; unchanged where nothing is typed."""
    if not text or not isinstance(reply, SymbolRows):
        return reply
    rows = best_matches(text, reply.rows, lambda row: f"{row.name} {row.path} {row.text}")
    return replace(reply, rows=tuple(rows))


def _location(row: SymbolRow) -> str:
    return f"{row.path}:{row.line}:{row.column}"


def _definition_choices(reply: Reply, in_one_file: bool = False, progress: str = "") -> LiveAnswer:
    """`in_one_file`: the path is left out. `progress`: why the answer may improve."""
    if not isinstance(reply, SymbolRows):
        return LiveAnswer((), note=_refusal_reason(reply))
    choices = [
        PickerChoice(
            _location(row),
            single_line(f"{row.container}.{row.name}" if row.container else row.name),
            f"line {row.line}" if in_one_file else f"{single_line(row.path)}:{row.line}",
            single_line(row.kind),
        )
        for row in reply.rows
    ]
    if progress and not reply.complete:
        reply = replace(reply, note=progress)
    return _live_answer(choices, reply)


def _use_choices(reply: Reply) -> LiveAnswer:
    if not isinstance(reply, SymbolRows):
        return LiveAnswer((), note=_refusal_reason(reply))
    choices = [
        PickerChoice(
            _location(row),
            single_line(row.text) or single_line(row.name),
            "",
            f"{single_line(row.path)}:{row.line}",
        )
        for row in reply.rows
    ]
    return _live_answer(choices, reply)


def _live_answer(choices: Sequence[PickerChoice], reply: SymbolRows) -> LiveAnswer:
    source = ", ".join(dict.fromkeys(row.source for row in reply.rows))
    note = single_line(reply.note)
    if not reply.complete and reply.rows and "lsp" not in source:
        note = f"{source}, {note}"
    return LiveAnswer(choices, source, reply.complete, note)
