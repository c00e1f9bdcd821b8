"""`@Class.method`, `@callers:f`, `@tests:f` in a prompt: the lines of those definitions, no whole files."""

import asyncio
from dataclasses import dataclass

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.navigation import PlaceAmbiguous, PlaceUnknown, Position
from cockpit.plugin.values import Mention, Register, Scope
from cockpit.protocol.code import Relation, SymbolRow
from cockpit.protocol.content import Block, Code, Text
from cockpit.protocol.queries import Completion

MOST = 20
CANDIDATES = 8
LARGEST = 30_000
WAIT = 0.3
"""Seconds that completions wait for an index that is still growing: files stand beside them."""
PATIENCE = 5.0
"""Seconds that a prompt waits for the definition of one name; most words with an `@` are none."""
RELATIONS: dict[str, Relation] = {"callers": "callers", "tests": "tests"}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines `first` on of a file; `last` is the last of them."""

    path: str
    first: int
    last: int
    text: str


async def complete(word: str, context: Context) -> tuple[Completion, ...]:
    """Definitions whose name holds the letters of `word`; `file:` before it narrows them to a file."""
    relation, wanted = _split(word.strip('"'))
    file, _, name = wanted.rpartition(":")
    if not name and not file:
        return ()
    if "/" in name or "\\" in name:
        return ()  # a path: files answer
    try:
        rows = await _candidates(file, name, context)
    except (PlaceUnknown, PathRefused, OSError):
        return ()
    counts: dict[str, int] = {}
    for row in rows:
        counts[_dotted(row)] = counts.get(_dotted(row), 0) + 1
    before = f"{relation}:" if relation else ""
    found: list[Completion] = []
    for row in rows[:MOST]:
        label = _dotted(row)
        where = f"{row.path}:{label}" if file or counts[label] > 1 else label
        if " " not in where:
            found.append(
                Completion(f"@{before}{where} ", f"{before}{label}", f"{row.kind}  {row.path}", 0, 0)
            )
    return tuple(found)


async def _candidates(file: str, name: str, context: Context) -> list[SymbolRow]:
    if file:
        rows = (await context.navigator.outline(file)).rows
        return [row for row in rows if name.lower() in _dotted(row).lower()]
    owner, _, last = name.rpartition(".")
    rows = (await context.navigator.symbols(last or owner, patience=WAIT)).rows
    return [row for row in rows if owner.lower() in (row.container or owner).lower()]


async def expand(word: str, context: Context) -> Block | None:
    """The lines of the definition, of its callers or its tests; None for what is no symbol here."""
    relation, place = _split(word)
    try:
        async with asyncio.timeout(PATIENCE):
            return await _expanded(word, relation, place, context)
    except TimeoutError:
        return Text(f"[@{word} was not found in time; ask with the tool `symbols`]") if relation else None


async def _expanded(word: str, relation: str, place: str, context: Context) -> Block | None:
    try:
        at = await context.navigator.locate(place)
        if not relation:
            lines = await _lines(at, context)
            return Code(_cut(lines.text), "", lines.path, lines.first)
        rows = (await context.navigator.related(RELATIONS[relation], at)).rows
        found = await _definitions(tuple(row for row in rows if row.last) or rows, context)
    except PlaceAmbiguous as error:
        return _listed(word, error)
    except PlaceUnknown as error:
        return Text(f"[@{word}: {error.message}]") if relation or ":" in place else None
    except (PathRefused, OSError):
        return None
    if not found:
        return Text(f"[@{word}: none found]")
    return Text(_cut("\n\n".join(f"{one.path}:{one.first}\n```\n{one.text}\n```" for one in found)))


def _split(word: str) -> tuple[str, str]:
    """`callers:f` to `callers` and `f`; no relation where none is named."""
    head, colon, rest = word.partition(":")
    return (head, rest) if colon and head in RELATIONS else ("", word)


def _dotted(row: SymbolRow) -> str:
    return f"{row.container}.{row.name}" if row.container else row.name


def _listed(word: str, error: PlaceAmbiguous) -> Block:
    names = [f"{row.path}:{row.line} {_dotted(row)}" for row in error.candidates[:CANDIDATES]]
    return Text(f"[@{word} fits several definitions: {', '.join(names)}]")


def _cut(text: str) -> str:
    return text if len(text) <= LARGEST else text[:LARGEST] + "\n[cut; read the rest with a tool]"


async def _lines(at: Position, context: Context) -> Lines:
    """The whole lines of the definition at a place. Raises `PlaceUnknown`."""
    start, end = await context.navigator.extent(at)
    raw = await context.workspace.files.read(at.path)
    start = raw.rfind(b"\n", 0, start) + 1
    text = raw[start:end].decode("utf-8", "replace").rstrip("\n")
    first = raw.count(b"\n", 0, start) + 1
    return Lines(at.path, first, first + text.count("\n"), text)


async def _definitions(rows: tuple[SymbolRow, ...], context: Context) -> list[Lines]:
    """The definitions that `rows` are, or stand in; each once, none that lies in another."""
    found: list[Lines] = []
    for row in rows:
        if len(found) >= MOST:
            break
        inside = any(one.path == row.path and one.first <= row.line <= one.last for one in found)
        if inside:
            continue
        try:
            found.append(await _lines(Position(row.path, row.line, max(1, row.column)), context))
        except PlaceUnknown:
            found.append(Lines(row.path, row.line, row.line, row.text))
    return found


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("symbols", "@", complete, expand))
