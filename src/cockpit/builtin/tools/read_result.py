"""`read_result`: pages through a result that was too long for the conversation and was set aside."""

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
    cursor: Annotated[int, "where to go on; negative counts from the end"] = 0
    find: Annotated[str, "only lines that hold this text"] = ""


async def read_result(arguments: ReadResult, context: Context) -> Done:
    results = context.session.results
    try:
        if arguments.find:
            return _find_lines(arguments, results)
        start = _start_offset(arguments, results)
        text, following, total = results.page(arguments.handle, start, PAGE_SIZE)
    except KeyError as error:
        raise ToolFailed(f"there is no result {arguments.handle!r}; a result names its handle") from error
    end = total if following < 0 else following
    head = f"characters {start} to {end} of {total}"
    more = f"; go on with cursor={following}" if following >= 0 else ", the end"
    return Done(f"{head}{more}\n{text}")


def _start_offset(arguments: ReadResult, results: Results) -> int:
    if arguments.cursor >= 0:
        return arguments.cursor
    total = results.page(arguments.handle, 0, 1)[2]
    return max(0, total + arguments.cursor)


def _find_lines(arguments: ReadResult, results: Results) -> Done:
    wanted = arguments.find.casefold()
    hits = [(at, line) for at, line in _iterate_lines(results, arguments.handle) if wanted in line.casefold()]
    if not hits:
        return Done(f"no line holds {arguments.find!r}")
    shown = [f"cursor {at}: {line[:MAX_LINE]}" for at, line in hits[:MAX_HITS]]
    head = f"{len(hits)} line{'s' if len(hits) > 1 else ''} hold {arguments.find!r}"
    return Done("\n".join([head + (f", first {MAX_HITS}" if len(hits) > MAX_HITS else ""), *shown]))


def _iterate_lines(results: Results, handle: str) -> Iterator[tuple[int, str]]:
    """Every line with the character it starts at."""
    rest, at, cursor = "", 0, 0
    while cursor >= 0:
        text, cursor, _ = results.page(handle, cursor, SCAN_SIZE)
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            yield at, line
            at += len(line) + 1
    if rest:
        yield at, rest


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="read_result",
            kind="read",
            description="Read on in a long result that was set aside.",
            parameters=schema(ReadResult),
            capabilities=frozenset({"none"}),
            run=typed(ReadResult, read_result),
            title=lambda arguments: f"read result {arguments.get('handle', '')}",
            is_concurrent=lambda arguments: True,
            cap=Cap(size=200_000, entries=20_000),
        )
    )
