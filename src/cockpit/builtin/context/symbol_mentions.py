"""`@Class.method`, `@callers:f` and `@tests:f` in a prompt: adds the lines of those definitions."""

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
MAX_DEFINITIONS = 20
MAX_CANDIDATES = 8
MAX_TEXT = 30_000
# Seconds that completions wait for an index that is still growing; files are completed meanwhile.
COMPLETION_WAIT = 0.3
# Seconds that a prompt waits for the definition of a name; most words with an `@` are not symbols.
EXPANSION_WAIT = 6.0
# Seconds of these for files that are not indexed yet, besides about two for the lookup itself.
INDEX_WAIT = 3.0
RELATIONS: dict[str, Relation] = {"callers": "callers", "tests": "tests"}


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("symbols", "@", complete_symbol, expand_symbol))


@dataclass(frozen=True, slots=True)
class DefinitionLines:
    """The text of a definition: lines `first` to `last` of a file, both included."""

    path: str
    first: int
    last: int
    text: str


async def complete_symbol(word: str, context: Context) -> tuple[Completion, ...]:
    """Complete definitions whose name contains `word`; a leading `file:` limits them to that file."""
    relation, wanted = _split_relation(word.strip('"'))
    file, _, name = wanted.rpartition(":")
    if not (name or file) or "/" in name or "\\" in name:
        return ()  # Nothing typed yet, or a path, which file mentions complete.
    try:
        rows = await _candidates(file, name, context)
    except (PlaceUnknown, PathRefused, OSError):
        return ()
    files: dict[str, set[str]] = {}
    for row in rows:
        files.setdefault(_qualified_name(row), set()).add(row.path)
    prefix = f"{relation}:" if relation else ""
    completions: list[Completion] = []
    # A property and its setter share a name and are offered once.
    unique: dict[tuple[str, str], SymbolRow] = {}
    for row in rows:
        unique.setdefault((row.path, _qualified_name(row)), row)
    for (_, label), row in list(unique.items())[:MAX_COMPLETIONS]:
        place = f"{row.path}:{label}" if file or len(files[label]) > 1 else label
        if " " not in place:
            detail = f"{row.kind}  {row.path}"
            completions.append(Completion(f"@{prefix}{place} ", f"{prefix}{label}", detail, 0, 0))
    return tuple(completions)


async def _candidates(file: str, name: str, context: Context) -> list[SymbolRow]:
    if file:
        rows = (await context.navigator.outline(file)).rows
        return [row for row in rows if name.lower() in _qualified_name(row).lower()]
    owner, dot, last = name.rpartition(".")
    if not dot:
        return list((await context.navigator.symbols(name, patience=COMPLETION_WAIT)).rows)
    return await _members(owner, last.lower(), context) if owner else []


async def _members(owner: str, name: str, context: Context) -> list[SymbolRow]:
    """Return the members of `owner` whose name contains `name` (in lower case), exact matches first."""
    navigator, suffix = context.navigator, f".{owner}".lower()
    owners = (await navigator.symbols(owner.rpartition(".")[2], patience=COMPLETION_WAIT)).rows
    paths = dict.fromkeys(row.path for row in owners if f".{_qualified_name(row)}".lower().endswith(suffix))
    inside = [path for path in paths if context.workspace.is_inside(path)][:MAX_CANDIDATES]
    outlines = await asyncio.gather(*(navigator.outline(path) for path in inside))
    rows = [
        row
        for outline in outlines
        for row in outline.rows
        if f".{row.container}".lower().endswith(suffix) and name in row.name.lower()
    ]
    if name:
        # Adds partial matches of the owner's name, and members defined in another file than their owner.
        places = {(row.path, row.line) for row in rows}
        rows += [
            row
            for row in (await navigator.symbols(name, patience=COMPLETION_WAIT)).rows
            if owner.lower() in row.container.lower() and (row.path, row.line) not in places
        ]
    return sorted(rows, key=lambda row: (row.name.lower() != name, not row.name.lower().startswith(name)))


