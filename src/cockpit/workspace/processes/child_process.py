"""A child process: started in its own group, its output read as it arrives, ended with its descendants.

Memory for output is bounded: the head and the tail are stored, with a count of the bytes dropped in between.
Decides nothing about what may run.
"""

import asyncio
import codecs
import contextlib
import os
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
    """A growing text. Positions count the characters written so far, including dropped ones."""

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
        """Characters written so far, including dropped ones."""
        return self._head_length + self._dropped_characters + self._tail_length

    def feed(self, chunk: bytes, final: bool = False) -> str:
        """Append bytes and return the text that they completed. Invalid UTF-8 becomes U+FFFD."""
        text = self._decoder.decode(chunk, final)
        if not text:
            return ""
        room = max(self._head_size - self._head_length, 0)
        head, tail = text[:room], text[room:]
        if head:
            self._head.append(head)
            self._head_length += len(head)
        if tail:
            self._tail.append(tail)
            self._tail_length += len(tail)
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
        """Head and tail, with a line between them that counts the dropped bytes."""
        return self.since(0)[0]

    def since(self, cursor: int) -> tuple[str, int]:
        """The text from position `cursor` on, and the position after it.

        Starts at the beginning of a word: with a cut inside a word, a reader could get a secret in two halves
        that redaction does not recognise.
        """
        head, tail = "".join(self._head), "".join(self._tail)
        cursor = self._word_start(cursor, head, tail)
        parts = [head[cursor:]] if cursor < len(head) else []
        start = len(head) + self._dropped_characters
        if cursor < start and self._dropped_characters:
            parts.append(f"\n[... {self.dropped:,} bytes dropped ...]\n")
        parts.append(tail[max(cursor - start, 0) :])
        return "".join(parts), self.total

    def _word_start(self, cursor: int, head: str, tail: str) -> int:
        if not 0 < cursor < self.total:
            return cursor
        if cursor <= len(head) or not self._dropped_characters:
            text, before = head + tail, 0
        else:
            text, before = tail, len(head) + self._dropped_characters
        if cursor <= before:
            return cursor
        return before + max(text.rfind(blank, 0, cursor - before) for blank in BLANK_CHARACTERS) + 1


DRAIN_SECONDS = 1.0


class ProcessFailed(CockpitError):
    """A program that could not be started, or a job that does not exist."""


class ChildProtocol(asyncio.SubprocessProtocol):
    """Collects the output of a process. `ended` is set on exit, `drained` when all output has been read.

    With `separate_errors` stderr goes to `errors` instead of `output`.
    """

    def __init__(self, on_output: Callable[[str], None] | None, separate_errors: bool = False) -> None:
        self.output = ProcessOutput()
        self.errors = ProcessOutput()
        self._open = {1, 2} if separate_errors else {1}
        self.ended = asyncio.Event()
        self.drained = asyncio.Event()
        self._on_output = on_output

    def pipe_data_received(self, fd: int, data: bytes, final: bool = False) -> None:
        if fd == 2:
            self.errors.feed(data, final)
            return
        text = self.output.feed(data, final)
        if text and self._on_output is not None:
            self._on_output(text)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 0:
            self.pipe_data_received(fd, b"", final=True)
            self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()
        self.drained.set()


@dataclass(frozen=True, slots=True, eq=False)
class ChildProcess:
    """A started process: its protocol, its transport and its process tree."""

    child: ChildProtocol
    transport: asyncio.SubprocessTransport
    tree: process_tree.ProcessTree
    started: float

    @property
    def code(self) -> int | None:
        return self.transport.get_returncode()

    async def finish(self) -> None:
        """End the rest of the tree and read the rest of the output."""
        await process_tree.end_tree(self.tree)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.child.ended.wait()
                await self.child.drained.wait()
        self.transport.close()


async def spawn_child(
    argv: tuple[str, ...],
    folder: str,
    environment: Mapping[str, str],
    *,
    has_stdin: bool = False,
    on_output: Callable[[str], None] | None = None,
    fds: tuple[int, ...] = (),
    separate_errors: bool = False,
) -> ChildProcess:
    """Start `argv` in `folder` with exactly this `environment`, which contains the mark of its tree. Only
    `fds` are inherited besides the output. Raises `ProcessFailed`.

    Call it on the thread of the loop: bubblewrap ends with the thread that started it.
    """
    try:
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: ChildProtocol(on_output, separate_errors),
            *argv,
            stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if separate_errors else asyncio.subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            pass_fds=fds,
            **process_tree.spawn_options(),
        )
    except FileNotFoundError as error:
        raise not_found_error(argv[0], folder) from error
    except (OSError, ValueError) as error:
        raise ProcessFailed(f"{argv[0]} could not be started: {error}") from error
    tree = process_tree.ProcessTree(transport.get_pid(), environment[process_tree.MARK_VARIABLE])
    return ChildProcess(child, transport, tree, time.monotonic())


def not_found_error(program: str, folder: str) -> ProcessFailed:
    if not os.path.isdir(folder):
        return ProcessFailed(f"cannot run {program}: the folder {folder} does not exist")
    return ProcessFailed(f"{program} is not installed or not in PATH")


def write_stdin(process: ChildProcess, stdin: bytes) -> None:
    pipe = process.transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof()


async def run_to_completion(ending: Coroutine[object, None, object]) -> None:
    """Await `ending` to its end even if the caller is cancelled meanwhile; then cancel the caller."""
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
