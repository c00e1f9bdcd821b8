"""What the navigation tools do before they ask: which paths a call touches, and LilBot's arguments.

How rows of code are told: grouped by file, with the line's text, so that an answer costs a fraction of
reading the files. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from cockpit.navigation.place_resolver import LinePlace, SymbolPlace, parse_place
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview
from cockpit.protocol.code import ProblemRow, ProblemRows, SymbolRow, SymbolRows
from cockpit.protocol.messages import Json

PLACE_ARGUMENTS = ("path", "file_path", "line", "character")


def preview_read(title: str, place: str, context: Context) -> Preview:
    """A preview of a call that reads: the file the place names, if it names one."""
    match parse_place(place):
        case LinePlace(path=path) | SymbolPlace(file=path) if path:
            return Preview(title, paths=(context.workspace.resolve(path, "read"),))
        case _:
            return Preview(title)


def lsp_alias(name: str, always: Mapping[str, Json] | None = None, **renamed: str) -> Alias:
    """LilBot's `lsp_*`: a place in three arguments, where ours is one word. `always` are arguments of
    ours that the name says."""
    dropped = (("file_path", ""), ("line", ""), ("character", ""))
    return Alias(name, (*renamed.items(), *dropped), reshape=partial(_place_to_symbol, always or {}))


def _place_to_symbol(always: Mapping[str, Json], arguments: Arguments) -> Mapping[str, Json]:
    """`path` (or `file_path`), `line`, `character` as `symbol`. Its characters count from 0; where they
    count from 1 after all, the place is still in the name, save for names of one letter."""
    arguments = {**arguments, **always}
    path, line = arguments.get("path") or arguments.get("file_path"), arguments.get("line")
    if not isinstance(path, str) or line is None or "symbol" in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in PLACE_ARGUMENTS}
    character = arguments.get("character")
    column = f":{int(str(character)) + 1}" if character is not None else ""
    return {**rest, "symbol": f"{path}:{int(str(line))}{column}"}


# How a symbol is named, in every tool's schema.
SymbolArgument = Annotated[str, "Class.method, path:Class.method, path:line or path:line:column"]
MAX_ROWS = 100
MAX_ROWS_PER_FILE = 25
MAX_TEXT_WIDTH = 160


def format_head(answer: SymbolRows, what: str) -> str:
    """`3 references (lsp)`, and why there may be more."""
    count = len(answer.rows)
    sources = "+".join(dict.fromkeys(row.source for row in answer.rows))
    said = f"{count} {what}{'' if count == 1 else 's'}{f' ({sources})' if sources else ''}"
    if not answer.complete:
        return f"{said}, maybe not all: {answer.note or 'a better answer is on its way'}"
    return f"{said}; {answer.note}" if answer.note else said


def format_rows(rows: Sequence[SymbolRow], outline: bool = False) -> str:
    """Rows by file: `12: def total(self):`; in an outline with the last line and nested."""
    lines: list[str] = []
    shown = 0
    for path, own in _group_by_file(rows):
        told = list(dict.fromkeys(_format_row(row, outline) for row in own))
        kept = told if outline else told[:MAX_ROWS_PER_FILE]
        kept = kept[: max(0, (5 * MAX_ROWS if outline else MAX_ROWS) - shown)]
        shown += len(kept)
        if kept:
            lines += [path, *kept]
        if kept and len(told) > len(kept):
            lines.append(f"  [{len(told) - len(kept)} more in this file]")
    left = len({row.path for row in rows}) - sum(not line.startswith(" ") for line in lines)
    return "\n".join([*lines, f"[{left} more files; narrow it with a path]"] if left else lines)


def _group_by_file(rows: Iterable[SymbolRow]) -> Iterable[tuple[str, list[SymbolRow]]]:
    files: dict[str, list[SymbolRow]] = {}
    for row in rows:
        files.setdefault(row.path, []).append(row)
    return files.items()


def _format_row(row: SymbolRow, outline: bool) -> str:
    text = row.text if len(row.text) <= MAX_TEXT_WIDTH else row.text[: MAX_TEXT_WIDTH - 1] + "…"
    if not outline:
        return f"  {row.line}: {text or row.name}"
    depth = row.container.count(".") + 1 if row.container else 0
    lines = f"{row.first or row.line}-{row.last}" if row.last > (row.first or row.line) else str(row.line)
    return f"  {'  ' * depth}{lines}: {text or row.name}"


def rows_as_json(rows: Iterable[SymbolRow]) -> list[Json]:
    return [
        {
            "path": row.path,
            "line": row.line,
            "column": row.column,
            "end_line": row.end_line,
            "end_column": row.end_column,
            "name": row.name,
            "kind": row.kind,
            "source": row.source,
        }
        for row in rows
    ]


def answer_as_json(answer: SymbolRows) -> dict[str, Json]:
    """An answer for scripts."""
    return {"results": rows_as_json(answer.rows), "complete": answer.complete, "note": answer.note}


def format_problems(rows: Sequence[ProblemRow]) -> str:
    """Problems by file: `12:5 error: undefined name foo [ty unresolved-reference]`."""
    files: dict[str, list[str]] = {}
    for row in rows[:MAX_ROWS]:
        whose = f"{row.server} {row.code}".strip()
        message = " ".join(row.message.split())[:300]
        files.setdefault(row.path, []).append(
            f"  {row.line}:{row.column} {row.severity}: {message} [{whose}]"
        )
    lines = [line for path, own in files.items() for line in (path, *own)]
    return "\n".join([*lines, f"[{len(rows) - MAX_ROWS} more]"] if len(rows) > MAX_ROWS else lines)


def problems_as_json(answer: ProblemRows) -> dict[str, Json]:
    rows: list[Json] = [
        {
            "path": row.path,
            "line": row.line,
            "column": row.column,
            "severity": row.severity,
            "message": row.message,
            "code": row.code,
            "server": row.server,
        }
        for row in answer.rows
    ]
    return {"results": rows, "complete": answer.complete, "note": answer.note}
