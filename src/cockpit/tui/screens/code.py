"""Code without any model: go to a symbol, its uses and callers, problems, renaming, servers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.protocol import ops
from cockpit.protocol.code import (
    Navigate,
    Place,
    ProblemRows,
    Relation,
    SymbolRow,
    SymbolRows,
    Symbols,
)
from cockpit.protocol.queries import Refused, Reply
from cockpit.tui import going
from cockpit.tui.asking import known_problems
from cockpit.tui.clean import one_line
from cockpit.tui.link import ORIGIN
from cockpit.tui.screens.ask import Ask
from cockpit.tui.screens.live import Chosen, Found, Live
from cockpit.tui.screens.matching import score
from cockpit.tui.screens.picker import Choice

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_PICK = "Enter choose   Esc leave"
_ORDER = ("error", "warning", "info", "hint")
_SIGNS = {"error": "✗", "warning": "▲", "info": "·", "hint": "·"}


async def symbols(desk: "Desk") -> None:
    """Any definition of the workspace, by name."""
    chosen = await _pick(desk, "Go to symbol")
    if chosen is not None:
        await _open(desk, chosen)


async def outline(desk: "Desk") -> None:
    """A definition of the file at hand."""
    assert desk.link is not None
    path = desk.link.state.code.at_hand
    if not path:
        desk.app.notify("no file is at hand yet: F6 goes to a symbol anywhere")
        return

    async def ask(text: str) -> Found:
        return _definitions(_narrowed(await _asked(desk, Symbols("", path)), text), plain=True)

    await _show(desk, Live(desk.app.palette, one_line(path), ask))


async def references(desk: "Desk") -> None:
    await _related(desk, "references", "Find references")


async def callers(desk: "Desk") -> None:
    await _related(desk, "callers", "Find callers")


async def problems(desk: "Desk") -> None:
    """What the servers find wrong, everywhere they looked."""

    async def ask(text: str) -> Found:
        assert desk.link is not None
        reply = await known_problems(desk.link, desk.link.state.code.at_hand)
        if not isinstance(reply, ProblemRows):
            return Found((), note=_refused(reply))
        rows = [row for row in reply.rows if not text or score(text, f"{row.message} {row.path}") > 0]
        rows.sort(key=lambda row: (_ORDER.index(row.severity), row.path, row.line))
        choices = [
            Choice(
                f"{row.path}:{row.line}:{row.column}",
                f"{_SIGNS[row.severity]} {one_line(row.message)}",
                "",
                f"{one_line(row.path)}:{row.line}",
            )
            for row in rows
        ]
        servers = ", ".join(sorted({row.server for row in rows}))
        return Found(choices, servers, reply.complete, one_line(reply.note) or ("" if rows else "none known"))

    await _show(desk, Live(desk.app.palette, "Problems", ask))


async def rename(desk: "Desk") -> None:
    """The symbol, then its new name; the approval that follows is the preview."""
    chosen = await _pick(desk, "Rename symbol", await _at_hand(desk), _PICK)
    if chosen is None or desk.link is None:
        return
    place, old = chosen.value, desk.link.state.code.symbol
    screen = Ask(
        desk.app.palette, f"Rename {old} to", place, old, "Enter shows every change first   Esc leave"
    )
    new = await desk.app.push_screen_wait(screen)
    if new and new != old:
        arguments = {"symbol": place, "to": new}
        await desk.link.submit(ops.CallTool(desk.link.fresh(), ORIGIN, "rename", arguments))


async def restart_servers(desk: "Desk") -> None:
    if desk.link is not None:
        await desk.link.invoke("lsp", {"text": "restart"})


async def _pick(
    desk: "Desk", title: str, typed: str = "", foot: str = "Enter open   Tab look   Esc leave"
) -> Chosen | None:
    """A symbol of the workspace; its name is kept as the one at hand."""
    names: dict[str, str] = {}

    async def ask(text: str) -> Found:
        reply = await _asked(desk, Symbols(text))
        if isinstance(reply, SymbolRows):
            names.update({_place(row): row.name for row in reply.rows})
        return _definitions(reply, reading=_reading(desk))

    placeholder = "a name, or the beginnings of its words"
    screen = Live(desk.app.palette, title, ask, placeholder=placeholder, typed=typed, foot=foot)
    chosen = await desk.app.push_screen_wait(screen)
    if chosen is not None and desk.link is not None:
        desk.link.state.code.symbol = names.get(chosen.value, "")
    return chosen


async def _related(desk: "Desk", relation: Relation, title: str) -> None:
    """Choose a symbol, then one of the places that stand in `relation` to it."""
    start = await _pick(desk, title, await _at_hand(desk), _PICK)
    if start is None or desk.link is None:
        return

    async def ask(text: str) -> Found:
        return _uses(_narrowed(await _asked(desk, Navigate(relation, start.value)), text))

    words = {"references": "References of", "callers": "Callers of"}
    name = desk.link.state.code.symbol or start.value
    await _show(desk, Live(desk.app.palette, f"{words.get(relation, relation)} {name}", ask))


async def _show(desk: "Desk", screen: Live) -> None:
    chosen = await desk.app.push_screen_wait(screen)
    if chosen is not None:
        await _open(desk, chosen)


async def _open(desk: "Desk", chosen: Chosen) -> None:
    await going.go_to(desk, chosen.value, viewed=chosen.look)


async def _at_hand(desk: "Desk") -> str:
    """The name of the definition somebody is in, or chose last."""
    assert desk.link is not None
    code = desk.link.state.code
    if code.at_hand and code.line:
        reply = await desk.link.ask(Place(code.at_hand, code.line, 1))
        if isinstance(reply, SymbolRows) and reply.rows:
            return reply.rows[0].name
    return code.symbol


async def _asked(desk: "Desk", query: Symbols | Navigate) -> Reply:
    assert desk.link is not None
    return await desk.link.ask(query)


def _reading(desk: "Desk") -> str:
    """How far the index is, as Work shows it; empty when it is whole."""
    assert desk.link is not None
    rows = desk.link.state.panels.get("servers", ())
    texts = (row.text for row in rows if row.state == "indexing")
    found = next((text for text in texts if text.startswith("index  ")), "")
    files = one_line(found.removeprefix("index  ").removesuffix(" files"))
    return f"reading files: {files}" if " of " in files else files and "looking for files"


def _refused(reply: Reply) -> str:
    return one_line(reply.reason) if isinstance(reply, Refused) else "nobody answers that here"


def _narrowed(reply: Reply, text: str) -> Reply:
    """Only what fits `text`, the best first; unchanged where nothing is typed."""
    if not text or not isinstance(reply, SymbolRows):
        return reply
    scored = [(score(text, f"{row.name} {row.path} {row.text}"), -n, row) for n, row in enumerate(reply.rows)]
    fits = sorted((one for one in scored if one[0] > 0), key=lambda one: one[:2], reverse=True)
    return SymbolRows(tuple(row for _, _, row in fits), reply.complete, reply.note)


def _place(row: SymbolRow) -> str:
    return f"{row.path}:{row.line}:{row.column}"


def _whole(row: SymbolRow) -> str:
    return one_line(f"{row.container}.{row.name}" if row.container else row.name)


def _definitions(reply: Reply, plain: bool = False, reading: str = "") -> Found:
    """`plain`: all of one file, so that the path says nothing. `reading`: why the answer may get better."""
    if not isinstance(reply, SymbolRows):
        return Found((), note=_refused(reply))
    choices = [
        Choice(
            _place(row),
            _whole(row),
            f"line {row.line}" if plain else f"{one_line(row.path)}:{row.line}",
            one_line(row.kind),
        )
        for row in reply.rows
    ]
    if reading and not reply.complete:
        reply = replace(reply, note=reading)
    return _found(choices, reply)


def _uses(reply: Reply) -> Found:
    if not isinstance(reply, SymbolRows):
        return Found((), note=_refused(reply))
    choices = [
        Choice(_place(row), one_line(row.text) or one_line(row.name), "", f"{one_line(row.path)}:{row.line}")
        for row in reply.rows
    ]
    return _found(choices, reply)


def _found(choices: Sequence[Choice], reply: SymbolRows) -> Found:
    source = ", ".join(dict.fromkeys(row.source for row in reply.rows))
    note = one_line(reply.note)
    if not reply.complete and reply.rows and "lsp" not in source:
        note = f"{source}, {note}"
    return Found(choices, source, reply.complete, note)
