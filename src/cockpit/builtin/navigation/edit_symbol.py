"""`edit_symbol`: replace, delete, or add beside, a whole definition. Where it begins and ends is found by its
name, so that no text of it must be repeated."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin import changing
from cockpit.builtin.navigation import showing, splicing
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow
from cockpit.workspace.changes import digest


@dataclass(frozen=True, slots=True)
class EditSymbol:
    symbol: showing.Symbol
    action: Annotated[Literal["replace", "before", "after", "delete"], "of the whole definition"]
    text: Annotated[str, "the new definition"] = ""
    force: Annotated[bool, "delete although it is used"] = False


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(EditSymbol, arguments)
    if wanted.action != "delete" and not wanted.text.strip():
        raise ToolFailed(f"`text` is empty; write what to {wanted.action}, or use the action delete")
    at = await context.navigator.locate(wanted.symbol)
    real = context.workspace.resolve(at.path, "write")
    content = await changing.present(context, real)
    if content is None:
        raise ToolFailed(f"{at.path} is gone; look for {wanted.symbol} again")
    start, end = await context.navigator.extent(at)
    piece = splicing.cut(content, start, end)
    match wanted.action:
        case "replace":
            new = piece.replaced(wanted.text)
        case "before":
            new = piece.before(wanted.text)
        case "after":
            new = piece.after(wanted.text)
        case "delete":
            if not wanted.force:
                await _refuse_used(wanted.symbol, at, piece, context)
            new = piece.deleted(at.path.endswith((".py", ".pyi")))
    title = f"{wanted.action} {wanted.symbol}"
    edit = WriteFile(real, new, before=digest(content))
    return await changing.previewed(context, title, (edit,))


async def _refuse_used(symbol: str, at: Position, piece: splicing.Piece, context: Context) -> None:
    """Raises `ToolFailed` with the list of users, when there are any."""
    found = await context.navigator.related("references", at)
    first, last = piece.lines
    users = tuple(row for row in found.rows if not _is_own(row, at, first, last))
    if users:
        places = "place" if len(users) == 1 else "places"
        raise ToolFailed(
            f"{symbol} is used in {len(users)} {places}; change these first, or set force to delete it\n"
            + showing.grouped(users)
        )


def _is_own(row: SymbolRow, at: Position, first: int, last: int) -> bool:
    return row.path == at.path and first <= row.line <= last


async def run(arguments: Arguments, context: Context) -> Done:
    return await changing.applied(arguments, context, preview)


def _title(arguments: Arguments) -> str:
    return f"{arguments.get('action', 'edit')} {arguments.get('symbol', '')}"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    body = (("name_path", "symbol"), ("body", "text"), ("relative_path", ""))
    register(
        Tool(
            name="edit_symbol",
            kind="edit",
            description="Replace or delete a whole definition, or add text before or after it.",
            parameters=schema(EditSymbol),
            capabilities=frozenset({"fs.write"}),
            run=run,
            title=_title,
            preview=preview,
            aliases=(
                Alias("replace_symbol_body", body, (("action", "replace"),)),
                Alias("insert_after_symbol", body, (("action", "after"),)),
                Alias("insert_before_symbol", body, (("action", "before"),)),
            ),
            keywords=("lsp", "function", "class", "method", "insert"),
        )
    )
