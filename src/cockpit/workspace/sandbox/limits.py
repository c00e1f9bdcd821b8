"""How much a held program may take: processes, the size of a file, open files, no core dumps.

bubblewrap sets no limits, so `prlimit` does, inside. The kernel does not count the processes of the first
user, root, against a limit: there a control group counts them, where one can be made.
"""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

PROCESSES = 2048
FILE_SIZE = 8 << 30
OPEN_FILES = 65_536
GROUPS = Path("/sys/fs/cgroup")
NAME = "cockpit-"
JOIN = 'echo $$ >"$1/cgroup.procs" || exit 125; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Limits:
    """`inside` goes before the command, `outside` before the sandbox. `missing` says what does not hold."""

    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    missing: str = ""


def limits(uid: int, groups: Path = GROUPS) -> Limits:
    """What can be held here. Makes a control group for root; `drop` removes it."""
    program = shutil.which("prlimit", path="/usr/bin:/bin:/usr/local/bin")
    inside: tuple[str, ...] = ()
    if program:
        inside = (program, *(f"--{name}={most}" for name, most in numbers()), "--")
    missing = "" if program else "no limits of size: prlimit (util-linux) is not installed"
    if uid != 0:
        return Limits(inside, (), missing)
    group = _made(groups)
    if group is None:
        return Limits(inside, (), "the number of processes is not limited: no control group can be made")
    return Limits(inside, ("/bin/sh", "-c", JOIN, "sh", str(group)), missing)


def numbers() -> tuple[tuple[str, int], ...]:
    """Each limit by its name, never above what cockpit itself has."""
    # Windows has no such module, and imports this one.
    import resource

    wanted = (
        ("nproc", resource.RLIMIT_NPROC, PROCESSES),
        ("fsize", resource.RLIMIT_FSIZE, FILE_SIZE),
        ("nofile", resource.RLIMIT_NOFILE, OPEN_FILES),
        ("core", resource.RLIMIT_CORE, 0),
    )
    found = []
    for name, kind, most in wanted:
        hard = resource.getrlimit(kind)[1]
        found.append((name, most if hard == resource.RLIM_INFINITY else min(most, hard)))
    return tuple(found)


def drop(held: Limits) -> None:
    if held.outside:
        with contextlib.suppress(OSError):
            os.rmdir(held.outside[-1])


def _made(groups: Path) -> Path | None:
    parents = [groups / "pids"]
    with contextlib.suppress(OSError):
        if "pids" in (groups / "cgroup.subtree_control").read_text().split():
            parents.insert(0, groups)
    for parent in parents:
        with contextlib.suppress(OSError):
            _sweep(parent)
            group = parent / f"{NAME}{os.getpid()}"
            group.mkdir(exist_ok=True)
            (group / "pids.max").write_text(str(PROCESSES))
            return group
    return None


def _sweep(parent: Path) -> None:
    """Groups whose cockpit is gone. One that still has members cannot be removed."""
    for group in parent.glob(f"{NAME}[0-9]*"):
        if not os.path.isdir(f"/proc/{group.name.removeprefix(NAME)}"):
            with contextlib.suppress(OSError):
                group.rmdir()
