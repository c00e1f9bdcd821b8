"""Worker processes that parse batches of files: starting them, giving them work, and their main function. A
worker ends with the process that started it."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from cockpit.navigation.index.file_facts import extract_facts
from cockpit.navigation.index.grammars import LanguageParsers, ParsableLanguage, grammar_specs
from cockpit.navigation.index.pipe_messages import python_command, receive, send

if TYPE_CHECKING:
    from cockpit.navigation.index.file_facts import FileFacts


WorkerProcess: TypeAlias = subprocess.Popen[bytes]
BATCH_SECONDS = 30.0
NICENESS = 10


def count_workers(processors: int) -> int:
    """How many parse at once: all processors but one; two where there are two (they have low priority)."""
    return 1 if processors < 2 else max(2, min(processors - 1, 6))


def start_worker(root: str, languages: Sequence[ParsableLanguage]) -> WorkerProcess | None:
    """A process that knows its root and languages; None if none can be started."""
    try:
        process = subprocess.Popen(
            python_command("cockpit.navigation.index.parse_workers"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        if process.stdin is not None:
            send(process.stdin, (root, grammar_specs(languages)))
    except OSError:
        process.kill()
        process.wait()
        return None
    return process


def parse_batch(process: WorkerProcess, batch: list[str]) -> "list[FileFacts] | None":
    """The facts of a batch's files; None if the worker died, or hung and was killed."""
    if process.stdin is None or process.stdout is None:
        return None
    timer = threading.Timer(BATCH_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        send(process.stdin, batch)
        rows = receive(process.stdout)
    except (OSError, EOFError):
        return None
    finally:
        timer.cancel()
    return rows if isinstance(rows, list) else None


def main() -> None:
    lower_priority()
    # Everything parsed is freed with its batch: there are no cycles for a garbage collector to find.
    gc.disable()
    inbox, outbox = sys.stdin.buffer, sys.stdout.buffer
    try:
        match receive(inbox):
            case (str() as root, tuple() as languages):
                readers = LanguageParsers(languages)
            case _:
                return
        while True:
            match receive(inbox):
                case [*paths]:
                    facts = [extract_facts(root, path, readers) for path in paths if isinstance(path, str)]
                    send(outbox, [file_facts for file_facts in facts if file_facts is not None])
                case _:
                    return
    except (EOFError, OSError, KeyboardInterrupt):
        # The other end is gone, or the user pressed Ctrl+C: nobody is left to report to.
        return


def lower_priority() -> None:
    """Let everything a user waits for go first."""
    if sys.platform != "win32":
        os.nice(NICENESS)
