"""Entry point of the index process. It ends when the process that started it closes its stdin.

Imports little before it has started its workers, which start up meanwhile.
"""

import os
import sys

from cockpit.navigation.index.file_facts import cache_file
from cockpit.navigation.index.parse_workers import WorkerProcess, count_workers, start_worker
from cockpit.navigation.index.pipe_messages import receive


def main() -> None:
    try:
        match receive(sys.stdin.buffer):
            case (str() as root, tuple() as languages, str() as cache_folder):
                pass
            case _:
                return
        file = cache_file(cache_folder, root) if cache_folder else None
        early_workers: list[WorkerProcess] = []
        if file is None or not file.exists():
            starts = (start_worker(root, languages) for _ in range(count_workers(os.cpu_count() or 1)))
            early_workers = [worker for worker in starts if worker is not None]
        from cockpit.navigation.index.host_process import IndexHost

        IndexHost(root, languages, file, early_workers).run()
    except (EOFError, KeyboardInterrupt):
        return
