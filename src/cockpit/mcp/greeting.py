"""How a server is greeted: one that knew nothing of the later era of the protocol is not asked for it at each
start. An empty file per server in the state folder, by the digest of its command line or address; after a
week it is asked again, as it may be a newer one by then. Called in worker threads.
"""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Literal

from cockpit.plugin.values import McpServer

WEEK = 7 * 24 * 3600.0
Mode = Literal["auto", "legacy"]


def mode_of(state: Path, server: McpServer) -> Mode:
    """What to greet `server` with."""
    try:
        age = time.time() - _file(state, server).stat().st_mtime
    except OSError:
        return "auto"
    return "legacy" if 0 <= age < WEEK else "auto"


def other(mode: Mode) -> Mode:
    """The way that is not `mode`."""
    return "legacy" if mode == "auto" else "auto"


def keep(state: Path, server: McpServer, mode: Mode) -> None:
    """Remember what `server` understood. Without a place to write it is asked again the next time."""
    file = _file(state, server)
    with contextlib.suppress(OSError):
        if mode == "auto":
            file.unlink(missing_ok=True)
        elif mode_of(state, server) == "auto":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            os.utime(file)


def _file(state: Path, server: McpServer) -> Path:
    said = json.dumps([server.command, server.url, server.transport, server.cwd])
    return state / "mcp" / "legacy" / hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]
