"""The `definition` tool: where a symbol is defined, its documentation, and what implements it."""

import asyncio
from dataclasses import dataclass

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.builtin.tools.navigation.symbol_rows import lsp_alias
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Done, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow
from cockpit.protocol.messages import Json

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
    head = symbol_rows.format_head(answer, "definition")
    if not answer.rows:
        return Done(f"no definition of {arguments.symbol} is known; {head}")
    lines = [head, symbol_rows.format_rows(answer.rows)]
    if hover:
        lines.append(hover if len(hover) <= MAX_HOVER else f"{hover[:MAX_HOVER]}…")
    others = await _find_implementations(answer.rows, context)
    if others:
        lines += ["implementations:", symbol_rows.format_rows(others)]
    data: dict[str, Json] = {"hover": hover, "implementations": symbol_rows.rows_as_json(others)}
    return Done("\n".join(lines), data=symbol_rows.answer_as_json(answer) | data)


async def _find_implementations(rows: tuple[SymbolRow, ...], context: Context) -> tuple[SymbolRow, ...]:
    """The implementations and overrides that are found within a second."""
    row = rows[0]
    if row.kind not in IMPLEMENTABLE_KINDS or not context.workspace.is_inside(row.path):
        return ()
    at = Position(row.path, row.line, row.column)
    try:
        async with asyncio.timeout(IMPLEMENTATION_SECONDS):
            patience = IMPLEMENTATION_SECONDS / 2
            answer = await context.navigator.related("implementations", at, patience=patience)
    except TimeoutError:
        return ()
    places = {(row.path, row.line) for row in rows}
    return tuple(row for row in answer.rows if (row.path, row.line) not in places)


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
            title=symbol_rows.symbol_title("definition of"),
            preview=symbol_rows.preview_symbol("definition of"),
            is_concurrent=lambda arguments: True,
            aliases=tuple(map(lsp_alias, ("lsp_definition", "lsp_hover", "goto_definition"))),
            keywords=("lsp", "navigation", "hover", "documentation", "implementation"),
        )
    )
