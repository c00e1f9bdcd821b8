"""The two search engines, ripgrep and Python: a `SearchRequest` in, equal `FileHits` out.

Both receive the exact list of files, so that only one place decides which files are ignored.
"""

import base64
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.builtin.tools.search.dialect import TranslatedPattern
from cockpit.builtin.tools.search.scan import INVALID_BYTES
from cockpit.plugin.context import Processes
from cockpit.plugin.tools import ToolFailed
from cockpit.workspace.environment import absolute_search_path

SEARCH_SECONDS = 30.0
ARGV_BYTES = 24_000 if sys.platform == "win32" else 200_000


@dataclass(frozen=True, slots=True)
class HitLine:
    """A line of a file; `column` is where the match starts, from 0, or -1 for a context line."""

    line: int
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class FileHits:
    """The hits of one file: `count` lines match, `rows` are the first of them with their context."""

    path: str
    count: int
    rows: tuple[HitLine, ...]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search over `files`, relative to `root`, in order, with at most `limit` matches per file."""

    pattern: TranslatedPattern
    ignore_case: bool
    context: int
    limit: int
    root: str
    files: tuple[str, ...]


class RipgrepUnavailable(Exception):
    """ripgrep is not installed or cannot run this pattern; the Python engine can."""


async def run_ripgrep(request: SearchRequest, processes: Processes) -> list[FileHits]:
    """Raises `RipgrepUnavailable`."""
    program = shutil.which("rg", path=absolute_search_path(os.environ.get("PATH", os.defpath)))
    if program is None or request.pattern.ripgrep is None:
        raise RipgrepUnavailable
    case = "--ignore-case" if request.ignore_case else "--case-sensitive"
    fixed = ("--no-config", "--json", "--no-messages", "--no-ignore", "--no-mmap", "--crlf", case)
    base = (program, *fixed, f"--context={request.context}", f"--regexp={request.pattern.ripgrep}", "--")
    hits_by_path: dict[str, FileHits] = {}
    for chunk in split_files(request.files):
        pieces: list[str] = []
        ended = await processes.run(
            (*base, *chunk), cwd=request.root, seconds=SEARCH_SECONDS, on_output=pieces.append
        )
        output = "".join(pieces)
        if ended.timed_out:
            message = f"search took longer than {SEARCH_SECONDS:.0f} s; name a smaller `path` or a `glob`"
            raise ToolFailed(message)
        if ended.code > 1 and not output.lstrip().startswith("{"):
            raise RipgrepUnavailable
        hits_by_path |= {hits.path: hits for hits in read_ripgrep(output, request)}
    # ripgrep's threads end in any order.
    return [hits_by_path[path] for path in request.files if path in hits_by_path]


def split_files(files: tuple[str, ...], size: int = ARGV_BYTES) -> Iterator[tuple[str, ...]]:
    """`files` in chunks that fit a command line."""
    chunk: list[str] = []
    used = 0
    for path in files:
        cost = len(os.fsencode(path)) + 9
        if chunk and used + cost > size:
            yield tuple(chunk)
            chunk, used = [], 0
        chunk.append(path)
        used += cost
    if chunk:
        yield tuple(chunk)


def read_ripgrep(output: str, request: SearchRequest) -> Iterator[FileHits]:
    """The hits in the output of `rg --json`, without binary files."""
    rows: dict[str, list[HitLine]] = {}
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        kind, data = message["type"], message["data"]
        path = os.fsdecode(_decode_bytes(data["path"])) if "path" in data else ""
        match kind:
            case "match" | "context":
                rows.setdefault(path, []).append(_parse_line(data, kind == "match"))
            case "end" if data["binary_offset"] is None and path in rows:
                yield _limit_matches(path, rows.pop(path), request)
            case _:
                rows.pop(path, None)


def _parse_line(data: dict[str, Any], is_match: bool) -> HitLine:
    raw = _decode_bytes(data["lines"])
    column = -1
    if is_match:
        start = data["submatches"][0]["start"] if data["submatches"] else 0
        column = len(raw[:start].decode("utf-8", "surrogateescape"))
    text = INVALID_BYTES.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))
    text = text.removesuffix("\n").removesuffix("\r")
    return HitLine(int(data["line_number"]), text, column)


def _limit_matches(path: str, rows: list[HitLine], request: SearchRequest) -> FileHits:
    """Keep the first matches with their context, as `scan.scan_text` does."""
    matches = [row.line for row in rows if row.column >= 0]
    if len(matches) > request.limit:
        end = matches[request.limit - 1] + request.context
        rows = [row for row in rows if row.line <= end]
    return FileHits(path, len(matches), tuple(rows))


def _decode_bytes(data: dict[str, str]) -> bytes:
    return base64.b64decode(data["bytes"]) if "bytes" in data else data["text"].encode()


async def run_python(request: SearchRequest, processes: Processes) -> tuple[list[FileHits], bool]:
    """The hits, and whether the search finished in time."""
    message = {
        "pattern": request.pattern.python,
        "ignore_case": request.ignore_case,
        "context": request.context,
        "limit": request.limit,
        "root": request.root,
        "files": list(request.files),
    }
    program = str(Path(__file__).with_name("scan.py"))
    pieces: list[str] = []
    ended = await processes.run(
        (sys.executable, "-I", "-S", program),
        cwd=request.root,
        stdin=json.dumps(message).encode(),
        seconds=SEARCH_SECONDS,
        on_output=pieces.append,
    )
    output = "".join(pieces)
    lines = [line for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
    if ended.code and not ended.timed_out and not lines:
        raise ToolFailed(f"the search ended with code {ended.code}: {output.strip()[-300:]}")
    hits = [
        FileHits(data["path"], data["count"], tuple(HitLine(*row) for row in data["rows"]))
        for data in map(json.loads, lines)
    ]
    return hits, not ended.timed_out
