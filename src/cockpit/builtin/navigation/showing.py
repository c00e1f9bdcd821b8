"""How rows of code are told: grouped by file, with the line's text, so that an answer costs a fraction of
reading the files. Pure."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from cockpit.protocol.code import ProblemRow, ProblemRows, SymbolRow, SymbolRows
from cockpit.protocol.messages import Json

# How a symbol is named, in every tool's schema.
Symbol = Annotated[str, "Class.method, path:Class.method, path:line or path:line:column"]
MOST = 100
MOST_OF_FILE = 25
WIDTH = 160


def head(answer: SymbolRows, what: str) -> str:
    """`3 references (lsp)`, and why there may be more."""
    count = len(answer.rows)
    sources = "+".join(dict.fromkeys(row.source for row in answer.rows))
    said = f"{count} {what}{'' if count == 1 else 's'}{f' ({sources})' if sources else ''}"
    if not answer.complete:
        return f"{said}, maybe not all: {answer.note or 'a better answer is on its way'}"
    return f"{said}; {answer.note}" if answer.note else said


def grouped(rows: Sequence[SymbolRow], outline: bool = False) -> str:
    """Rows by file: `12: def total(self):`; in an outline with the last line and nested."""
    lines: list[str] = []
    shown = 0
    for path, own in _by_file(rows):
        told = list(dict.fromkeys(_line(row, outline) for row in own))
        kept = told if outline else told[:MOST_OF_FILE]
        kept = kept[: max(0, (5 * MOST if outline else MOST) - shown)]
        shown += len(kept)
        if kept:
            lines += [path, *kept]
        if kept and len(told) > len(kept):
            lines.append(f"  [{len(told) - len(kept)} more in this file]")
    left = len({row.path for row in rows}) - sum(not line.startswith(" ") for line in lines)
    return "\n".join([*lines, f"[{left} more files; narrow it with a path]"] if left else lines)


def _by_file(rows: Iterable[SymbolRow]) -> Iterable[tuple[str, list[SymbolRow]]]:
    files: dict[str, list[SymbolRow]] = {}
    for row in rows:
        files.setdefault(row.path, []).append(row)
    return files.items()


def _line(row: SymbolRow, outline: bool) -> str:
    text = row.text if len(row.text) <= WIDTH else row.text[: WIDTH - 1] + "…"
    if not outline:
        return f"  {row.line}: {text or row.name}"
    depth = row.container.count(".") + 1 if row.container else 0
    lines = f"{row.first or row.line}-{row.last}" if row.last > (row.first or row.line) else str(row.line)
    return f"  {'  ' * depth}{lines}: {text or row.name}"


def as_json(rows: Iterable[SymbolRow]) -> list[Json]:
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


def told(answer: SymbolRows) -> dict[str, Json]:
    """An answer for scripts."""
    return {"results": as_json(answer.rows), "complete": answer.complete, "note": answer.note}


def problems(rows: Sequence[ProblemRow]) -> str:
    """Problems by file: `12:5 error: undefined name foo [ty unresolved-reference]`."""
    files: dict[str, list[str]] = {}
    for row in rows[:MOST]:
        whose = f"{row.server} {row.code}".strip()
        message = " ".join(row.message.split())[:300]
        files.setdefault(row.path, []).append(
            f"  {row.line}:{row.column} {row.severity}: {message} [{whose}]"
        )
    lines = [line for path, own in files.items() for line in (path, *own)]
    return "\n".join([*lines, f"[{len(rows) - MOST} more]"] if len(rows) > MOST else lines)


def problems_told(answer: ProblemRows) -> dict[str, Json]:
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
