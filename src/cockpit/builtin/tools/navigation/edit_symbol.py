"""`edit_symbol`: replace, delete, or add beside, a whole definition. Where it begins and ends is found by its
name, so that no text of it must be repeated."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.tools import file_changes
from cockpit.builtin.tools.navigation import shared, splice
from cockpit.navigation.place_resolver import SymbolPlace, parse_place
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import Position
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.code import SymbolRow
from cockpit.workspace.files.changes import digest


@dataclass(frozen=True, slots=True)
class EditSymbolArguments:
    symbol: shared.SymbolArgument
    action: Annotated[Literal["replace", "before", "after", "delete"], "of the whole definition"]
    text: Annotated[str, "the new definition"] = ""
    force: Annotated[bool, "delete although it is used"] = False


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(EditSymbolArguments, arguments)
    if wanted.action != "delete" and not wanted.text.strip():
        raise ToolFailed(f"`text` is empty; write what to {wanted.action}, or use the action delete")
    at = await context.navigator.locate(wanted.symbol)
    real = context.workspace.resolve(at.path, "write")
    content = await file_changes.read_current(context, real)
    if content is None:
        raise ToolFailed(f"{at.path} is gone; look for {wanted.symbol} again")
    rows = (await context.navigator.outline(at.path, "tree-sitter")).rows
    _refuse_ambiguous(wanted.symbol, at, rows)
    start, end = await context.navigator.extent(at)
    piece = splice.cut_definition(content, start, end, at.path)
    if wanted.action in ("replace", "delete"):
        _refuse_shared(at, rows, piece)
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
    return await file_changes.preview_edits(context, title, (edit,))


def _refuse_ambiguous(symbol: str, at: Position, rows: tuple[SymbolRow, ...]) -> None:
    """A name that is defined more than once where it stands (a property and its setter, overloads, the arms
    of an `if`) says not which is meant. Raises `ToolFailed`."""
    if not isinstance(parse_place(symbol), SymbolPlace):
        return
    meant = next((row for row in rows if (row.line, row.column) == (at.line, at.column)), None)
    if meant is None:
        return
    twins = [row for row in rows if (row.name, row.container) == (meant.name, meant.container)]
    if len(twins) > 1:
        places = ", ".join(f"{row.path}:{row.line}" for row in twins)
        raise ToolFailed(f"{symbol} is defined {len(twins)} times: {places}; name the one you mean like that")


def _refuse_shared(at: Position, rows: tuple[SymbolRow, ...], piece: splice.DefinitionSlice) -> None:
    """A statement that defines others, too, is no definition of one of them. Raises `ToolFailed`."""
    found = splice.names_in_statement(piece, at, rows)
    if len(found) > 1:
        listed = f"{', '.join(found[:-1])} and {found[-1]}"
        raise ToolFailed(f"{listed} share one statement; use `edit`")


async def _refuse_used(symbol: str, at: Position, piece: splice.DefinitionSlice, context: Context) -> None:
    """Raises `ToolFailed` with the list of users, when there are any."""
    found = await context.navigator.related("references", at)
    first, last = piece.lines
    users = tuple(row for row in found.rows if not _is_inside(row, at, first, last))
    if users:
        places = "place" if len(users) == 1 else "places"
        raise ToolFailed(
            f"{symbol} is used in {len(users)} {places}; change these first, or set force to delete it\n"
            + shared.format_rows(users)
        )


def _is_inside(row: SymbolRow, at: Position, first: int, last: int) -> bool:
    return row.path == at.path and first <= row.line <= last


async def run(arguments: Arguments, context: Context) -> Done:
    return await file_changes.apply_previewed(arguments, context, preview)


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
            parameters=schema(EditSymbolArguments),
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
