"""The real command in a real process: `cockpit ...` on a folder, with the home of the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.fork_server import ForkServer

PATIENCE = 60.0
# Variables that Python and the C library read while they start.
STARTUP = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_")


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command ended."""

    code: int
    out: str
    err: str


def cockpit(
    *arguments: str,
    cwd: Path,
    stdin: str | bytes = b"",
    environment: Mapping[str, str] | None = None,
    starts_python: bool = False,
) -> Ended:
    """Run `cockpit` to its end, in a child of the fork server where that behaves the same.

    `starts_python` starts a real interpreter, for what happens before cockpit's own code runs. stdin is
    never the terminal of whoever runs the tests.
    """
    data = stdin.encode() if isinstance(stdin, str) else stdin
    given = dict(os.environ, **(environment or {}))
    if (
        starts_python
        or not hasattr(os, "fork")
        or any(name.startswith(STARTUP) for name in environment or ())
    ):
        ended = subprocess.run(
            command(*arguments),
            cwd=cwd,
            input=data,
            capture_output=True,
            env=given,
            timeout=PATIENCE,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))
    with TemporaryFile() as source, TemporaryFile() as out, TemporaryFile() as err:
        source.write(data)
        source.seek(0)
        server = fork_server()
        pid = server.run(arguments, cwd, given, (source.fileno(), out.fileno(), err.fileno()))
        code = server.wait(pid, PATIENCE)
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode("utf-8"), err.read().decode("utf-8"))


@cache
def fork_server() -> ForkServer:
    """The fork server of this process, started by the first command; it ends with this process."""
    return ForkServer()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cockpit", *arguments]


def hears_every_signal() -> None:
    """Whoever runs the tests may ignore some (`nohup`, a background job); a child would too."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)
