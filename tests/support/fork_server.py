"""Runs `cockpit ...` in a child forked from a process that has imported it already.

Starting Python and importing cockpit takes most of the time of a short command. A child of the fork server
has its own process id, folder, environment, standard streams and signals, like a process started with
`python -m cockpit`, without paying for the imports again. POSIX only; a test of Python start-up (imports,
encodings, `sys.path`) starts a real process.
"""

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# What most commands import late. Nothing of it starts a thread, and nothing replaces a part of Python, as
# keyring does with the finder of distributions.
PRELOADED = (
    "cockpit.cli.run",
    "cockpit.headless.one_shot",
    "cockpit.headless.line_frontend",
    "cockpit.core.session.deck",
    "cockpit.core.session.session",
    "cockpit.mcp.servers",
    "cockpit.navigation.navigator",
    "jsonschema",
    "tomlkit",
    "tree_sitter",
)


class ForkServer:
    """The server process and the socket over which commands are sent to it, one at a time."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        # A PYTHONPATH set by the first test must not reach the commands of the others.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["COCKPIT_PLUGINS"] = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            env=environment,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._receive()

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], fds: tuple[int, int, int]
    ) -> int:
        """Start a command on `fds` (stdin, stdout, stderr); its process id."""
        request = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)}
        data = os.fsencode(json.dumps(request)) + b"\n"
        socket.send_fds(self._ours, [data[:1]], list(fds))
        self._ours.sendall(data[1:])
        return int(self._receive())

    def wait(self, pid: int, timeout: float) -> int:
        """The command's exit code, negative for a signal. Raises `TimeoutError` and kills it when late."""
        self._ours.settimeout(timeout)
        try:
            return int(self._receive())
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._ours.settimeout(None)
            self._receive()
            raise
        finally:
            self._ours.settimeout(None)

    def close(self) -> None:
        self._ours.close()
        self._process.wait()

    def _receive(self) -> str:
        data = b""
        while not data.endswith(b"\n"):
            chunk = self._ours.recv(4096)
            if not chunk:
                raise RuntimeError("the fork server of the tests ended; run the test again to see why")
            data += chunk
        return data.decode()


def serve(connection: socket.socket) -> None:
    """Fork a child for each request until the tests close the connection."""
    for name in PRELOADED:
        importlib.import_module(name)
    connection.sendall(b"ready\n")
    while True:
        first, fds, _, _ = socket.recv_fds(connection, 1, 3)
        if not first:
            return
        data = first
        while not data.endswith(b"\n"):
            data += connection.recv(65_536)
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become_command(json.loads(data), fds)
        for fd in fds:
            os.close(fd)
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become_command(request: dict[str, Any], fds: Sequence[int]) -> None:
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    signal.set_wakeup_fd(-1)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(str(request["cwd"]))
    sys.path[0] = str(Path.cwd())
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = ["cockpit", *request["arguments"]]
    from cockpit.cli.main import script

    try:
        script()
    except SystemExit as error:
        code = error.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
