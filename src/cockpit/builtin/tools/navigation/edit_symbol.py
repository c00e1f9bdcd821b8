"""The `edit_symbol` tool: replaces or deletes a whole definition, or inserts text before or after it.

The definition is found by name, so the caller need not repeat its text.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from cockpit.builtin.tools import file_changes
from cockpit.builtin.tools.navigation import splice, symbol_rows
from cockpit.navigation.place_resolver import SymbolPlace, parse_place
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow
from cockpit.workspace.files.changes import digest


@dataclass(frozen=True, slots=True)
class EditSymbolArguments:
    symbol: symbol_rows.SymbolArgument
    action: Annotated[Literal["replace", "before", "after", "delete"], "of the whole definition"]
    text: Annotated[str, "the new definition"] = ""
    force: Annotated[bool, "delete although it is used"] = False


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(EditSymbolArguments, arguments)
    if parsed.action != "delete" and not parsed.text.strip():
        raise ToolFailed(f"`text` is empty; write what to {parsed.action}, or use the action delete")
    at = await context.navigator.locate(parsed.symbol)
    real = context.workspace.resolve(at.path, "write")
    content = await file_changes.read_current(context, real)
    if content is None:
        raise ToolFailed(f"{at.path} no longer exists; search for {parsed.symbol} again")
    rows = (await context.navigator.outline(at.path, "tree-sitter")).rows
    _refuse_ambiguous(parsed.symbol, at, rows)
    start, end = await context.navigator.extent(at)
    piece = splice.cut_definition(content, start, end, at.path)
    names = splice.names_in_statement(piece, at, rows) if parsed.action in ("replace", "delete") else ()
    if len(names) > 1:
        raise ToolFailed(f"{', '.join(names[:-1])} and {names[-1]} share one statement; use `edit`")
    match parsed.action:
        case "replace":
            new = piece.replace(parsed.text)
        case "before":
            new = piece.insert_before(parsed.text)
        case "after":
            new = piece.insert_after(parsed.text)
        case "delete":
            if not parsed.force:
                await _refuse_used(parsed.symbol, at, piece, context)
            new = piece.delete(at.path.endswith((".py", ".pyi")))
    edit = WriteFile(real, new, before=digest(content))
    return await file_changes.preview_edits(context, f"{parsed.action} {parsed.symbol}", (edit,))


def _refuse_ambiguous(symbol: str, at: Position, rows: tuple[SymbolRow, ...]) -> None:
    """Refuse a name that is defined more than once in its container, such as a property and its setter."""
    target = next((row for row in rows if (row.line, row.column) == (at.line, at.column)), None)
    if target is None or not isinstance(parse_place(symbol), SymbolPlace):
        return
    same_name = [row for row in rows if (row.name, row.container) == (target.name, target.container)]
    if len(same_name) > 1:
        places = ", ".join(f"{row.path}:{row.line}" for row in same_name)
        raise ToolFailed(
            f"{symbol} is defined {len(same_name)} times: {places}; use such a path:line as `symbol`"
        )


async def _refuse_used(symbol: str, at: Position, piece: splice.DefinitionSlice, context: Context) -> None:
    references = await context.navigator.related("references", at)
    first, last = piece.lines
    users = tuple(row for row in references.rows if row.path != at.path or not first <= row.line <= last)
    if users:
        places = "place" if len(users) == 1 else "places"
        raise ToolFailed(
            f"{symbol} is used in {len(users)} {places}; change these first, or set force to delete it\n"
            + symbol_rows.format_rows(users)
        )


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    body = (("name_path", "symbol"), ("body", "text"), ("relative_path", ""))
    register(
        Tool(
            name="edit_symbol",
            kind="edit",
            description="Replace or delete a whole definition, or add text before or after it.",
            parameters=schema(EditSymbolArguments),
            capabilities=frozenset({"fs.write"}),
            run=partial(file_changes.apply_previewed, preview=preview),
            title=lambda arguments: f"{arguments.get('action', 'edit')} {arguments.get('symbol', '')}",
            preview=preview,
            aliases=(
                Alias("replace_symbol_body", body, (("action", "replace"),)),
                Alias("insert_after_symbol", body, (("action", "after"),)),
                Alias("insert_before_symbol", body, (("action", "before"),)),
            ),
            keywords=("lsp", "function", "class", "method", "insert"),
        )
    )