async def expand_symbol(word: str, context: Context) -> Block | None:
    """Return the lines of the definition, its callers or its tests; None if `word` names no symbol."""
    relation, place = _split_relation(word)
    try:
        async with asyncio.timeout(EXPANSION_WAIT):
            return await _expand_place(word, relation, place, context)
    except TimeoutError:
        return Text(f"[@{word} was not found in time; ask with the tool `symbols`]")


async def _expand_place(word: str, relation: str, place: str, context: Context) -> Block | None:
    try:
        position = await _locate(place, context)
        if position is None:
            # `@ada` may be a user's name: a message only appears for what can be nothing but a symbol.
            is_symbol = bool(relation) or "." in place
            return Text(f"[@{word}: still indexing the project; mention it again]") if is_symbol else None
        if not relation:
            lines = await _read_lines(position, context)
            return Code(_truncate(lines.text), "", lines.path, lines.first)
        rows = (await context.navigator.related(RELATIONS[relation], position)).rows
        definitions = await _read_definitions(tuple(row for row in rows if row.last) or rows, context)
    except PlaceAmbiguous as error:
        candidates = error.candidates[:MAX_CANDIDATES]
        names = ", ".join(f"{row.path}:{row.line} {_qualified_name(row)}" for row in candidates)
        return Text(f"[@{word} fits several definitions: {names}]")
    except PlaceUnknown as error:
        return Text(f"[@{word}: {error.message}]") if relation or ":" in place else None
    except (PathRefused, OSError):
        return None
    if not definitions:
        return Text(f"[@{word}: none found]")
    parts = (f"{lines.path}:{lines.first}\n```\n{lines.text}\n```" for lines in definitions)
    return Text(_truncate("\n\n".join(parts)))


async def _locate(place: str, context: Context) -> Position | None:
    """Locate a symbol; None if it is unknown because not every file is indexed. Raises `PlaceUnknown`."""
    try:
        return await context.navigator.locate(place)
    except PlaceUnknown:
        name = place.rpartition(":")[2].rpartition(".")[2]
        if not name.isidentifier():
            raise
        symbols = await context.navigator.symbols(name, patience=INDEX_WAIT)
        if any(row.name == name for row in symbols.rows):
            return await context.navigator.locate(place)
        if not symbols.complete and ":" not in place:
            return None
        raise


def _split_relation(word: str) -> tuple[str, str]:
    """Split `callers:f` into `callers` and `f`; the relation is empty if none is named."""
    relation, colon, rest = word.partition(":")
    return (relation, rest) if colon and relation in RELATIONS else ("", word)


def _qualified_name(row: SymbolRow) -> str:
    return f"{row.container}.{row.name}" if row.container else row.name


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n[cut; read the rest with a tool]"


async def _read_lines(position: Position, context: Context) -> DefinitionLines:
    """Read the whole lines of the definition at a position. Raises `PlaceUnknown`."""
    start, end = await context.navigator.extent(position)
    content = await context.workspace.files.read(position.path)
    start = content.rfind(b"\n", 0, start) + 1
    text = content[start:end].decode("utf-8", "replace").rstrip("\n")
    first = content.count(b"\n", 0, start) + 1
    return DefinitionLines(position.path, first, first + text.count("\n"), text)


async def _read_definitions(rows: tuple[SymbolRow, ...], context: Context) -> list[DefinitionLines]:
    """Read the definitions at or around `rows`, each once and none that lies inside another."""
    definitions: list[DefinitionLines] = []
    for row in rows:
        if len(definitions) >= MAX_DEFINITIONS:
            break
        if any(lines.path == row.path and lines.first <= row.line <= lines.last for lines in definitions):
            continue
        try:
            position = Position(row.path, row.line, max(1, row.column))
            definitions.append(await _read_lines(position, context))
        except PlaceUnknown:
            definitions.append(DefinitionLines(row.path, row.line, row.line, row.text))
    return definitions
