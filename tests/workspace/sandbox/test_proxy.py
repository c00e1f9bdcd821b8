"""A command with named hosts reaches only these; requests for others are refused with a reason."""

import http.server
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.workspace.sandbox.box import Box

from cockpit.errors import CockpitError
from cockpit.plugin.workspace import Launch, ProcessResult
from cockpit.workspace.sandbox import proxy


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"page {self.path} of {self.headers['Host']}".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


async def fetch(box: Box, hosts: tuple[str, ...], script: str) -> ProcessResult:
    code = "import urllib.request as u\ndef get(url): return u.urlopen(url, timeout=10).read().decode()\n"
    launch = Launch((sys.executable, "-I", "-c", code + script), str(box.root), (), "net", hosts)
    return await box.processes.run_sealed(launch, launch.seal())


async def test_an_allowed_host_is_reached_only_through_the_proxy(box: Box, port: int) -> None:
    await box.require_sandbox("net")
    ended = await fetch(box, (f"localhost:{port}",), f"print(get('http://localhost:{port}/x?y'))")
    assert (ended.output, ended.isolation) == (f"page /x?y of localhost:{port}\n", "bwrap net")
    direct = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('ESCAPED')"
    assert "ESCAPED" not in (await fetch(box, (f"localhost:{port}",), direct)).output
    tunnel = (
        "import socket; s = socket.create_connection(('127.0.0.1', 3128), 5)\n"
        f"s.sendall(b'CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n'); print(s.recv(99).split()[1])\n"
        "s.sendall(b'GET /t HTTP/1.0\\r\\n\\r\\n'); print(s.makefile().read())\n"
    )
    assert "page /t" in (await fetch(box, (f"localhost:{port}",), tunnel)).output


async def test_other_hosts_ports_and_unusual_names_are_refused(box: Box, port: int) -> None:
    await box.require_sandbox("net")
    script = (
        "import socket\n"
        "def ask(line):\n"
        "    s = socket.create_connection(('127.0.0.1', 3128), 5); s.sendall(line + b'\\r\\n\\r\\n')\n"
        "    print(s.makefile('rb').read(12))\n"
        f"ask(b'CONNECT 127.0.0.1:{port} HTTP/1.1')\n"
        f"ask(b'CONNECT localhost.evil.example:{port} HTTP/1.1')\n"
        f"ask(b'CONNECT localhost\\0.evil.example:{port} HTTP/1.1')\n"
        f"ask(b'GET http://me@localhost:{port}/ HTTP/1.1')\n"
        "ask(b'CONNECT localhost:1 HTTP/1.1')\n"
        "ask(b'nonsense')\n"
    )
    ended = await fetch(box, (f"localhost:{port}", "example.org"), script)
    assert ended.output.split("\n")[:6] == ["b'HTTP/1.1 403'"] * 6, ended.output


async def test_the_exit_code_passes_through_the_bridge(box: Box) -> None:
    for code in (0, 7):
        assert (await fetch(box, ("example.org",), f"raise SystemExit({code})")).code == code


async def test_a_host_pattern_is_refused(box: Box) -> None:
    for odd in ("*.example.org", "exa mple", "", "http://example.org", "a\0b"):
        with pytest.raises(CockpitError, match="not an exact host name"):
            await fetch(box, (odd,), "pass")


def test_requests_are_parsed() -> None:
    sent = proxy.parse_request(b"GET http://Example.org/a HTTP/1.1\r\n\r\n")
    assert sent is not None and (sent.host, sent.port) == ("example.org", 80)
    head = b"POST http://example.org HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nA: b\r\n\r\n"
    sent = proxy.parse_request(head)
    assert sent is not None and sent.head == (
        b"POST / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nA: b\r\n\r\n"
    )
    assert proxy.parse_request(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n") == proxy.ProxyTarget(
        "example.org", 443
    )
    for bad in (b"GET / HTTP/1.1", b"CONNECT a b HTTP/1.1", b"CONNECT a\xff:1 HTTP/1.1", b""):
        assert proxy.parse_request(bad + b"\r\n\r\n") is None


def test_an_allowed_name_must_not_resolve_to_this_machine() -> None:
    for address in ("127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "fe80::1%eth0"):
        assert not proxy.is_reachable("example.org", address)
    assert proxy.is_reachable("localhost", "127.0.0.1") and proxy.is_reachable("example.org", "93.184.216.34")
