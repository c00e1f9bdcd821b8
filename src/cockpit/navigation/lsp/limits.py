"""Limits on what language servers may use: time, memory, open documents, restarts."""

from dataclasses import dataclass

MAX_FILE_BYTES = 4_000_000
MAX_MESSAGE_BYTES = 16_000_000
MAX_BACKLOG_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class LspLimits:
    """`servers` and `megabytes` (MiB) are for all servers of a root together; times are in seconds.

    `restarts` are counted within `memory_of_deaths`. `hung` is how long a server may leave a request
    unanswered without sending anything. `documents` may be open, or `pulled` for a server that diagnoses only
    on request: there they cost it nothing. `every` and `measured_every` are the intervals of housekeeping;
    `quiet` and `apart` decide when a server has read the whole project.
    """

    servers: int = 4
    megabytes: int = 1024
    idle: float = 600.0
    restarts: int = 3
    backoff: float = 0.5
    memory_of_deaths: float = 300.0
    hung: float = 30.0
    documents: int = 100
    pulled: int = 1000
    every: float = 1.0
    measured_every: float = 5.0
    quiet: float = 3.0
    apart: float = 0.5
