"""The `definition` tool: where a symbol is defined, its documentation, and what implements it."""

import asyncio
from dataclasses import dataclass

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.builtin.tools.navigation.symbol_rows import lsp_alias, preview_read
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow

MAX_HOVER = 1_200
IMPLEMENTABLE_KINDS = ("class", "interface", "trait", "struct", "method", "protocol")
IMPLEMENTATION_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DefinitionArguments:
    symbol: symbol_rows.SymbolArgument


async def find_definition(arguments: DefinitionArguments, context: Context) -> Done:
    navigator = context.navigator
    at = await navigator.locate(arguments.symbol)
    answer, hover = await asyncio.gather(navigator.related("definition", at), navigator.hover(at))
    if not answer.rows:
        return Done(
            f"no definition of {arguments.symbol} is known; {symbol_rows.format_head(answer, 'definition')}"
        )
    lines = [symbol_rows.format_head(answer, "definition"), symbol_rows.format_rows(answer.rows)]
    if hover:
        lines.append(hover if len(hover) <= MAX_HOVER else f"{hover[:MAX_HOVER]}…")
    others = await _find_implementations(answer.rows, context)
    if others:
        lines += ["implementations:", symbol_rows.format_rows(others)]
    data = {
        **symbol_rows.answer_as_json(answer),
        "hover": hover,
        "implementations": symbol_rows.rows_as_json(others),
    }
    return Done("\n".join(lines), data=data)


async def _find_implementations(rows: tuple[SymbolRow, ...], context: Context) -> tuple[SymbolRow, ...]:
    """The implementations and overrides that are found within a second."""
    row = rows[0]
    if row.kind not in IMPLEMENTABLE_KINDS or not context.workspace.is_inside(row.path):
        return ()
    at = Position(row.path, row.line, row.column)
    try:
        async with asyncio.timeout(IMPLEMENTATION_SECONDS):
            answer = await context.navigator.related(
                "implementations", at, patience=IMPLEMENTATION_SECONDS / 2
            )
    except TimeoutError:
        return ()
    places = {(row.path, row.line) for row in rows}
    return tuple(row for row in answer.rows if (row.path, row.line) not in places)


async def preview(arguments: Arguments, context: Context) -> Preview:
    symbol = parse(DefinitionArguments, arguments).symbol
    return preview_read(f"definition of {symbol}", symbol, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="definition",
            kind="search",
            description="Where a symbol is defined, with its signature, documentation and implementations.",
            parameters=schema(DefinitionArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(DefinitionArguments, find_definition),
            title=lambda arguments: f"definition of {arguments.get('symbol', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(
                lsp_alias("lsp_definition"),
                lsp_alias("lsp_hover"),
                lsp_alias("goto_definition"),
            ),
            keywords=("lsp", "navigation", "hover", "documentation", "implementation"),
        )
    )
