"""The HTTP proxy through which a sandboxed program reaches the hosts of its launch and nothing else.

Its socket has a path that is mounted into the sandbox. Hosts are compared by exact name. Requests are not
trusted: a name with an unusual character, another port, or an allowed name that resolves to an address of
this machine is refused. The proxy cannot look into TLS: the owner of an allowed name decides what is served
there.
"""

import asyncio
import contextlib
import ipaddress
import os
import re
import shutil
import socket
import tempfile
from dataclasses import dataclass

from cockpit.errors import CockpitError

HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
DEFAULT_PORTS = (80, 443)
MAX_HEAD_BYTES = 65_536
TIMEOUT_SECONDS = 20.0
FORBIDDEN_RESPONSE = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"host:")


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """The target of a request: `head` is forwarded to it, empty for a tunnel."""

    host: str
    port: int
    head: bytes = b""


class Proxy:
    """Listens from `start` to `close`; `path` is its socket."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        for host in hosts:
            if not HOST_NAME.fullmatch(host):
                hint = "write names like pypi.org, or with a port: localhost:8080"
                raise CockpitError(f"{host!r} is not an exact host name", hint)
        self._hosts = frozenset(hosts)
        self._folder = ""
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    @property
    def path(self) -> str:
        return os.path.join(self._folder, "proxy")

    async def start(self) -> None:
        # A short path: socket paths have at most 107 bytes.
        self._folder = await asyncio.to_thread(tempfile.mkdtemp, "", "cockpit-")
        self._server = await asyncio.start_unix_server(self._accept, self.path, limit=MAX_HEAD_BYTES)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self._folder, True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError
        ):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            target = parse_request(await reader.readuntil(b"\r\n\r\n"))
        address = await self._address(target) if target is not None else None
        if target is None or address is None:
            name = target.host if target is not None else "this host"
            reason = f"cockpit: {name} is not one of the hosts that this command may reach\n".encode()
            writer.write(FORBIDDEN_RESPONSE % (len(reason), reason))
            await writer.drain()
            return
        async with asyncio.timeout(TIMEOUT_SECONDS):
            remote, onward = await asyncio.open_connection(address, target.port)
        try:
            (onward if target.head else writer).write(target.head or b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(_copy(reader, onward), _copy(remote, writer))
        finally:
            onward.close()

    async def _address(self, target: ProxyTarget) -> str | None:
        """The address of an allowed host; None if it is not allowed, or resolves to this machine."""
        named = f"{target.host}:{target.port}" in self._hosts
        if not named and not (target.host in self._hosts and target.port in DEFAULT_PORTS):
            return None
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        address = str(addresses[0][4][0])
        return address if is_reachable(target.host, address) else None


def is_reachable(host: str, address: str) -> bool:
    """Whether `host` may resolve to `address`: this machine and its neighbours only by their own names."""
    at = ipaddress.ip_address(address.partition("%")[0])
    if host == "localhost" or host == address:
        return True
    return not (at.is_loopback or at.is_link_local or at.is_unspecified or at.is_multicast)


def parse_request(head: bytes) -> ProxyTarget | None:
    """The target in the head of a request; None if it is not a proxy request."""
    lines = head[:-4].split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not re.fullmatch(rb"HTTP/1\.[01]", words[2]):
        return None
    method, url = words[0], words[1]
    if method == b"CONNECT":
        return _parse_target(url, 443)
    if not url.lower().startswith(b"http://"):
        return None
    place, slash, path = url[7:].partition(b"/")
    target = _parse_target(place, 80)
    if target is None:
        return None
    headers = [line for line in lines[1:] if not line.lower().startswith(HOP_BY_HOP)]
    start = b" ".join((method, (slash or b"/") + path, b"HTTP/1.1"))
    # One request per connection: a second one could name another host.
    sent = b"\r\n".join((start, b"Host: " + place, b"Connection: close", *headers))
    return ProxyTarget(target.host, target.port, sent + b"\r\n\r\n")


def _parse_target(place: bytes, port: int) -> ProxyTarget | None:
    try:
        name = place.decode("ascii").lower()
    except UnicodeDecodeError:
        return None
    if not HOST_NAME.fullmatch(name):
        return None
    host, colon, number = name.partition(":")
    return ProxyTarget(host, int(number) if colon else port)


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    while piece := await source.read(65_536):
        to.write(piece)
        await to.drain()
    with contextlib.suppress(OSError):
        if to.can_write_eof():
            to.write_eof()
