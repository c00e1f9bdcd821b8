"""Writing what `plain.py` offers, and where a project names it."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from cockpit.plugin.origin import Origin
from cockpit.plugin.values import McpServer

PLAIN = Path(__file__).with_name("plain.py")
MODERN = Path(__file__).with_name("modern.py")


def tool(name: str, does: str = "echo", description: str = "A tool.", **more: Any) -> dict[str, Any]:
    """A tool of a spec."""
    return {"name": name, "description": description, "does": does, **more}


def spec(folder: Path, *tools: Mapping[str, Any], name: str = "plain", **more: Any) -> Path:
    """The file of what a server offers."""
    path = folder / f"{name}.spec.json"
    path.write_text(json.dumps({"name": name, "tools": list(tools), **more}), encoding="utf-8")
    return path


def command(path: Path) -> list[str]:
    """How the server of a spec is started. Without site packages: it starts in a moment."""
    return [sys.executable, "-S", str(PLAIN), str(path)]


def server(path: Path, name: str = "plain", file: str = "", **more: Any) -> McpServer:
    """The server of a spec; with `file` it is one that a project's file names."""
    origin = Origin(file, "project") if file else Origin("user.json", "user")
    return McpServer(name, tuple(command(path)), origin=origin, **more)


def configure(file: Path, servers: Mapping[str, Path | Mapping[str, Any]]) -> Path:
    """A file of servers in the form of `.mcp.json`."""
    made: dict[str, Any] = {}
    for name, one in servers.items():
        line = command(one) if isinstance(one, Path) else []
        made[name] = {"command": line[0], "args": line[1:]} if isinstance(one, Path) else dict(one)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": made}), encoding="utf-8")
    return file


async def until(is_so: Callable[[], bool], times: int = 1_000) -> None:
    """Wait for what another process does. Fails after ten seconds (a hundredth of `times`)."""
    for _ in range(times):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in time")


def modern(name: str = "modern") -> McpServer:
    """A server made with the official SDK, on stdio."""
    return McpServer(name, (sys.executable, str(MODERN), "stdio"), origin=Origin("user.json", "user"))


@asynccontextmanager
async def serving(transport: Literal["streamable-http", "sse"], folder: Path) -> AsyncIterator[McpServer]:
    """The same at an address on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "server.log").open("wb")
    argv = (sys.executable, str(MODERN), transport, str(port))
    process = subprocess.Popen(argv, stdout=log, stderr=log)
    path, kind = ("sse", "sse") if transport == "sse" else ("mcp", "http")
    try:
        await until(lambda: _answers(port), 2_000)
        url = f"http://127.0.0.1:{port}/{path}"
        yield McpServer("modern", url=url, transport=kind, origin=Origin("user.json", "user"))
    finally:
        process.kill()
        process.wait()
        log.close()


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
