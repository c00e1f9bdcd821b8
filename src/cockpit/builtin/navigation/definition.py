"""`definition`: where a symbol is defined, what it says of itself, and what implements it."""

import asyncio
from dataclasses import dataclass

from cockpit.builtin.navigation import showing
from cockpit.builtin.navigation.asked import lilbot, touching
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow

HOVER = 1_200
IMPLEMENTED = ("class", "interface", "trait", "struct", "method", "protocol")
SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Definition:
    symbol: showing.Symbol


async def definition(arguments: Definition, context: Context) -> Done:
    navigator = context.navigator
    at = await navigator.locate(arguments.symbol)
    found, hover = await asyncio.gather(navigator.related("definition", at), navigator.hover(at))
    if not found.rows:
        return Done(f"no definition of {arguments.symbol} is known; {showing.head(found, 'definition')}")
    lines = [showing.head(found, "definition"), showing.grouped(found.rows)]
    if hover:
        lines.append(hover if len(hover) <= HOVER else f"{hover[:HOVER]}…")
    others = await _implementations(found.rows, context)
    if others:
        lines += ["implementations:", showing.grouped(others)]
    data = {**showing.told(found), "hover": hover, "implementations": showing.as_json(others)}
    return Done("\n".join(lines), data=data)


async def _implementations(rows: tuple[SymbolRow, ...], context: Context) -> tuple[SymbolRow, ...]:
    """What implements or overrides it, as far as that is known at once."""
    row = rows[0]
    if row.kind not in IMPLEMENTED or not context.workspace.is_inside(row.path):
        return ()
    at = Position(row.path, row.line, row.column)
    try:
        async with asyncio.timeout(SECONDS):
            found = await context.navigator.related("implementations", at, patience=SECONDS / 2)
    except TimeoutError:
        return ()
    places = {(one.path, one.line) for one in rows}
    return tuple(one for one in found.rows if (one.path, one.line) not in places)


async def preview(arguments: Arguments, context: Context) -> Preview:
    symbol = parse(Definition, arguments).symbol
    return touching(f"definition of {symbol}", symbol, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="definition",
            kind="search",
            description="Where a symbol is defined, with its signature, documentation and implementations.",
            parameters=schema(Definition),
            capabilities=frozenset({"fs.read"}),
            run=typed(Definition, definition),
            title=lambda arguments: f"definition of {arguments.get('symbol', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(
                lilbot("lsp_definition"),
                lilbot("lsp_hover"),
                lilbot("goto_definition"),
            ),
            keywords=("lsp", "navigation", "hover", "documentation", "implementation"),
        )
    )
