"""`rename`: a symbol everywhere it is meant, through its language server; shown first, then written."""

from dataclasses import dataclass, replace
from typing import Annotated

from cockpit.builtin import changing
from cockpit.builtin.navigation import showing
from cockpit.builtin.navigation.asked import lilbot, touching
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Rename:
    symbol: showing.Symbol
    to: Annotated[str, "the new name"]
    apply: Annotated[bool, "false: only show"] = True


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(Rename, arguments)
    if not wanted.apply:
        return touching(f"rename {wanted.symbol}", wanted.symbol, context)
    return await _planned(wanted, context)


async def _planned(wanted: Rename, context: Context) -> Preview:
    if not wanted.to.strip():
        raise ToolFailed("`to` is empty; name what the symbol shall be called")
    at = await context.navigator.locate(wanted.symbol)
    edits = await context.navigator.rename(at, wanted.to.strip())
    left = [f"{row.path}:{row.line}" for row in await context.navigator.left(at, edits)]
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    note = f"uses by name that are not renamed: {', '.join(left[:SHOWN])}{more}" if left else ""
    shown = await changing.previewed(context, f"rename {wanted.symbol} to {wanted.to}", edits, note)
    return replace(shown, whole=True)


async def run(arguments: Arguments, context: Context) -> Done:
    wanted = parse(Rename, arguments)
    if wanted.apply:
        return await changing.applied(arguments, context, preview)
    return changing.shown(await _planned(wanted, context))


def _title(arguments: Arguments) -> str:
    return f"rename {arguments.get('symbol', '')} to {arguments.get('to', '')}"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="rename",
            kind="edit",
            description="Rename a symbol and all its uses, by language server.",
            parameters=schema(Rename),
            capabilities=frozenset({"fs.read", "fs.write"}),
            run=run,
            title=_title,
            preview=preview,
            is_concurrent=lambda arguments: arguments.get("apply") is False,
            aliases=(
                lilbot("lsp_rename_preview", {"apply": False}, new_name="to", newName="to"),
                lilbot("lsp_rename", new_name="to", newName="to"),
                lilbot("rename_symbol", new_name="to", newName="to"),
            ),
            keywords=("lsp", "refactor", "symbol"),
        )
    )
