"""The `references` tool: every use of a symbol."""

from dataclasses import dataclass

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.builtin.tools.navigation.symbol_rows import lsp_alias
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Tool
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
            title=symbol_rows.symbol_title("references to"),
            preview=symbol_rows.preview_symbol("references to"),
            is_concurrent=lambda arguments: True,
            aliases=(lsp_alias("lsp_references"), lsp_alias("find_references")),
            keywords=("lsp", "navigation", "uses", "usages", "callers"),
        )
    )
