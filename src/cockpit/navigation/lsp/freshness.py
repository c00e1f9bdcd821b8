"""Which files changed on disk without the server having been told: seen when it answers with them. Files are
looked at in a worker thread."""

import time
from collections.abc import Iterable

from cockpit.navigation.lsp.texts import TICK, stamp_of


class Freshness:
    """What a server may be taken to have read of files that are not open: older than it, or told."""

    def __init__(self) -> None:
        self._since = time.time_ns() - TICK
        self._told: dict[str, tuple[int, int]] = {}

    def stale(self, paths: Iterable[str]) -> list[str]:
        """Those of `paths` that differ from what the server knows. They count as told from now on."""
        found = []
        for path in paths:
            try:
                stamp = stamp_of(path)
            except (OSError, ValueError):
                continue
            now = (max(stamp.modified, stamp.changed), stamp.size)
            known = self._told.get(path)
            self._told[path] = now
            if known != now and (known is not None or now[0] > self._since):
                found.append(path)
        return found
