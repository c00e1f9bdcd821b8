"""Shared parts of the navigation tools: the symbol argument and its aliases, previews, and formatted rows.

Rows are grouped by file and show the text of their line, which is far shorter than the files.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from cockpit.navigation.place_resolver import LinePlace, SymbolPlace, parse_place
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview
from cockpit.protocol.code import ProblemRow, ProblemRows, SymbolRow, SymbolRows
from cockpit.protocol.messages import Json

PLACE_ARGUMENTS = ("path", "file_path", "line", "character")


def symbol_title(verb: str) -> Callable[[Arguments], str]:
    """The title of a call with the argument `symbol`."""
    return lambda arguments: f"{verb} {arguments.get('symbol', '')}"


def preview_symbol(verb: str) -> Callable[[Arguments, Context], Awaitable[Preview]]:
    """The preview of a call that only reads: it touches the file that `symbol` names, if any."""

    async def preview(arguments: Arguments, context: Context) -> Preview:
        symbol = str(arguments.get("symbol", ""))
        match parse_place(symbol):
            case LinePlace(path=path) | SymbolPlace(file=path) if path:
                return Preview(f"{verb} {symbol}", paths=(context.workspace.resolve(path, "read"),))
            case _:
                return Preview(f"{verb} {symbol}")

    return preview


def lsp_alias(name: str, always: Mapping[str, Json] | None = None, **renamed: str) -> Alias:
    """An alias for an LSP tool of other agents, which name a place by path, line and character instead of a
    symbol. `always` are arguments that the name implies."""
    dropped = (("file_path", ""), ("line", ""), ("character", ""))
    return Alias(name, (*renamed.items(), *dropped), reshape=partial(_place_to_symbol, always or {}))


def _place_to_symbol(always: Mapping[str, Json], arguments: Arguments) -> Mapping[str, Json]:
    """Turn `path` (or `file_path`), `line` and `character` into `symbol`. `character` counts from 0. For a
    caller that counts from 1 the place is still inside most names."""
    arguments = {**arguments, **always}
    path, line = arguments.get("path") or arguments.get("file_path"), arguments.get("line")
    if not isinstance(path, str) or line is None or "symbol" in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in PLACE_ARGUMENTS}
    character = arguments.get("character")
    column = f":{int(str(character)) + 1}" if character is not None else ""
    return {**rest, "symbol": f"{path}:{int(str(line))}{column}"}


# The schema of every tool describes the symbol argument so.
SymbolArgument = Annotated[str, "Class.method, path:Class.method, path:line or path:line:column"]
MAX_ROWS = 100
MAX_ROWS_PER_FILE = 25
MAX_TEXT_WIDTH = 160


def format_head(answer: SymbolRows, noun: str) -> str:
    """`3 references (lsp)`, with a note if the answer may be incomplete."""
    count = len(answer.rows)
    sources = "+".join(dict.fromkeys(row.source for row in answer.rows))
    head = f"{count} {noun}{'' if count == 1 else 's'}{f' ({sources})' if sources else ''}"
    if not answer.complete:
        return f"{head}, maybe not all: {answer.note or 'a more complete answer is being computed'}"
    return f"{head}; {answer.note}" if answer.note else head


def format_rows(rows: Sequence[SymbolRow], outline: bool = False) -> str:
    """Rows by file, like `12: def total(self):`; an outline is nested and shows line ranges."""
    lines: list[str] = []
    shown = 0
    files: dict[str, list[SymbolRow]] = {}
    for row in rows:
        files.setdefault(row.path, []).append(row)
    for path, rows_of_file in files.items():
        lines_of_file = list(dict.fromkeys(_format_row(row, outline) for row in rows_of_file))
        selected = lines_of_file if outline else lines_of_file[:MAX_ROWS_PER_FILE]
        selected = selected[: max(0, (5 * MAX_ROWS if outline else MAX_ROWS) - shown)]
        shown += len(selected)
        if selected:
            lines += [path, *selected]
        if selected and len(lines_of_file) > len(selected):
            lines.append(f"  [{len(lines_of_file) - len(selected)} more in this file]")
    left = len(files) - sum(not line.startswith(" ") for line in lines)
    return "\n".join([*lines, f"[{left} more files; narrow it with a path]"] if left else lines)


def _format_row(row: SymbolRow, outline: bool) -> str:
    text = row.text if len(row.text) <= MAX_TEXT_WIDTH else row.text[: MAX_TEXT_WIDTH - 1] + "…"
    if not outline:
        return f"  {row.line}: {text or row.name}"
    depth = row.container.count(".") + 1 if row.container else 0
    lines = f"{row.first or row.line}-{row.last}" if row.last > (row.first or row.line) else str(row.line)
    return f"  {'  ' * depth}{lines}: {text or row.name}"


def rows_as_json(rows: Iterable[SymbolRow]) -> list[Json]:
    keys = ("path", "line", "column", "end_line", "end_column", "name", "kind", "source")
    return [{key: getattr(row, key) for key in keys} for row in rows]


def answer_as_json(answer: SymbolRows) -> dict[str, Json]:
    """The answer as the data of a tool result."""
    return {"results": rows_as_json(answer.rows), "complete": answer.complete, "note": answer.note}


def format_problems(rows: Sequence[ProblemRow]) -> str:
    """Problems by file: `12:5 error: undefined name foo [ty unresolved-reference]`."""
    files: dict[str, list[str]] = {}
    for row in rows[:MAX_ROWS]:
        origin = f"{row.server} {row.code}".strip()
        message = " ".join(row.message.split())[:300]
        line = f"  {row.line}:{row.column} {row.severity}: {message} [{origin}]"
        files.setdefault(row.path, []).append(line)
    lines = [line for path, problems in files.items() for line in (path, *problems)]
    return "\n".join([*lines, f"[{len(rows) - MAX_ROWS} more]"] if len(rows) > MAX_ROWS else lines)


def problems_as_json(answer: ProblemRows) -> dict[str, Json]:
    keys = ("path", "line", "column", "severity", "message", "code", "server")
    rows: list[Json] = [{key: getattr(row, key) for key in keys} for row in answer.rows]
    return {"results": rows, "complete": answer.complete, "note": answer.note}
