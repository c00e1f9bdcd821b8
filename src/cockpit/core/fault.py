"""Places where a test may kill the process, to prove that nothing is lost there.

`COCKPIT_FAULT=NAME:N` sends SIGKILL to this very process at the N-th passage (from 1) of point NAME,
or of any point for NAME `any`. Without that variable a passage costs one comparison.
"""

import os
import signal

_wanted = os.environ.get("COCKPIT_FAULT", "")
_passed = 0


def point(name: str) -> None:
    """A passage of the point `name`."""
    if _wanted:
        _count(name)


def _count(name: str) -> None:
    global _passed
    wanted, _, number = _wanted.rpartition(":")
    if wanted not in ("any", name):
        return
    _passed += 1
    if _passed == int(number):
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
