"""Answers about code: each query to the navigator, each refusal in words."""

from typing import TypeAlias, assert_never

from cockpit.core.agent import Agent
from cockpit.errors import CockpitError
from cockpit.plugin.context import PathRefused
from cockpit.protocol.code import (
    FileText,
    Navigate,
    Place,
    Problems,
    ServerRows,
    Servers,
    SymbolRows,
    Symbols,
    TextPage,
)
from cockpit.protocol.queries import Refused, Reply

# A person looks on: who is not ready by then is asked again, and another answers meanwhile.
PATIENCE = 0.2

AboutCode: TypeAlias = Symbols | Place | Navigate | Problems | Servers | FileText


async def about_code(agent: Agent, query: AboutCode) -> Reply:
    """The reply, or `Refused` with what is wrong with the place."""
    try:
        return await _answer(agent, query)
    except (CockpitError, OSError) as error:
        return Refused(str(error))


async def _answer(agent: Agent, query: AboutCode) -> Reply:
    navigator = agent.navigator
    match query:
        case Symbols(text, ""):
            return await navigator.symbols(text, patience=PATIENCE)
        case Symbols(_, path):
            return await navigator.outline(path)
        case Place(path, line, _):
            rows = (await navigator.outline(path)).rows
            around = [row for row in rows if row.first <= line <= row.last]
            return SymbolRows(tuple(sorted(around, key=lambda row: row.last - row.first)[:1]))
        case Navigate(relation, place, source):
            return await navigator.related(relation, await navigator.locate(place), source, PATIENCE)
        case Problems(path):
            return await navigator.problems((path,) if path else ())
        case Servers():
            return ServerRows(navigator.servers())
        case FileText():
            return await _text(agent, query)
        case _:
            assert_never(query)


async def _text(agent: Agent, query: FileText) -> Reply:
    raw = await agent.workspace.files.read(query.path)
    if b"\0" in raw[:8192]:
        raise PathRefused(f"{query.path} is a binary file of {len(raw):,} bytes")
    lines = raw.decode("utf-8", "replace").split("\n")
    last = query.last or len(lines)
    return TextPage(query.path, query.first, "\n".join(lines[query.first - 1 : last]), len(lines))
