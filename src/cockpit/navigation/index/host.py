"""The process of an index. It ends when the process that started it does: its stdin ends then.

Imports little before it has begun its workers: they start while it does.
"""

import os
import sys

from cockpit.navigation.index.frames import receive
from cockpit.navigation.index.store import file_of
from cockpit.navigation.index.workers import Worker, begin_worker, workers_of


def main() -> None:
    try:
        match receive(sys.stdin.buffer):
            case (str() as root, tuple() as languages, str() as kept):
                pass
            case _:
                return
        file = file_of(kept, root) if kept else None
        early: list[Worker] = []
        if file is None or not file.exists():
            begun = (begin_worker(root, languages) for _ in range(workers_of(os.cpu_count() or 1)))
            early = [one for one in begun if one is not None]
        from cockpit.navigation.index.hosting import Host

        Host(root, languages, file, early).run()
    except (EOFError, KeyboardInterrupt):
        return
