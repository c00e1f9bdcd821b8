"""The index as the cockpit holds it: a client of the process that parses."""

import os
from collections.abc import Callable, Mapping, Sequence

from cockpit.navigation.index.grammars import specs_of
from cockpit.navigation.index.line import Line
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import Relation, SymbolRow


class TreeIndex:
    """The index of one root. Nothing it is asked raises because its process is slow, dead or broken:
    the answer is empty then, and the next question starts it again (three times)."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        cache_folder: str = "",
        *,
        answer_seconds: float = 20.0,
        watching: bool = True,
    ) -> None:
        self.root = os.path.realpath(root)
        self._line = Line((self.root, specs_of(languages), cache_folder), answer_seconds)
        self._watching = watching
        self.is_cut = False
        self._unwatch: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to build, or to bring up to date. Returns at once; needs a running loop."""
        self._line.start()
        if self._watching and self._unwatch is None and not self._line.is_closed:
            from cockpit.navigation.watching import watch

            self._unwatch = watch(self.root, self.changed)

    @property
    def progress(self) -> tuple[int, int]:
        return self._line.progress

    @property
    def pid(self) -> int:
        """The process that holds it, 0 when none runs."""
        return self._line.pid

    @property
    def failure(self) -> str:
        """What went wrong last, empty when nothing did."""
        return self._line.failure

    async def whole(self, seconds: float) -> bool:
        self.start()
        return await self._line.whole(seconds)

    async def outline(self, path: str) -> tuple[SymbolRow, ...]:
        return await self._rows("outline", path)

    async def symbols(self, query: str, limit: int = 200) -> tuple[SymbolRow, ...]:
        return await self._rows("symbols", query, limit)

    async def named(self, path: str) -> tuple[SymbolRow, ...]:
        return await self._rows("named", path)

    async def related(self, relation: Relation, at: Position) -> tuple[SymbolRow, ...]:
        match await self._ask("related", relation, at):
            case (bool() as cut, tuple() as rows):
                self.is_cut = cut
                return rows
            case _:
                return ()

    async def extent(self, at: Position) -> tuple[int, int] | None:
        match await self._ask("extent", at):
            case (int() as first, int() as end):
                return first, end
            case _:
                return None

    async def hover(self, at: Position) -> str:
        answer = await self._ask("hover", at)
        return answer if isinstance(answer, str) else ""

    def changed(self, paths: Sequence[str]) -> None:
        """Files that may differ on disk now. Returns at once; what is asked after it sees them."""
        self._line.changed(paths)

    def languages(self) -> Mapping[str, int]:
        return {name: count for name, count in self._line.counts.items() if name}

    @property
    def left_out(self) -> int:
        """Files too large, minified or binary."""
        return self._line.counts.get("", 0)

    async def close(self) -> None:
        """The processes are gone when this returns."""
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        await self._line.close()

    async def _ask(self, name: str, *arguments: object) -> object:
        self.start()
        return await self._line.ask(name, *arguments)

    async def _rows(self, name: str, *arguments: object) -> tuple[SymbolRow, ...]:
        answer = await self._ask(name, *arguments)
        return answer if isinstance(answer, tuple) else ()
