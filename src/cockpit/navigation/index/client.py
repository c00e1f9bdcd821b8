"""The client of a root's index process: starts it, asks it, restarts it when it dies."""

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence

from cockpit.navigation.index.grammars import grammar_specs
from cockpit.navigation.index.pipe_messages import LENGTH_HEADER, pack, python_command
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import Relation, SymbolRow

MAX_RESTARTS = 3
CLOSE_SECONDS = 2.0


class TreeIndex:
    """The index of one root: definitions, uses and imports of every source file, by tree-sitter.

    No question raises because the process is slow, dead or broken: the answer is empty then, and the next
    question restarts the process (up to three times). `progress` counts files done and files known, which are
    equal when the index is complete; `failure` is the last error; `is_cut` tells whether the last answer of
    `related` is incomplete because too many files had to be read.
    """

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
        self.is_cut = False
        # Not complete before anything is known.
        self.progress = (0, 1)
        self.failure = ""
        self._first_message = (self.root, grammar_specs(languages), cache_folder)
        self._answer_seconds = answer_seconds
        self._watching = watching
        self._unwatch: Callable[[], None] | None = None
        self._counts: dict[str, int] = {}
        self._is_closed = False
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._pending: dict[int, asyncio.Future[object]] = {}
        self._last_number = 0
        self._death_count = 0
        self._is_whole = asyncio.Event()
        self._changed: list[str] = []

    def start(self) -> None:
        """Start to build or update. Returns at once; needs a running loop."""
        if self._is_closed:
            return
        if self._starting is None and self._death_count <= MAX_RESTARTS:
            self._starting = asyncio.get_running_loop().create_task(self._start())
        if self._watching and self._unwatch is None:
            from cockpit.navigation.file_watcher import watch_root

            self._unwatch = watch_root(self.root, self.changed)

    @property
    def pid(self) -> int:
        """The index's process; 0 if none runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    async def whole(self, seconds: float) -> bool:
        """Wait until the index is complete; False on timeout."""
        self.start()
        try:
            await asyncio.wait_for(self._is_whole.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def outline(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions of a file as it is on disk now; empty if it cannot be parsed."""
        return await self._rows("outline", path)

    async def symbols(self, query: str, limit: int = 200) -> tuple[SymbolRow, ...]:
        return await self._rows("symbols", query, limit)

    async def named(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions that match a symbol path: `Class.method`, `pkg/mod.py:Class.method`."""
        return await self._rows("named", path)

    async def related(self, relation: Relation, at: Position) -> tuple[SymbolRow, ...]:
        match await self._ask("related", relation, at):
            case (bool() as cut, tuple() as rows):
                self.is_cut = cut
                return rows
            case _:
                return ()

    async def extent(self, at: Position) -> tuple[int, int] | None:
        """First and end byte of the definition at or around a position."""
        match await self._ask("extent", at):
            case (int() as first, int() as end):
                return first, end
            case _:
                return None

    async def hover(self, at: Position) -> str:
        """The first lines and the documentation of the definition; empty if there is none."""
        answer = await self._ask("hover", at)
        return answer if isinstance(answer, str) else ""

    def changed(self, paths: Sequence[str]) -> None:
        """Files may have changed on disk. Returns at once; later questions see the changes."""
        if not self._send(("changed", list(paths))):
            self._changed.extend(paths)

    def languages(self) -> Mapping[str, int]:
        """Number of files by language."""
        return {name: count for name, count in self._counts.items() if name}

    @property
    def left_out(self) -> int:
        """Number of files that are too large, minified or binary."""
        return self._counts.get("", 0)

    async def close(self) -> None:
        """Close it; its processes have ended when this returns."""
        self._is_closed = True
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        if self._starting is not None:
            with contextlib.suppress(OSError):
                await self._starting
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), CLOSE_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._reading is not None:
            await self._reading
        self._fail_pending()

    async def _rows(self, name: str, *arguments: object) -> tuple[SymbolRow, ...]:
        answer = await self._ask(name, *arguments)
        return answer if isinstance(answer, tuple) else ()

    async def _ask(self, name: str, *arguments: object) -> object:
        """The answer to a question; None if there is none in time."""
        self.start()
        if self._is_closed or self._death_count > MAX_RESTARTS:
            return None
        if self._starting is not None:
            await asyncio.shield(self._starting)
        self._last_number += 1
        number = self._last_number
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            if not self._send(("ask", number, name, arguments)):
                return None
            return await asyncio.wait_for(answer, self._answer_seconds)
        except TimeoutError:
            return None
        finally:
            self._pending.pop(number, None)

    async def _start(self) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *python_command("cockpit.navigation.index.host_main"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                # Ctrl+C in a terminal is for cockpit, not for the index. (Windows has no sessions.)
                start_new_session=sys.platform != "win32",
            )
        except OSError as error:
            self.failure = f"the index cannot start: {error}"
            return
        self._process = process
        self._send(self._first_message)
        self._send(("build",))
        changed, self._changed = self._changed, []
        if changed:
            self._send(("changed", changed))
        self._reading = asyncio.get_running_loop().create_task(self._read(process))

    def _send(self, value: object) -> bool:
        """Send a message. Returns whether a process runs."""
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None:
            return False
        with contextlib.suppress(OSError, RuntimeError):
            process.stdin.write(pack(value))
        return True

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read messages from a process until it ends; the next question then starts another process."""
        if process.stdout is None:
            return
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                (size,) = LENGTH_HEADER.unpack(await process.stdout.readexactly(LENGTH_HEADER.size))
                self._handle(pickle.loads(await process.stdout.readexactly(size)))
        await process.wait()
        if self._process is process:
            self._death_count += 1
            self.failure = f"the index process ended ({process.returncode})"
            self._process = None
            self._starting = None
            self._is_whole.clear()
            self._fail_pending()

    def _handle(self, message: object) -> None:
        match message:
            case ("progress", (int() as done, int() as known), dict() as counts, bool() as is_whole):
                self.progress = (done, known)
                self._counts = counts
                if is_whole:
                    self._is_whole.set()
                else:
                    self._is_whole.clear()
            case ("answer", int() as number, answer):
                self._settle(number, answer)
            case ("failed", int() as number, str() as trace):
                self.failure = trace
                self._settle(number, None)
            case _:
                return

    def _settle(self, number: int, answer: object) -> None:
        future = self._pending.get(number)
        if future is not None and not future.done():
            future.set_result(answer)

    def _fail_pending(self) -> None:
        for number in self._pending:
            self._settle(number, None)
        self._pending.clear()
