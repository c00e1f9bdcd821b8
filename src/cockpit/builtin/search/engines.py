"""The two engines behind one function: files and a pattern in, hits out, equal from both.

Both are told exactly which files to look at, so that what is ignored is decided in one place.
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

from cockpit.builtin.search.dialect import Dialect
from cockpit.builtin.search.scan import BROKEN
from cockpit.plugin.context import Processes
from cockpit.plugin.tools import ToolFailed
from cockpit.workspace.environment import search_path

SECONDS = 30.0
ARGV_BYTES = 24_000 if sys.platform == "win32" else 200_000


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file; `column` is where the match starts, from 0, and -1 in a line of context."""

    line: int
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class FileHits:
    """`count` lines of `path` match; `rows` are the first of them with their context."""

    path: str
    count: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One search: over `files`, relative to `root`, in order."""

    dialect: Dialect
    ignore_case: bool
    context: int
    most: int
    root: str
    files: tuple[str, ...]


class RipgrepRefused(Exception):
    """ripgrep is absent or does not take this pattern; the other engine can."""


async def ripgrep(asked: Asked, processes: Processes) -> list[FileHits]:
    """Raises `RipgrepRefused`."""
    program = shutil.which("rg", path=search_path(os.environ.get("PATH", os.defpath)))
    if program is None or asked.dialect.ripgrep is None:
        raise RipgrepRefused
    base = (
        program,
        "--no-config",
        "--json",
        "--no-messages",
        "--no-ignore",
        "--no-mmap",
        "--crlf",
        "--ignore-case" if asked.ignore_case else "--case-sensitive",
        f"--context={asked.context}",
        f"--regexp={asked.dialect.ripgrep}",
        "--",
    )
    found: dict[str, FileHits] = {}
    for chunk in chunks(asked.files):
        pieces: list[str] = []
        ended = await processes.run((*base, *chunk), cwd=asked.root, seconds=SECONDS, on_output=pieces.append)
        output = "".join(pieces)
        if ended.timed_out:
            raise ToolFailed(f"search took longer than {SECONDS:.0f} s; name a smaller `path` or a `glob`")
        if ended.code > 1 and not output.lstrip().startswith("{"):
            raise RipgrepRefused
        found |= {hits.path: hits for hits in read_ripgrep(output, asked)}
    # Its threads end in any order.
    return [found[path] for path in asked.files if path in found]


def chunks(files: tuple[str, ...], size: int = ARGV_BYTES) -> Iterator[tuple[str, ...]]:
    """`files` in runs that fit a command line."""
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


def read_ripgrep(output: str, asked: Asked) -> Iterator[FileHits]:
    """The hits in what `rg --json` wrote; binary files are left out."""
    rows: dict[str, list[Row]] = {}
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        path = _text(said["data"]["path"]) if "path" in said["data"] else ""
        match said["type"]:
            case "match" | "context":
                rows.setdefault(path, []).append(_row(said["data"], said["type"] == "match"))
            case "end" if said["data"]["binary_offset"] is None and path in rows:
                yield _cut(path, rows.pop(path), asked)
            case _:
                rows.pop(path, None)


def _row(said: dict[str, Any], is_match: bool) -> Row:
    raw = _bytes(said["lines"])
    column = -1
    if is_match:
        start = said["submatches"][0]["start"] if said["submatches"] else 0
        column = len(raw[:start].decode("utf-8", "surrogateescape"))
    text = BROKEN.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))
    text = text.removesuffix("\n").removesuffix("\r")
    return Row(int(said["line_number"]), text, column)


def _cut(path: str, rows: list[Row], asked: Asked) -> FileHits:
    """The first matches with the context that is theirs, as `scan.scan` has it."""
    matches = [row.line for row in rows if row.column >= 0]
    if len(matches) > asked.most:
        end = matches[asked.most - 1] + asked.context
        rows = [row for row in rows if row.line <= end]
    return FileHits(path, len(matches), tuple(rows))


def _bytes(said: dict[str, str]) -> bytes:
    return base64.b64decode(said["bytes"]) if "bytes" in said else said["text"].encode()


def _text(said: dict[str, str]) -> str:
    return os.fsdecode(_bytes(said)) if "bytes" in said else said["text"]


async def python(asked: Asked, processes: Processes) -> tuple[list[FileHits], bool]:
    """The hits, and whether it got to the end in time."""
    message = {
        "pattern": asked.dialect.python,
        "ignore_case": asked.ignore_case,
        "context": asked.context,
        "most": asked.most,
        "root": asked.root,
        "files": list(asked.files),
    }
    program = str(Path(__file__).with_name("scan.py"))
    pieces: list[str] = []
    ended = await processes.run(
        (sys.executable, "-I", "-S", program),
        cwd=asked.root,
        stdin=json.dumps(message).encode(),
        seconds=SECONDS,
        on_output=pieces.append,
    )
    output = "".join(pieces)
    lines = [line for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
    if ended.code and not ended.timed_out and not lines:
        raise ToolFailed(f"the search ended with code {ended.code}: {output.strip()[-300:]}")
    return [_hits(json.loads(line)) for line in lines], not ended.timed_out


def _hits(said: dict[str, Any]) -> FileHits:
    rows = tuple(Row(line, text, column) for line, text, column in said["rows"])
    return FileHits(said["path"], said["count"], rows)
