"""One child process while it lives: started in a group of its own, its output taken as it comes, ended
with all that it started. Decides nothing of what may run, or in what.
"""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.workspace import groups
from cockpit.workspace.output import Output

DRAIN = 1.0


class ProcessFailed(CockpitError):
    """A program that could not be started, or a job that nobody started."""


class Child(asyncio.SubprocessProtocol):
    """One process while it lives. `ended` is set when it has exited, `drained` when its output is whole.

    With `apart` what it writes to stderr is kept by itself, in `errors`.
    """

    def __init__(self, on_output: Callable[[str], None] | None, apart: bool = False) -> None:
        self.output = Output()
        self.errors = Output()
        self._open = {1, 2} if apart else {1}
        self.ended = asyncio.Event()
        self.drained = asyncio.Event()
        self._on_output = on_output

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._take(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 0:
            self._take(fd, b"", final=True)
            self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()
        self.drained.set()

    def _take(self, fd: int, data: bytes, final: bool = False) -> None:
        if fd == 2:
            self.errors.feed(data, final)
            return
        text = self.output.feed(data, final)
        if text and self._on_output is not None:
            self._on_output(text)


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """A started process: its protocol, its transport, and who belongs to it."""

    child: Child
    transport: asyncio.SubprocessTransport
    family: groups.Family
    started: float

    @property
    def code(self) -> int | None:
        return self.transport.get_returncode()

    async def finish(self) -> None:
        """End what is left of the family and read what is left of the output."""
        await groups.end(self.family)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self.child.ended.wait()
                await self.child.drained.wait()
        self.transport.close()


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells the members of a family from all other processes. Made before the first is started."""

    value: str
    born: int

    @property
    def variable(self) -> tuple[str, str]:
        return groups.MARK, self.value


def new_mark() -> Mark:
    return Mark(secrets.token_hex(8), max(groups.ticks() - 1, 0))


async def spawn(
    argv: tuple[str, ...],
    folder: str,
    environment: Mapping[str, str],
    mark: Mark,
    *,
    has_stdin: bool = False,
    on_output: Callable[[str], None] | None = None,
    fds: tuple[int, ...] = (),
    apart: bool = False,
) -> Process:
    """Start `argv` in `folder` under exactly `environment`, which carries `mark`. Only `fds` are open in
    it besides its output; `apart` keeps what it writes to stderr by itself. Raises `ProcessFailed`.

    It is started from the thread of the loop, because what dies with its parent (bubblewrap) dies with
    the thread that started it.
    """
    try:
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: Child(on_output, apart),
            *argv,
            stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if apart else asyncio.subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            pass_fds=fds,
            **groups.spawn_options(),
        )
    except FileNotFoundError as error:
        raise not_found(argv[0], folder) from error
    except (OSError, ValueError) as error:
        raise ProcessFailed(f"{argv[0]} could not be started: {error}") from error
    family = groups.Family(transport.get_pid(), mark.value, mark.born)
    return Process(child, transport, family, time.monotonic())


def not_found(program: str, folder: str) -> ProcessFailed:
    if not os.path.isdir(folder):
        return ProcessFailed(f"there is no folder {folder} to run in")
    return ProcessFailed(f"{program} is not installed or not in PATH")


def feed(process: Process, stdin: bytes) -> None:
    pipe = process.transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof()


async def whole(ending: Coroutine[object, None, object]) -> None:
    """Await to the end, also while the caller is being cancelled; then the cancelling goes on."""
    task = asyncio.ensure_future(ending)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
