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

MAX_COMPLETIONS = 20
MAX_CANDIDATES = 8
MAX_TEXT = 30_000
COMPLETION_WAIT = 0.3
"""Seconds that completions wait for an index that is still growing: files stand beside them."""
EXPANSION_WAIT = 6.0
"""Seconds that a prompt waits for the definition of one name; most words with an `@` are none."""
INDEX_WAIT = 3.0
"""Of these, those for files that are not read yet, beside the two that looking a name up takes."""
RELATIONS: dict[str, Relation] = {"callers": "callers", "tests": "tests"}


@dataclass(frozen=True, slots=True)
class DefinitionLines:
    """Lines `first` on of a file; `last` is the last of them."""

    path: str
    first: int
    last: int
    text: str


async def complete_symbol(word: str, context: Context) -> tuple[Completion, ...]:
    """Definitions whose name holds the letters of `word`; `file:` before it narrows them to a file."""
    relation, wanted = _split_relation(word.strip('"'))
    file, _, name = wanted.rpartition(":")
    if not name and not file:
        return ()
    if "/" in name or "\\" in name:
        return ()  # a path: files answer
    try:
        rows = await _candidates(file, name, context)
    except (PlaceUnknown, PathRefused, OSError):
        return ()
    files: dict[str, set[str]] = {}
    for row in rows:
        files.setdefault(_qualified_name(row), set()).add(row.path)
    before = f"{relation}:" if relation else ""
    found: list[Completion] = []
    # A property and its setter are one thing to name.
    once = {(row.path, _qualified_name(row)): row for row in reversed(rows)}
    for row in [row for row in rows if once[row.path, _qualified_name(row)] is row][:MAX_COMPLETIONS]:
        label = _qualified_name(row)
        where = f"{row.path}:{label}" if file or len(files[label]) > 1 else label
        if " " not in where:
            found.append(
                Completion(f"@{before}{where} ", f"{before}{label}", f"{row.kind}  {row.path}", 0, 0)
            )
    return tuple(found)


async def _candidates(file: str, name: str, context: Context) -> list[SymbolRow]:
    if file:
        rows = (await context.navigator.outline(file)).rows
        return [row for row in rows if name.lower() in _qualified_name(row).lower()]
    owner, dot, last = name.rpartition(".")
    if not dot:
        return list((await context.navigator.symbols(name, patience=COMPLETION_WAIT)).rows)
    return await _members(owner, last.lower(), context) if owner else []


async def _members(owner: str, name: str, context: Context) -> list[SymbolRow]:
    """What is defined in `owner` and has `name` (in lower case) in its own, what is called so first."""
    navigator, inside = context.navigator, f".{owner}".lower()
    holders = (await navigator.symbols(owner.rpartition(".")[2], patience=COMPLETION_WAIT)).rows
    paths = dict.fromkeys(row.path for row in holders if f".{_qualified_name(row)}".lower().endswith(inside))
    known = [path for path in paths if context.workspace.is_inside(path)][:MAX_CANDIDATES]
    outlines = await asyncio.gather(*(navigator.outline(path) for path in known))
    rows = [
        row
        for outline in outlines
        for row in outline.rows
        if f".{row.container}".lower().endswith(inside) and name in row.name.lower()
    ]
    if name:  # a part of an owner's name, and what is defined in another file than its owner
        found = (await navigator.symbols(name, patience=COMPLETION_WAIT)).rows
        places = {(row.path, row.line) for row in rows}
        rows += [
            row
            for row in found
            if owner.lower() in row.container.lower() and (row.path, row.line) not in places
        ]
    return sorted(rows, key=lambda row: (row.name.lower() != name, not row.name.lower().startswith(name)))


async def expand_symbol(word: str, context: Context) -> Block | None:
    """The lines of the definition, of its callers or its tests; None for what is no symbol here."""
    relation, place = _split_relation(word)
    try:
        async with asyncio.timeout(EXPANSION_WAIT):
            return await _expand_located(word, relation, place, context)
    except TimeoutError:
        return Text(f"[@{word} was not found in time; ask with the tool `symbols`]")


async def _expand_located(word: str, relation: str, place: str, context: Context) -> Block | None:
    try:
        at = await _locate(place, context)
        if at is None:
            # `@ada` may be a person's name: only what can be nothing else is answered for.
            is_symbol = bool(relation) or "." in place
            return Text(f"[@{word}: still reading the project; name it again]") if is_symbol else None
        if not relation:
            lines = await _read_lines(at, context)
            return Code(_truncate(lines.text), "", lines.path, lines.first)
        rows = (await context.navigator.related(RELATIONS[relation], at)).rows
        found = await _read_definitions(tuple(row for row in rows if row.last) or rows, context)
    except PlaceAmbiguous as error:
        return _describe_ambiguity(word, error)
    except PlaceUnknown as error:
        return Text(f"[@{word}: {error.message}]") if relation or ":" in place else None
    except (PathRefused, OSError):
        return None
    if not found:
        return Text(f"[@{word}: none found]")
    return Text(_truncate("\n\n".join(f"{one.path}:{one.first}\n```\n{one.text}\n```" for one in found)))


async def _locate(place: str, context: Context) -> Position | None:
    """Where a symbol is defined; None when it is unknown because not every file is read. Raises
    `PlaceUnknown`."""
    try:
        return await context.navigator.locate(place)
    except PlaceUnknown:
        last = place.rpartition(":")[2].rpartition(".")[2]
        if not last.isidentifier():
            raise
        found = await context.navigator.symbols(last, patience=INDEX_WAIT)
        if any(row.name == last for row in found.rows):
            return await context.navigator.locate(place)
        if not found.complete and ":" not in place:
            return None
        raise


def _split_relation(word: str) -> tuple[str, str]:
    """`callers:f` to `callers` and `f`; no relation where none is named."""
    head, colon, rest = word.partition(":")
    return (head, rest) if colon and head in RELATIONS else ("", word)


def _qualified_name(row: SymbolRow) -> str:
    return f"{row.container}.{row.name}" if row.container else row.name


def _describe_ambiguity(word: str, error: PlaceAmbiguous) -> Block:
    names = [f"{row.path}:{row.line} {_qualified_name(row)}" for row in error.candidates[:MAX_CANDIDATES]]
    return Text(f"[@{word} fits several definitions: {', '.join(names)}]")


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n[cut; read the rest with a tool]"


async def _read_lines(at: Position, context: Context) -> DefinitionLines:
    """The whole lines of the definition at a place. Raises `PlaceUnknown`."""
    start, end = await context.navigator.extent(at)
    raw = await context.workspace.files.read(at.path)
    start = raw.rfind(b"\n", 0, start) + 1
    text = raw[start:end].decode("utf-8", "replace").rstrip("\n")
    first = raw.count(b"\n", 0, start) + 1
    return DefinitionLines(at.path, first, first + text.count("\n"), text)


async def _read_definitions(rows: tuple[SymbolRow, ...], context: Context) -> list[DefinitionLines]:
    """The definitions that `rows` are, or stand in; each once, none that lies in another."""
    found: list[DefinitionLines] = []
    for row in rows:
        if len(found) >= MAX_COMPLETIONS:
            break
        inside = any(one.path == row.path and one.first <= row.line <= one.last for one in found)
        if inside:
            continue
        try:
            found.append(await _read_lines(Position(row.path, row.line, max(1, row.column)), context))
        except PlaceUnknown:
            found.append(DefinitionLines(row.path, row.line, row.line, row.text))
    return found


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("symbols", "@", complete_symbol, expand_symbol))
