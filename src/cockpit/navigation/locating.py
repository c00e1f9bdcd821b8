"""From a place as written to a position: the file, the line, the symbol. Refuses with what comes near."""

from difflib import get_close_matches

from cockpit.navigation import asking, text
from cockpit.navigation.life import Sources
from cockpit.navigation.places import Named, Point, first_name, read
from cockpit.plugin.navigation import PlaceAmbiguous, PlaceUnknown, Position
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import SymbolRow

SHOWN = 8
PATIENCE = 2.0


async def located(live: Sources, workspace: Workspace, place: str) -> Position:
    """Raises `PlaceUnknown` and `PlaceAmbiguous`."""
    wanted = read(place)
    match wanted:
        case Point():
            return await _of_point(live, workspace, wanted)
        case Named():
            return await _of_name(live, workspace, wanted)
        case None:
            raise PlaceUnknown(
                f"{place!r} is no place", "write file:line:column, file:Class.method, or a symbol's name"
            )


async def lines_of(workspace: Workspace, path: str) -> list[str]:
    """The lines of a file. Raises `PlaceUnknown`."""
    try:
        raw = await workspace.files.read(path)
    except PathRefused as error:
        raise PlaceUnknown(str(error)) from error
    except IsADirectoryError as error:
        raise PlaceUnknown(f"{path} is a folder", "name a file in it") from error
    except OSError as error:
        raise PlaceUnknown(f"there is no file {path}", "name it relative to the root") from error
    return raw.decode("utf-8", "replace").split("\n")


async def _of_point(live: Sources, workspace: Workspace, point: Point) -> Position:
    lines = await lines_of(workspace, point.path)
    if not 0 < point.line <= len(lines):
        raise PlaceUnknown(f"{point.path} has no line {point.line}, it has {len(lines)}")
    line = lines[point.line - 1]
    path = await _relative(workspace, point.path)
    if point.column:
        return Position(path, point.line, min(point.column, len(line) + 1))
    rows = (await asking.outline(live, workspace, path, "tree-sitter")).rows
    columns = [row.column for row in rows if row.line == point.line]
    column = min(columns) if columns else first_name(line)
    if not column:
        raise PlaceUnknown(f"no symbol stands on line {point.line} of {point.path}", "name its column too")
    return Position(path, point.line, column)


async def _of_name(live: Sources, workspace: Workspace, wanted: Named) -> Position:
    rows = await _named(live, workspace, wanted)
    if not rows:
        raise await _unknown(live, workspace, wanted)
    # Overloads, a property and its setter, both arms of an `if`: one symbol, defined more than once.
    places = {(row.path, row.container): row for row in reversed(rows)}
    exact = [row for row in places.values() if _shown(row) == wanted.name]
    # In a file a name without a class means the one at its top, whatever else has a member of that name.
    if wanted.file and len(exact) == 1:
        return Position(exact[0].path, exact[0].line, exact[0].column)
    bodies = [row for row in places.values() if not _is_header(row.path)]
    if len(bodies) == 1 and all(_is_prototype(row) for row in places.values() if row not in bodies):
        return Position(bodies[0].path, bodies[0].line, bodies[0].column)
    if len(places) > 1:
        candidates = tuple(row for row in rows if row in places.values())
        listed = ", ".join(f"{row.path}:{row.line}" for row in candidates[:SHOWN])
        more = f" and {len(candidates) - SHOWN} more" if len(candidates) > SHOWN else ""
        text = f"{wanted.name} is defined {len(candidates)} times: {listed}{more}"
        raise PlaceAmbiguous(text, candidates)
    return Position(rows[0].path, rows[0].line, rows[0].column)


async def _named(live: Sources, workspace: Workspace, wanted: Named) -> tuple[SymbolRow, ...]:
    if wanted.file:
        await lines_of(workspace, wanted.file)
        path = await _relative(workspace, wanted.file)
        outline = await asking.outline(live, workspace, path, "tree-sitter")
        return tuple(row for row in outline.rows if _fits(row, wanted.name))
    rows: tuple[SymbolRow, ...] = ()
    if live.index is not None:
        # A half-read index may know one of two: what a name means is worth a moment.
        await live.index.whole(PATIENCE)
        rows = await live.index.named(wanted.name)
    if not rows and live.servers is not None and asking.is_ready(live):
        found = await asking.symbols(live, workspace, wanted.last, "", "lsp", asking.READY_SECONDS)
        rows = tuple(row for row in found.rows if _fits(row, wanted.name))
    if not rows:
        rows = tuple(row for row in await text.named(workspace, wanted.last) if _fits(row, wanted.name))
    return rows


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hh", ".hpp", ".hxx", ".h++"))


def _is_prototype(row: SymbolRow) -> bool:
    """Whether a row of a C header only declares what a source file defines."""
    return _is_header(row.path) and row.kind in ("function", "method") and "{" not in row.text


def _fits(row: SymbolRow, name: str) -> bool:
    """Whether a definition is `Class.method`: the name, and the end of what it stands in."""
    above, _, last = name.rpartition(".")
    if row.name != last:
        return False
    return not above or f".{row.container}".endswith(f".{above}")


async def _unknown(live: Sources, workspace: Workspace, wanted: Named) -> PlaceUnknown:
    if wanted.file:
        path = await _relative(workspace, wanted.file)
        found = (await asking.outline(live, workspace, path, "tree-sitter")).rows
    else:
        found = (await asking.symbols(live, workspace, wanted.last[:3], "", "tree-sitter", 0.0)).rows
    names = {row.name: row for row in found}
    near = [names[name] for name in get_close_matches(wanted.last, list(names), 5, 0.5)]
    hint = "near: " + ", ".join(f"{_shown(row)} ({row.path}:{row.line})" for row in near) if near else ""
    where = f" in {wanted.file}" if wanted.file else ""
    return PlaceUnknown(f"no symbol {wanted.name} is defined{where}", hint)


def _shown(row: SymbolRow) -> str:
    return f"{row.container}.{row.name}" if row.container else row.name


async def _relative(workspace: Workspace, path: str) -> str:
    """How a file that is there is called: relative to the root with `/`."""
    return (await workspace.files.stat(path)).path
