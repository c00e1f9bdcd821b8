"""Compares the answers of the navigator: the server's with those of a bare client, the index's with the
server's, and both with definitions checked by hand."""

import asyncio
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.navigation.bare_client import BareClient
from bench.navigation.uses import Use
from cockpit.plugin.navigation import Navigator, Position
from cockpit.protocol.code import SourceChoice

HERE = Path(__file__).parent
At = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Compared:
    """`recall`: the share of the server's answers inside the root that the index found. `precision`: the
    share of the index's answers to these uses with which the server agrees."""

    recall: float
    precision: float
    uses: int


async def places(navigator: Navigator, use: Use, source: SourceChoice) -> list[At]:
    """Where `use` is defined: paths relative to the root, lines and columns from 1."""
    found = await navigator.related("definition", Position(use.path, use.line, use.column), source, 30.0)
    return sorted({(row.path, row.line, row.column) for row in found.rows})


def bare_places(client: BareClient, use: Use) -> tuple[list[At], float]:
    """The bare client's answer in our line and column numbers, and the milliseconds it took."""
    began = time.perf_counter()
    found = client.definition(client.root / use.path, use.line - 1, use.column - 1)
    taken = 1000 * (time.perf_counter() - began)
    return sorted((path, line + 1, character + 1) for path, line, character in found), taken


async def differences(navigator: Navigator, client: BareClient, uses: Sequence[Use]) -> list[Use]:
    """The uses that the navigator's server answers differently from the bare client."""
    return [
        use
        for use in uses
        if await places(navigator, use, "lsp") != await asyncio.to_thread(_bare, client, use)
    ]


def _bare(client: BareClient, use: Use) -> list[At]:
    return bare_places(client, use)[0]


async def compared(navigator: Navigator, client: BareClient, uses: Sequence[Use]) -> Compared:
    """The index's answers compared with the server's, on uses that the server resolves inside the root."""
    hit = wanted = right = said = 0
    for use in uses:
        theirs = {place[:2] for place in _bare(client, use)}
        ours = {place[:2] for place in await places(navigator, use, "tree-sitter")}
        wanted += 1
        hit += bool(ours & theirs)
        said += bool(ours)
        right += bool(ours) and bool(ours & theirs)
    return Compared(hit / max(wanted, 1), right / max(said, 1), wanted)


async def checked_by_hand(navigator: Navigator, source: SourceChoice) -> list[str]:
    """The places of `definitions.toml` with a wrong answer."""
    table = tomllib.loads((HERE / "definitions.toml").read_text(encoding="utf-8"))["definitions"]
    wrong = []
    for place, answer in table.items():
        path, line, column = place.rsplit(":", 2)
        found = await places(navigator, Use(path, int(line), int(column), ""), source)
        if answer not in {f"{row[0]}:{row[1]}" for row in found}:
            wrong.append(place)
    return wrong
