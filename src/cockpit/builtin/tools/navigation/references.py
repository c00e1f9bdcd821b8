"""The `references` tool: every use of a symbol."""

from dataclasses import dataclass

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.builtin.tools.navigation.symbol_rows import lsp_alias, preview_read
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class ReferencesArguments:
    symbol: symbol_rows.SymbolArgument


async def find_references(arguments: ReferencesArguments, context: Context) -> Done:
    at = await context.navigator.locate(arguments.symbol)
    answer = await context.navigator.related("references", at)
    head = symbol_rows.format_head(answer, "reference")
    text = f"{head}\n{symbol_rows.format_rows(answer.rows)}" if answer.rows else f"{arguments.symbol}: {head}"
    return Done(text, data=symbol_rows.answer_as_json(answer))


async def preview(arguments: Arguments, context: Context) -> Preview:
    symbol = parse(ReferencesArguments, arguments).symbol
    return preview_read(f"references to {symbol}", symbol, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="references",
            kind="search",
            description="Every use of a symbol, by file; not of other symbols with its name.",
            parameters=schema(ReferencesArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(ReferencesArguments, find_references),
            title=lambda arguments: f"references to {arguments.get('symbol', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(lsp_alias("lsp_references"), lsp_alias("find_references")),
            keywords=("lsp", "navigation", "uses", "usages", "callers"),
        )
    )
