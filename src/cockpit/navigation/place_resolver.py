"""From a place as a user or model writes it to a position in a file.

Forms: `file:line:column`, `file:line`, `file:Class.method`, `Class.method`. An unknown place is refused with
similar names.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from cockpit.navigation import query_router, text_search
from cockpit.navigation.backends import Backends
from cockpit.plugin.navigation import PlaceAmbiguous, PlaceUnknown, Position
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import SymbolRow
from cockpit.suggestions import closest_names

LINE_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")
SYMBOL_PATH = re.compile(r"[^\W\d][\w$]*[!?]?(?:(?:\.|::|#)~?[^\W\d][\w$]*[!?]?)*")
SYMBOL_IN_FILE = re.compile(r"(?P<path>.*[^:]):(?P<symbol>[^:\\/].*(?:::.*)?)")
KEYWORD = re.compile(
    r"def|class|async|await|return|if|elif|else|for|while|with|as|import|from|in|is|not|and|or"
    r"|lambda|yield|function|func|fn|let|const|var|export|default|public|private|protected|static"
    r"|final|abstract|struct|enum|trait|impl|interface|type|pub|mut|unsafe|inline|extern|void|int"
    r"|new|package|use|mod|self|this|virtual|override|readonly|declare|namespace|template"
    r"|typename|auto"
)
MAX_LISTED = 8
INDEX_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class LinePlace:
    """A line of a file; `column` 0 means the first symbol on it."""

    path: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A symbol by its path, `Class.method`; `file` narrows the search (empty: anywhere)."""

    name: str
    file: str = ""

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def path(self) -> str:
        return f"{self.file}:{self.name}" if self.file else self.name


WrittenPlace: TypeAlias = LinePlace | SymbolPlace


def parse_place(place: str) -> WrittenPlace | None:
    """Parse `place`; None if it has none of the forms."""
    text = place.strip().strip("`")
    if (match := LINE_PLACE.fullmatch(text)) is not None:
        return LinePlace(match["path"], int(match["line"][:9]), int((match["column"] or "0")[:9]))
    if SYMBOL_PATH.fullmatch(text):
        return SymbolPlace(_normalize_symbol(text))
    match = SYMBOL_IN_FILE.fullmatch(text)
    # `C:\app.py` is a file on a drive, not the symbol `\app.py` in a file `C`.
    if match is not None and SYMBOL_PATH.fullmatch(match["symbol"]):
        return SymbolPlace(_normalize_symbol(match["symbol"]), match["path"])
    return None


def _normalize_symbol(name: str) -> str:
    return name.replace("::", ".").replace("#", ".")


def find_first_name(line: str) -> int:
    """The column (from 1) of the first name on a line that is not a keyword; 0 if there is none."""
    for match in re.finditer(r"[^\W\d][\w$]*", line):
        if not KEYWORD.fullmatch(match[0]):
            return match.start() + 1
    return 0


async def resolve_place(live: Backends, workspace: Workspace, place: str) -> Position:
    """The position of `place`. Raises `PlaceUnknown` and `PlaceAmbiguous`."""
    match parse_place(place):
        case LinePlace() as line_place:
            return await _resolve_line(live, workspace, line_place)
        case SymbolPlace() as symbol_place:
            return await _resolve_symbol(live, workspace, symbol_place)
        case None:
            raise PlaceUnknown(
                f"invalid place {place!r}", "write file:line:column, file:Class.method, or a symbol's name"
            )


async def read_lines(workspace: Workspace, path: str) -> list[str]:
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


async def _resolve_line(live: Backends, workspace: Workspace, point: LinePlace) -> Position:
    lines = await read_lines(workspace, point.path)
    if not 0 < point.line <= len(lines):
        raise PlaceUnknown(f"{point.path} has no line {point.line}, it has {len(lines)}")
    line = lines[point.line - 1]
    path = await _relative_path(workspace, point.path)
    if point.column:
        return Position(path, point.line, min(point.column, len(line) + 1))
    rows = (await query_router.find_outline(live, workspace, path, "tree-sitter")).rows
    columns = [row.column for row in rows if row.line == point.line]
    column = min(columns) if columns else find_first_name(line)
    if not column:
        raise PlaceUnknown(f"no symbol on line {point.line} of {point.path}", "add the column")
    return Position(path, point.line, column)


