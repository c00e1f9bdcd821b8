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

from cockpit.builtin.tools.search.dialect import TranslatedPattern
from cockpit.builtin.tools.search.scan import INVALID_BYTES
from cockpit.plugin.context import Processes
from cockpit.plugin.tools import ToolFailed
from cockpit.workspace.environment import absolute_search_path

SEARCH_SECONDS = 30.0
ARGV_BYTES = 24_000 if sys.platform == "win32" else 200_000


@dataclass(frozen=True, slots=True)
class HitLine:
    """A line of a file; `column` is where the match starts, from 0, and -1 in a line of context."""

    line: int
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class FileHits:
    """`count` lines of `path` match; `rows` are the first of them with their context."""

    path: str
    count: int
    rows: tuple[HitLine, ...]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search: over `files`, relative to `root`, in order."""

    dialect: TranslatedPattern
    ignore_case: bool
    context: int
    most: int
    root: str
    files: tuple[str, ...]


class RipgrepUnavailable(Exception):
    """ripgrep is absent or does not take this pattern; the other engine can."""


async def run_ripgrep(asked: SearchRequest, processes: Processes) -> list[FileHits]:
    """Raises `RipgrepRefused`."""
    program = shutil.which("rg", path=absolute_search_path(os.environ.get("PATH", os.defpath)))
    if program is None or asked.dialect.ripgrep is None:
        raise RipgrepUnavailable
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
    for chunk in split_files(asked.files):
        pieces: list[str] = []
        ended = await processes.run(
            (*base, *chunk), cwd=asked.root, seconds=SEARCH_SECONDS, on_output=pieces.append
        )
        output = "".join(pieces)
        if ended.timed_out:
            raise ToolFailed(
                f"search took longer than {SEARCH_SECONDS:.0f} s; name a smaller `path` or a `glob`"
            )
        if ended.code > 1 and not output.lstrip().startswith("{"):
            raise RipgrepUnavailable
        found |= {hits.path: hits for hits in read_ripgrep(output, asked)}
    # Its threads end in any order.
    return [found[path] for path in asked.files if path in found]


def split_files(files: tuple[str, ...], size: int = ARGV_BYTES) -> Iterator[tuple[str, ...]]:
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


def read_ripgrep(output: str, asked: SearchRequest) -> Iterator[FileHits]:
    """The hits in what `rg --json` wrote; binary files are left out."""
    rows: dict[str, list[HitLine]] = {}
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        path = _decode_path(said["data"]["path"]) if "path" in said["data"] else ""
        match said["type"]:
            case "match" | "context":
                rows.setdefault(path, []).append(_parse_line(said["data"], said["type"] == "match"))
            case "end" if said["data"]["binary_offset"] is None and path in rows:
                yield _limit_matches(path, rows.pop(path), asked)
            case _:
                rows.pop(path, None)


def _parse_line(said: dict[str, Any], is_match: bool) -> HitLine:
    raw = _decode_bytes(said["lines"])
    column = -1
    if is_match:
        start = said["submatches"][0]["start"] if said["submatches"] else 0
        column = len(raw[:start].decode("utf-8", "surrogateescape"))
    text = INVALID_BYTES.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))
    text = text.removesuffix("\n").removesuffix("\r")
    return HitLine(int(said["line_number"]), text, column)


def _limit_matches(path: str, rows: list[HitLine], asked: SearchRequest) -> FileHits:
    """The first matches with the context that is theirs, as `scan.scan` has it."""
    matches = [row.line for row in rows if row.column >= 0]
    if len(matches) > asked.most:
        end = matches[asked.most - 1] + asked.context
        rows = [row for row in rows if row.line <= end]
    return FileHits(path, len(matches), tuple(rows))


def _decode_bytes(said: dict[str, str]) -> bytes:
    return base64.b64decode(said["bytes"]) if "bytes" in said else said["text"].encode()


def _decode_path(said: dict[str, str]) -> str:
    return os.fsdecode(_decode_bytes(said)) if "bytes" in said else said["text"]


async def run_python(asked: SearchRequest, processes: Processes) -> tuple[list[FileHits], bool]:
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
        seconds=SEARCH_SECONDS,
        on_output=pieces.append,
    )
    output = "".join(pieces)
    lines = [line for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
    if ended.code and not ended.timed_out and not lines:
        raise ToolFailed(f"the search ended with code {ended.code}: {output.strip()[-300:]}")
    return [_parse_hits(json.loads(line)) for line in lines], not ended.timed_out


def _parse_hits(said: dict[str, Any]) -> FileHits:
    rows = tuple(HitLine(line, text, column) for line, text, column in said["rows"])
    return FileHits(said["path"], said["count"], rows)
