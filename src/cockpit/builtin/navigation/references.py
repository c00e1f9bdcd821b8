"""`references`: every use of a symbol."""

from dataclasses import dataclass

from cockpit.builtin.navigation import showing
from cockpit.builtin.navigation.asked import lilbot, touching
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class References:
    symbol: showing.Symbol


async def references(arguments: References, context: Context) -> Done:
    at = await context.navigator.locate(arguments.symbol)
    found = await context.navigator.related("references", at)
    if not found.rows:
        return Done(f"{arguments.symbol}: {showing.head(found, 'reference')}", data=showing.told(found))
    return Done(
        f"{showing.head(found, 'reference')}\n{showing.grouped(found.rows)}", data=showing.told(found)
    )


async def preview(arguments: Arguments, context: Context) -> Preview:
    symbol = parse(References, arguments).symbol
    return touching(f"references to {symbol}", symbol, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="references",
            kind="search",
            description="Every use of a symbol, by file; not of other symbols with its name.",
            parameters=schema(References),
            capabilities=frozenset({"fs.read"}),
            run=typed(References, references),
            title=lambda arguments: f"references to {arguments.get('symbol', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(lilbot("lsp_references"), lilbot("find_references")),
            keywords=("lsp", "navigation", "uses", "usages", "callers"),
        )
    )
