"""Which processes of cockpit's outlive a test run. They inherit the run's mark in their environment, which
Linux shows in /proc; elsewhere nothing is looked for."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "COCKPIT_TEST_RUN"
OURS = b"COCKPIT_CALL="
PATIENCE = 5.0
STEP = 0.05


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Mark what is started within, and raise AssertionError for what lives on after it."""
    token = secrets.token_hex(8)
    os.environ[MARK] = token
    yield
    until = time.monotonic() + PATIENCE
    while (left := survivors(token)) and time.monotonic() < until:
        time.sleep(STEP)
    assert not left, f"processes outlived the tests: {left}"


def survivors(token: str) -> list[str]:
    """The command lines of living processes with the mark that cockpit started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            environment = (entry / "environ").read_bytes().split(b"\0")
            marked = f"{MARK}={token}".encode() in environment
            if not marked or not any(one.startswith(OURS) for one in environment):
                continue
            if (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def running(word: str) -> bool:
    """Whether a living process has `word` on its command line; False where there is no /proc."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (entry / "cmdline").read_bytes():
                return True
    return False
