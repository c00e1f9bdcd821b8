"""How much language servers may take: of time, of memory, of each other. Values only."""

from dataclasses import dataclass

MAX_FILE_BYTES = 4_000_000
MAX_MESSAGE_BYTES = 16_000_000
MAX_BACKLOG_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class LspLimits:
    """Seconds, servers and MiB of all servers of a root together; `restarts` counts within `memory_of_deaths`
    seconds. `hung` is how long a server may leave a request unanswered without saying anything.
    `documents` are kept open, `pulled` of a server that diagnoses only what it is asked for: there they
    cost it nothing."""

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