async def _resolve_symbol(live: Backends, workspace: Workspace, symbol: SymbolPlace) -> Position:
    rows = await _find_candidates(live, workspace, symbol)
    if not rows:
        raise await _unknown_symbol_error(live, workspace, symbol)
    # Overloads, a property and its setter, both branches of an `if`: one symbol, defined several times.
    definitions = {(row.path, row.container): row for row in reversed(rows)}
    exact = [row for row in definitions.values() if _qualified_name(row) == symbol.name]
    # Within a file a bare name means the top-level symbol, whichever classes have a member of that name.
    if symbol.file and len(exact) == 1:
        return Position(exact[0].path, exact[0].line, exact[0].column)
    bodies = [row for row in definitions.values() if not _is_header(row.path)]
    if len(bodies) == 1 and all(_is_prototype(row) for row in definitions.values() if row not in bodies):
        return Position(bodies[0].path, bodies[0].line, bodies[0].column)
    if len(definitions) > 1:
        candidates = tuple(row for row in rows if row in definitions.values())
        listed = ", ".join(f"{row.path}:{row.line}" for row in candidates[:MAX_LISTED])
        more = f" and {len(candidates) - MAX_LISTED} more" if len(candidates) > MAX_LISTED else ""
        text = f"{symbol.name} is defined {len(candidates)} times: {listed}{more}"
        raise PlaceAmbiguous(text, candidates)
    return Position(rows[0].path, rows[0].line, rows[0].column)


async def _find_candidates(
    live: Backends, workspace: Workspace, symbol: SymbolPlace
) -> tuple[SymbolRow, ...]:
    if symbol.file:
        await read_lines(workspace, symbol.file)
        path = await _relative_path(workspace, symbol.file)
        outline = await query_router.find_outline(live, workspace, path, "tree-sitter")
        return tuple(row for row in outline.rows if _matches(row, symbol.name))
    rows: tuple[SymbolRow, ...] = ()
    if live.index is not None:
        # An incomplete index may know one of two definitions: the right one is worth a short wait.
        await live.index.whole(INDEX_SECONDS)
        rows = await live.index.named(symbol.name)
    if not rows and live.servers is not None and query_router.has_ready_server(live):
        answer = await query_router.find_symbols(
            live, workspace, symbol.last, "", "lsp", query_router.READY_SECONDS
        )
        rows = tuple(row for row in answer.rows if _matches(row, symbol.name))
    return rows or tuple(
        row for row in await text_search.find_named(workspace, symbol.last) if _matches(row, symbol.name)
    )


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hh", ".hpp", ".hxx", ".h++"))


def _is_prototype(row: SymbolRow) -> bool:
    """Whether a row of a C header only declares what a source file defines."""
    return _is_header(row.path) and row.kind in ("function", "method") and "{" not in row.text


def _matches(row: SymbolRow, name: str) -> bool:
    """Whether a definition has this name and, for `Class.method`, this container."""
    container, _, last = name.rpartition(".")
    return row.name == last and (not container or f".{row.container}".endswith(f".{container}"))


async def _unknown_symbol_error(live: Backends, workspace: Workspace, symbol: SymbolPlace) -> PlaceUnknown:
    if symbol.file:
        path = await _relative_path(workspace, symbol.file)
        known = await query_router.find_outline(live, workspace, path, "tree-sitter")
    else:
        known = await query_router.find_symbols(live, workspace, symbol.last[:3], "", "tree-sitter", 0.0)
    names = {row.name: row for row in known.rows}
    similar = [names[name] for name in closest_names(symbol.last, names, limit=5, cutoff=0.5)]
    listed = ", ".join(f"{_qualified_name(row)} ({row.path}:{row.line})" for row in similar)
    where = f" in {symbol.file}" if symbol.file else ""
    return PlaceUnknown(f"no symbol {symbol.name} is defined{where}", f"similar: {listed}" if listed else "")


def _qualified_name(row: SymbolRow) -> str:
    return f"{row.container}.{row.name}" if row.container else row.name


async def _relative_path(workspace: Workspace, path: str) -> str:
    """The path of an existing file, relative to the root with `/`."""
    return (await workspace.files.stat(path)).path
