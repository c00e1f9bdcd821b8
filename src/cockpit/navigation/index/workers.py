"""Starting processes that parse, and giving them work."""

import subprocess
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from cockpit.navigation.index.frames import command, receive, send
from cockpit.navigation.index.grammars import Readable, specs_of

if TYPE_CHECKING:
    from cockpit.navigation.index.facts import FileFacts

Worker: TypeAlias = subprocess.Popen[bytes]
BATCH_SECONDS = 30.0


def workers_of(processors: int) -> int:
    """How many parse at once: all processors but one, two where there are two (they are niced)."""
    return 1 if processors < 2 else max(2, min(processors - 1, 6))


def begin_worker(root: str, languages: Sequence[Readable]) -> Worker | None:
    """A process that knows its root and languages; None when none can be started."""
    try:
        process = subprocess.Popen(
            command("cockpit.navigation.index.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        if process.stdin is not None:
            send(process.stdin, (root, specs_of(languages)))
    except OSError:
        process.kill()
        process.wait()
        return None
    return process


def asked(process: Worker, batch: list[str]) -> "list[FileFacts] | None":
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
