"""Starting processes that parse, and giving them work.

A process that parses: batches of paths in, facts out. It ends when the process that started it does.
"""

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


def count_workers(processors: int) -> int:
    """How many parse at once: all processors but one, two where there are two (they are niced)."""
    return 1 if processors < 2 else max(2, min(processors - 1, 6))


def start_worker(root: str, languages: Sequence[ParsableLanguage]) -> WorkerProcess | None:
    """A process that knows its root and languages; None when none can be started."""
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
    """A worker's answer; None when it died, or hung and was ended."""
    if process.stdin is None or process.stdout is None:
        return None
    bound = threading.Timer(BATCH_SECONDS, process.kill)
    bound.daemon = True
    bound.start()
    try:
        send(process.stdin, batch)
        rows = receive(process.stdout)
    except (OSError, EOFError):
        return None
    finally:
        bound.cancel()
    return rows if isinstance(rows, list) else None


NICENESS = 10


def main() -> None:
    lower_priority()
    # What is parsed is dropped with its batch; nothing goes in circles that a collector would have to find.
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
                    found = [extract_facts(root, path, readers) for path in paths if isinstance(path, str)]
                    send(outbox, [one for one in found if one is not None])
                case _:
                    return
    except (EOFError, OSError, KeyboardInterrupt):
        # The other end is gone, or a person pressed Ctrl+C: either way there is nobody to tell.
        return


def lower_priority() -> None:
    """Let everything a person waits for go first."""
    if sys.platform != "win32":
        os.nice(NICENESS)
