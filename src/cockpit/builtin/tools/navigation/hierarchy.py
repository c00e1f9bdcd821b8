"""The `hierarchy` tool: callers and callees of a function, supertypes and subtypes of a type."""

from dataclasses import dataclass
from typing import Literal

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Done, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import Relation

RELATIONS: dict[tuple[str, str], tuple[Relation, str]] = {
    ("calls", "up"): ("callers", "caller"),
    ("calls", "down"): ("callees", "callee"),
    ("types", "up"): ("supertypes", "supertype"),
    ("types", "down"): ("subtypes", "subtype"),
}


@dataclass(frozen=True, slots=True)
class HierarchyArguments:
    symbol: symbol_rows.SymbolArgument
    of: Literal["calls", "types"] = "calls"
    direction: Literal["up", "down"] = "up"


async def find_hierarchy(arguments: HierarchyArguments, context: Context) -> Done:
    relation, noun = RELATIONS[arguments.of, arguments.direction]
    at = await context.navigator.locate(arguments.symbol)
    answer = await context.navigator.related(relation, at)
    text = f"{arguments.symbol}: {symbol_rows.format_head(answer, noun)}"
    text += f"\n{symbol_rows.format_rows(answer.rows)}" if answer.rows else ""
    return Done(text, data=symbol_rows.answer_as_json(answer))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="hierarchy",
            kind="search",
            description="Callers (up) or callees (down) of a function; supertypes or subtypes of a type.",
            parameters=schema(HierarchyArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(HierarchyArguments, find_hierarchy),
            title=symbol_rows.symbol_title("hierarchy of"),
            preview=symbol_rows.preview_symbol("hierarchy of"),
            is_concurrent=lambda arguments: True,
            deferred=True,
            aliases=(
                Alias("call_hierarchy", fixed=(("of", "calls"),)),
                Alias("type_hierarchy", fixed=(("of", "types"),)),
            ),
            keywords=("lsp", "navigation", "callers", "callees", "calls", "inheritance", "subclasses"),
        )
    )
