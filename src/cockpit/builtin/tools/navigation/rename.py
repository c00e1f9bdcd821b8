"""The `rename` tool: renames a symbol and all its uses with its language server."""

from dataclasses import dataclass, replace
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.builtin.tools.navigation.symbol_rows import lsp_alias, preview_symbol
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

MAX_SHOWN = 8


@dataclass(frozen=True, slots=True)
class RenameArguments:
    symbol: symbol_rows.SymbolArgument
    to: Annotated[str, "the new name"]
    apply: Annotated[bool, "false: only show"] = True


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(RenameArguments, arguments)
    if not parsed.apply:
        return await preview_symbol("rename")(arguments, context)
    return await _plan_rename(parsed, context)


async def _plan_rename(parsed: RenameArguments, context: Context) -> Preview:
    if not parsed.to.strip():
        raise ToolFailed("`to` is empty; write the new name of the symbol")
    at = await context.navigator.locate(parsed.symbol)
    edits = await context.navigator.rename(at, parsed.to.strip())
    unrenamed = [f"{row.path}:{row.line}" for row in await context.navigator.left(at, edits)]
    more = f" and {len(unrenamed) - MAX_SHOWN} more" if len(unrenamed) > MAX_SHOWN else ""
    note = f"uses by name that are not renamed: {', '.join(unrenamed[:MAX_SHOWN])}{more}" if unrenamed else ""
    shown = await file_changes.preview_edits(context, f"rename {parsed.symbol} to {parsed.to}", edits, note)
    return replace(shown, whole=True)


async def run(arguments: Arguments, context: Context) -> Done:
    parsed = parse(RenameArguments, arguments)
    if parsed.apply:
        return await file_changes.apply_previewed(arguments, context, preview)
    return file_changes.describe_preview(await _plan_rename(parsed, context))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="rename",
            kind="edit",
            description="Rename a symbol and all its uses, by language server.",
            parameters=schema(RenameArguments),
            capabilities=frozenset({"fs.read", "fs.write"}),
            run=run,
            title=lambda arguments: f"rename {arguments.get('symbol', '')} to {arguments.get('to', '')}",
            preview=preview,
            is_concurrent=lambda arguments: arguments.get("apply") is False,
            aliases=(
                lsp_alias("lsp_rename_preview", {"apply": False}, new_name="to", newName="to"),
                *(lsp_alias(name, new_name="to", newName="to") for name in ("lsp_rename", "rename_symbol")),
            ),
            keywords=("lsp", "refactor", "symbol"),
        )
    )
