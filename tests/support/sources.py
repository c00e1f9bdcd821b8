"""Small projects for the index: files out of one text, places by a mark in the line, an index that closes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from cockpit.navigation.index.client import TreeIndex
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import SymbolRow

PLUGINS = ("python", "javascript", "go", "rust", "c", "java", "bash", "outlines")


def languages() -> tuple[Language, ...]:
    """Every language that comes with cockpit."""
    found: list[Language] = []

    def register(value: object) -> None:
        if isinstance(value, Language):
            found.append(value)

    for name in PLUGINS:
        import_module(f"cockpit.builtin.languages.{name}").register_languages(register, None)
    return tuple(found)


def write(root: Path, sources: str) -> None:
    """Files, each after a line `=== path`."""
    for part in sources.split("=== ")[1:]:
        path, _, text = part.partition("\n")
        place = root / path.strip()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def at(root: Path, path: str, marked: str) -> Position:
    """The place of `|` in the first text of a file that is `marked` without it."""
    text = (root / path).read_text(encoding="utf-8")
    start = text.index(marked.replace("|", "", 1)) + marked.index("|")
    return Position(path, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))


def places(rows: Sequence[SymbolRow]) -> list[str]:
    return [f"{row.path}:{row.line}" for row in rows]


def names(rows: Sequence[SymbolRow]) -> list[str]:
    return [f"{row.container}.{row.name}" if row.container else row.name for row in rows]


async def until(claim: Callable[[], Coroutine[None, None, object]], seconds: float = 20.0) -> None:
    """Ask again and again until the answer is a yes."""

    async def asking() -> None:
        while True:
            if await claim():
                return
            await asyncio.sleep(0.01)

    await asyncio.wait_for(asking(), seconds)


@asynccontextmanager
async def indexed(root: Path, cache: Path | str = "", watching: bool = False) -> AsyncIterator[TreeIndex]:
    """A whole index of `root`."""
    index = TreeIndex(str(root), languages(), str(cache), watching=watching)
    try:
        assert await index.whole(30), index.failure
        yield index
    finally:
        await index.close()
