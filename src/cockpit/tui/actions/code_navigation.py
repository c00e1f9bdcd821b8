"""Code without any model: go to a symbol, its uses and callers, problems, renaming, servers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.protocol import ops
from cockpit.protocol.code import Navigate, Place, ProblemRows, Relation, SymbolRow, SymbolRows, Symbols
from cockpit.protocol.queries import Refused, Reply
from cockpit.tui.actions import open_location
from cockpit.tui.clean import single_line
from cockpit.tui.code_queries import query_problems
from cockpit.tui.screens.dialogs import TextDialog
from cockpit.tui.screens.live_picker import LiveAnswer, LivePicker, PickedLocation
from cockpit.tui.screens.picker import PickerChoice, match_score
from cockpit.tui.session_link import ORIGIN

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController

_PICK_FOOT = "Enter choose   Esc leave"
_SEVERITIES = ("error", "warning", "info", "hint")
_SEVERITY_SIGNS = {"error": "✗", "warning": "▲", "info": "·", "hint": "·"}


async def go_to_symbol(desk: "SessionController") -> None:
    """Any definition of the workspace, by name."""
    chosen = await _pick_symbol(desk, "Go to symbol")
    if chosen is not None:
        await _open_choice(desk, chosen)


async def go_to_symbol_in_file(desk: "SessionController") -> None:
    """A definition of the file at hand."""
    assert desk.link is not None
    path = desk.link.state.code.at_hand
    if not path:
        desk.app.notify("no file is at hand yet: F6 goes to a symbol anywhere")
        return

    async def ask(text: str) -> LiveAnswer:
        return _definition_choices(_filter_rows(await _ask(desk, Symbols("", path)), text), plain=True)

    await _pick_and_open(desk, LivePicker(desk.app.palette, single_line(path), ask))


async def find_references(desk: "SessionController") -> None:
    await _pick_related(desk, "references", "Find references")


async def find_callers(desk: "SessionController") -> None:
    await _pick_related(desk, "callers", "Find callers")


async def show_problems(desk: "SessionController") -> None:
    """What the servers find wrong, everywhere they looked."""

    async def ask(text: str) -> LiveAnswer:
        assert desk.link is not None
        reply = await query_problems(desk.link, desk.link.state.code.at_hand)
        if not isinstance(reply, ProblemRows):
            return LiveAnswer((), note=_refusal_reason(reply))
        rows = [row for row in reply.rows if not text or match_score(text, f"{row.message} {row.path}") > 0]
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
        return LiveAnswer(
            choices, servers, reply.complete, single_line(reply.note) or ("" if rows else "none known")
        )

    await _pick_and_open(desk, LivePicker(desk.app.palette, "Problems", ask))


async def rename_symbol(desk: "SessionController") -> None:
    """The symbol, then its new name; the approval that follows is the preview."""
    chosen = await _pick_symbol(desk, "Rename symbol", await _current_symbol(desk), _PICK_FOOT)
    if chosen is None or desk.link is None:
        return
    place, old = chosen.value, desk.link.state.code.symbol
    screen = TextDialog(
        desk.app.palette, f"Rename {old} to", place, old, "Enter shows every change first   Esc leave"
    )
    new = await desk.app.push_screen_wait(screen)
    if new and new != old:
        arguments = {"symbol": place, "to": new}
        await desk.link.submit(ops.CallTool(desk.link.fresh(), ORIGIN, "rename", arguments))


async def restart_servers(desk: "SessionController") -> None:
    if desk.link is not None:
        await desk.link.invoke("lsp", {"text": "restart"})


async def _pick_symbol(
    desk: "SessionController", title: str, typed: str = "", foot: str = "Enter open   Tab look   Esc leave"
) -> PickedLocation | None:
    """A symbol of the workspace; its name is kept as the one at hand."""
    names: dict[str, str] = {}

    async def ask(text: str) -> LiveAnswer:
        reply = await _ask(desk, Symbols(text))
        if isinstance(reply, SymbolRows):
            names.update({_location(row): row.name for row in reply.rows})
        return _definition_choices(reply, reading=_index_progress(desk))

    placeholder = "a name, or the beginnings of its words"
    screen = LivePicker(desk.app.palette, title, ask, placeholder=placeholder, typed=typed, foot=foot)
    chosen = await desk.app.push_screen_wait(screen)
    if chosen is not None and desk.link is not None:
        desk.link.state.code.symbol = names.get(chosen.value, "")
    return chosen


async def _pick_related(desk: "SessionController", relation: Relation, title: str) -> None:
    """Choose a symbol, then one of the places that stand in `relation` to it."""
    start = await _pick_symbol(desk, title, await _current_symbol(desk), _PICK_FOOT)
    if start is None or desk.link is None:
        return

    async def ask(text: str) -> LiveAnswer:
        return _use_choices(_filter_rows(await _ask(desk, Navigate(relation, start.value)), text))

    words = {"references": "References of", "callers": "Callers of"}
    name = desk.link.state.code.symbol or start.value
    await _pick_and_open(desk, LivePicker(desk.app.palette, f"{words.get(relation, relation)} {name}", ask))


async def _pick_and_open(desk: "SessionController", screen: LivePicker) -> None:
    chosen = await desk.app.push_screen_wait(screen)
    if chosen is not None:
        await _open_choice(desk, chosen)


async def _open_choice(desk: "SessionController", chosen: PickedLocation) -> None:
    await open_location.open_location(desk, chosen.value, viewed=chosen.look)


async def _current_symbol(desk: "SessionController") -> str:
    """The name of the definition somebody is in, or chose last."""
    assert desk.link is not None
    code = desk.link.state.code
    if code.at_hand and code.line:
        reply = await desk.link.ask(Place(code.at_hand, code.line, 1))
        if isinstance(reply, SymbolRows) and reply.rows:
            return reply.rows[0].name
    return code.symbol


async def _ask(desk: "SessionController", query: Symbols | Navigate) -> Reply:
    assert desk.link is not None
    return await desk.link.ask(query)


def _index_progress(desk: "SessionController") -> str:
    """How far the index is, as Work shows it; empty when it is whole."""
    assert desk.link is not None
    rows = desk.link.state.panels.get("servers", ())
    texts = (row.text for row in rows if row.state == "indexing")
    found = next((text for text in texts if text.startswith("index  ")), "")
    files = single_line(found.removeprefix("index  ").removesuffix(" files"))
    return f"reading files: {files}" if " of " in files else files and "looking for files"


def _refusal_reason(reply: Reply) -> str:
    return single_line(reply.reason) if isinstance(reply, Refused) else "nobody answers that here"


def _filter_rows(reply: Reply, text: str) -> Reply:
    """Only what fits `text`, the best first; unchanged where nothing is typed."""
    if not text or not isinstance(reply, SymbolRows):
        return reply
    scored = [
        (match_score(text, f"{row.name} {row.path} {row.text}"), -n, row) for n, row in enumerate(reply.rows)
    ]
    fits = sorted((one for one in scored if one[0] > 0), key=lambda one: one[:2], reverse=True)
    return SymbolRows(tuple(row for _, _, row in fits), reply.complete, reply.note)


def _location(row: SymbolRow) -> str:
    return f"{row.path}:{row.line}:{row.column}"


def _qualified_name(row: SymbolRow) -> str:
    return single_line(f"{row.container}.{row.name}" if row.container else row.name)


def _definition_choices(reply: Reply, plain: bool = False, reading: str = "") -> LiveAnswer:
    """`plain`: all of one file, so that the path says nothing. `reading`: why the answer may get better."""
    if not isinstance(reply, SymbolRows):
        return LiveAnswer((), note=_refusal_reason(reply))
    choices = [
        PickerChoice(
            _location(row),
            _qualified_name(row),
            f"line {row.line}" if plain else f"{single_line(row.path)}:{row.line}",
            single_line(row.kind),
        )
        for row in reply.rows
    ]
    if reading and not reply.complete:
        reply = replace(reply, note=reading)
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
