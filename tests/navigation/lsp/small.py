"""A small faulty server for `.tiny` files, and helpers to wait for server states."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cockpit.navigation.lsp.language_servers import LanguageServers
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.plugin.languages import Language, LanguageServer

FAULTY = Path(__file__).with_name("faulty_server.py")
Make = Callable[..., LanguageServers]
QUICK = LspLimits(backoff=0.01, every=0.05, quiet=0.3, apart=0.05, measured_every=0.1)


def small(*faults: str, name: str = "small", notes: Path | None = None, **more: object) -> LanguageServer:
    """The small server with these faults; `notes` is where it writes down what it heard."""
    command = (sys.executable, "-I", "-S", str(FAULTY), *faults)
    environment = {"FAULTY_NOTES": str(notes)} if notes is not None else {}
    return replace(LanguageServer(name, command, environment=environment), **more)


def language(*servers: LanguageServer) -> Language:
    return Language("tiny", ("*.tiny",), servers, ids={".tiny": "tiny-id"})


async def until(servers: LanguageServers, true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until `true` says so; looked at whenever the servers say that something changed."""
    changed = asyncio.Event()
    stop = servers.watch(changed.set)
    try:
        async with asyncio.timeout(seconds):
            while not true():
                changed.clear()
                await asyncio.wait({asyncio.ensure_future(changed.wait())}, timeout=0.05)
    finally:
        stop()


def state_of(servers: LanguageServers, name: str = "small") -> str:
    return next((row.state for row in servers.rows() if row.name == name), "")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False
