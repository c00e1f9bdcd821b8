"""`read_result`: pages through and searches a result that was too long for the conversation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context, Results
from cockpit.plugin.tools import Cap, Done, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

PAGE_SIZE = 20_000
SCAN_SIZE = 200_000
MAX_HITS = 100
MAX_LINE = 240


@dataclass(frozen=True, slots=True)
class ReadResult:
    handle: str
    cursor: Annotated[int, "where to continue; negative counts from the end"] = 0
    find: Annotated[str, "only lines that contain this text"] = ""


async def read_result(arguments: ReadResult, context: Context) -> Done:
    results = context.session.results
    try:
        if arguments.find:
            return _find_lines(arguments, results)
        start = arguments.cursor
        if start < 0:
            start = max(0, results.page(arguments.handle, 0, 1)[2] + start)
        text, next_cursor, total = results.page(arguments.handle, start, PAGE_SIZE)
    except KeyError as error:
        raise ToolFailed(
            f"unknown result {arguments.handle!r}; use the handle that a long result names"
        ) from error
    end = total if next_cursor < 0 else next_cursor
    more = f"; continue with cursor={next_cursor}" if next_cursor >= 0 else ", the end"
    return Done(f"characters {start} to {end} of {total}{more}\n{text}")


def _find_lines(arguments: ReadResult, results: Results) -> Done:
    wanted = arguments.find.casefold()
    lines = _iterate_lines(results, arguments.handle)
    hits = [(offset, line) for offset, line in lines if wanted in line.casefold()]
    if not hits:
        return Done(f"no line contains {arguments.find!r}")
    heading = f"{len(hits)} {'lines contain' if len(hits) > 1 else 'line contains'} {arguments.find!r}"
    heading += f", first {MAX_HITS}" if len(hits) > MAX_HITS else ""
    rows = (f"cursor {offset}: {line[:MAX_LINE]}" for offset, line in hits[:MAX_HITS])
    return Done("\n".join([heading, *rows]))


def _iterate_lines(results: Results, handle: str) -> Iterator[tuple[int, str]]:
    """Yield every line with the offset of its first character."""
    rest, offset, cursor = "", 0, 0
    while cursor >= 0:
        text, cursor, _ = results.page(handle, cursor, SCAN_SIZE)
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            yield offset, line
            offset += len(line) + 1
    if rest:
        yield offset, rest


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="read_result",
            kind="read",
            description="Read more of a long result that was stored under a handle.",
            parameters=schema(ReadResult),
            capabilities=frozenset({"none"}),
            run=typed(ReadResult, read_result),
            title=lambda arguments: f"read result {arguments.get('handle', '')}",
            is_concurrent=lambda arguments: True,
            cap=Cap(size=200_000, entries=20_000),
        )
    )
