"""`hierarchy`: who calls a function and what it calls; what a type is made of and what is made of it."""

from dataclasses import dataclass
from typing import Literal

from cockpit.builtin.navigation import showing
from cockpit.builtin.navigation.asked import touching
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import Relation

RELATIONS: dict[tuple[str, str], tuple[Relation, str]] = {
    ("calls", "up"): ("callers", "caller"),
    ("calls", "down"): ("callees", "callee"),
    ("types", "up"): ("supertypes", "supertype"),
    ("types", "down"): ("subtypes", "subtype"),
}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    symbol: showing.Symbol
    of: Literal["calls", "types"] = "calls"
    direction: Literal["up", "down"] = "up"


async def hierarchy(arguments: Hierarchy, context: Context) -> Done:
    relation, what = RELATIONS[arguments.of, arguments.direction]
    at = await context.navigator.locate(arguments.symbol)
    found = await context.navigator.related(relation, at)
    listed = f"\n{showing.grouped(found.rows)}" if found.rows else ""
    return Done(f"{arguments.symbol}: {showing.head(found, what)}{listed}", data=showing.told(found))


async def preview(arguments: Arguments, context: Context) -> Preview:
    symbol = parse(Hierarchy, arguments).symbol
    return touching(f"hierarchy of {symbol}", symbol, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="hierarchy",
            kind="search",
            description="Callers (up) or callees (down) of a function; supertypes or subtypes of a type.",
            parameters=schema(Hierarchy),
            capabilities=frozenset({"fs.read"}),
            run=typed(Hierarchy, hierarchy),
            title=lambda arguments: f"hierarchy of {arguments.get('symbol', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            deferred=True,
            aliases=(
                Alias("call_hierarchy", fixed=(("of", "calls"),)),
                Alias("type_hierarchy", fixed=(("of", "types"),)),
            ),
            keywords=("lsp", "navigation", "callers", "callees", "calls", "inheritance", "subclasses"),
        )
    )
