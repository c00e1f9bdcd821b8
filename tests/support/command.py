"""The real command in a real process: `cockpit ...` on a folder, with the home of the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command ended."""

    code: int
    out: str
    err: str


def cockpit(
    *arguments: str, cwd: Path, stdin: str | bytes = b"", environment: Mapping[str, str] | None = None
) -> Ended:
    """Run `cockpit` to its end. stdin is a pipe, never the terminal of whoever runs the tests."""
    ended = subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=dict(os.environ, **(environment or {})),
        timeout=PATIENCE,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cockpit", *arguments]


def hears_every_signal() -> None:
    """Whoever runs the tests may ignore some (`nohup`, a background job); a child would too."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)
