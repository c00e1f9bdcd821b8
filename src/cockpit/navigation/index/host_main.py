"""The process of an index. It ends when the process that started it does: its stdin ends then.

Imports little before it has begun its workers: they start while it does.
"""

import os
import sys

from cockpit.navigation.index.file_facts import cache_file
from cockpit.navigation.index.parse_workers import WorkerProcess, count_workers, start_worker
from cockpit.navigation.index.pipe_messages import receive


def main() -> None:
    try:
        match receive(sys.stdin.buffer):
            case (str() as root, tuple() as languages, str() as kept):
                pass
            case _:
                return
        file = cache_file(kept, root) if kept else None
        early: list[WorkerProcess] = []
        if file is None or not file.exists():
            begun = (start_worker(root, languages) for _ in range(count_workers(os.cpu_count() or 1)))
            early = [one for one in begun if one is not None]
        from cockpit.navigation.index.host_process import IndexHost

        IndexHost(root, languages, file, early).run()
    except (EOFError, KeyboardInterrupt):
        return
