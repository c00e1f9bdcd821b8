"""What a process wrote, as text, in bounded memory: its head and its tail are kept, and what was
dropped between them is counted. Bytes that are no UTF-8 become U+FFFD.

One child process while it lives: started in a group of its own, its output taken as it comes, ended
with all that it started. Decides nothing of what may run, or in what.
"""

import asyncio
import codecs
import contextlib
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.workspace.processes import process_tree

HEAD_CHARACTERS = 256_000
TAIL_CHARACTERS = 768_000
BLANK_CHARACTERS = " \n\r\t"


class ProcessOutput:
    """A growing text. Positions count the characters that were ever written."""

    def __init__(self, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_size, self._tail_size = head, tail
        self._head: list[str] = []
        self._head_length = 0
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self.dropped = 0
        self._dropped_characters = 0

    @property
    def total(self) -> int:
        """Characters written so far, dropped ones too."""
        return self._head_length + self._dropped_characters + self._tail_length

    def feed(self, chunk: bytes, final: bool = False) -> str:
        """Take bytes; the text that became whole with them."""
        text = self._decoder.decode(chunk, final)
        if not text:
            return ""
        room = self._head_size - self._head_length
        if room > 0:
            self._head.append(text[:room])
            self._head_length += len(text[:room])
        if len(text) > max(room, 0):
            rest = text[max(room, 0) :]
            self._tail.append(rest)
            self._tail_length += len(rest)
            self._trim()
        return text

    def _trim(self) -> None:
        while self._tail_length > self._tail_size:
            first = self._tail.popleft()
            over = self._tail_length - self._tail_size
            cut = first[:over]
            if len(first) > over:
                self._tail.appendleft(first[over:])
            self._tail_length -= len(cut)
            self._dropped_characters += len(cut)
            self.dropped += len(cut.encode("utf-8", "replace"))

    def text(self) -> str:
        """Head and tail, with one line between them that counts what is missing."""
        return self.since(0)[0]

    def since(self, cursor: int) -> tuple[str, int]:
        """What was written from position `cursor` on, and the position after it. A word is begun at its
        start: a reader who chooses where to cut would get a secret in two halves that nobody knows."""
        head, tail = "".join(self._head), "".join(self._tail)
        cursor = self._word_start(cursor, head, tail)
        parts = [head[cursor:]] if cursor < len(head) else []
        start = len(head) + self._dropped_characters
        if cursor < start and self._dropped_characters:
            parts.append(f"\n[... {self.dropped:,} bytes dropped ...]\n")
        parts.append(tail[max(cursor - start, 0) :])
        return "".join(parts), self.total

    def _word_start(self, cursor: int, head: str, tail: str) -> int:
        """Where the word begins that `cursor` is in."""
        if not 0 < cursor < self.total:
            return cursor
        if cursor <= len(head) or not self._dropped_characters:
            text, before = head + tail, 0
        else:
            text, before = tail, len(head) + self._dropped_characters
        if cursor <= before:
            return cursor
        return before + max(text.rfind(one, 0, cursor - before) for one in BLANK_CHARACTERS) + 1


DRAIN_SECONDS = 1.0


class ProcessFailed(CockpitError):
    """A program that could not be started, or a job that nobody started."""


class ChildProtocol(asyncio.SubprocessProtocol):
    """One process while it lives. `ended` is set when it has exited, `drained` when its output is whole.

    With `apart` what it writes to stderr is kept by itself, in `errors`.
    """

    def __init__(self, on_output: Callable[[str], None] | None, apart: bool = False) -> None:
        self.output = ProcessOutput()
        self.errors = ProcessOutput()
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
class ChildProcess:
    """A started process: its protocol, its transport, and who belongs to it."""

    child: ChildProtocol
    transport: asyncio.SubprocessTransport
    family: process_tree.ProcessTree
    started: float

    @property
    def code(self) -> int | None:
        return self.transport.get_returncode()

    async def finish(self) -> None:
        """End what is left of the family and read what is left of the output."""
        await process_tree.end_tree(self.family)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.child.ended.wait()
                await self.child.drained.wait()
        self.transport.close()


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """What tells the members of a family from all other processes. Made before the first is started."""

    value: str
    born: int

    @property
    def variable(self) -> tuple[str, str]:
        return process_tree.MARK_VARIABLE, self.value


def make_mark() -> ProcessMark:
    return ProcessMark(secrets.token_hex(8), max(process_tree.boot_ticks() - 1, 0))


async def spawn_child(
    argv: tuple[str, ...],
    folder: str,
    environment: Mapping[str, str],
    mark: ProcessMark,
    *,
    has_stdin: bool = False,
    on_output: Callable[[str], None] | None = None,
    fds: tuple[int, ...] = (),
    apart: bool = False,
) -> ChildProcess:
    """Start `argv` in `folder` under exactly `environment`, which carries `mark`. Only `fds` are open in
    it besides its output; `apart` keeps what it writes to stderr by itself. Raises `ProcessFailed`.

    It is started from the thread of the loop, because what dies with its parent (bubblewrap) dies with
    the thread that started it.
    """
    try:
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: ChildProtocol(on_output, apart),
            *argv,
            stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if apart else asyncio.subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            pass_fds=fds,
            **process_tree.spawn_options(),
        )
    except FileNotFoundError as error:
        raise not_found_error(argv[0], folder) from error
    except (OSError, ValueError) as error:
        raise ProcessFailed(f"{argv[0]} could not be started: {error}") from error
    family = process_tree.ProcessTree(transport.get_pid(), mark.value, mark.born)
    return ChildProcess(child, transport, family, time.monotonic())


def not_found_error(program: str, folder: str) -> ProcessFailed:
    if not os.path.isdir(folder):
        return ProcessFailed(f"there is no folder {folder} to run in")
    return ProcessFailed(f"{program} is not installed or not in PATH")


def write_stdin(process: ChildProcess, stdin: bytes) -> None:
    pipe = process.transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof()


async def run_to_completion(ending: Coroutine[object, None, object]) -> None:
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
