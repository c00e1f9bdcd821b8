"""Kernel limits on a sandboxed process: resource limits, and Landlock where bubblewrap is missing.

bubblewrap sets no resource limits, so `prlimit` does, inside. The kernel does not count the processes of root
against a limit, so a control group counts them where one can be made. Landlock is called *partial*: it sees
no names inside an allowed folder (a build can write .git/config), does not stop chmod and hides no processes.
Sockets are refused by the seccomp filter.
"""

import contextlib
import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.workspace.resolver import is_within

MAX_PROCESSES = 2048
MAX_FILE_SIZE = 8 << 30
MAX_OPEN_FILES = 65_536
CGROUP_ROOT = Path("/sys/fs/cgroup")
GROUP_PREFIX = "cockpit-"
JOIN_SCRIPT = 'echo $$ >"$1/cgroup.procs" || exit 125; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Arguments before the command (`inside`) and the sandbox (`outside`). `missing` names absent limits."""

    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    missing: str = ""


def resource_limits(uid: int, groups: Path = CGROUP_ROOT) -> ResourceLimits:
    """The limits that work on this machine. Makes a control group for root; `remove_group` removes it."""
    program = shutil.which("prlimit", path="/usr/bin:/bin:/usr/local/bin")
    inside: tuple[str, ...] = ()
    if program:
        inside = (program, *(f"--{name}={most}" for name, most in limit_values()), "--")
    missing = "" if program else "no resource limits: prlimit (util-linux) is not installed"
    if uid != 0:
        return ResourceLimits(inside, (), missing)
    group = _make_group(groups)
    if group is None:
        return ResourceLimits(
            inside, (), "the number of processes is not limited: no control group can be made"
        )
    return ResourceLimits(inside, ("/bin/sh", "-c", JOIN_SCRIPT, "sh", str(group)), missing)


def limit_values() -> tuple[tuple[str, int], ...]:
    """Each limit by name, never above cockpit's own."""
    # Windows has no such module, and imports this one.
    import resource

    wanted = (
        ("nproc", resource.RLIMIT_NPROC, MAX_PROCESSES),
        ("fsize", resource.RLIMIT_FSIZE, MAX_FILE_SIZE),
        ("nofile", resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ("core", resource.RLIMIT_CORE, 0),
    )
    values = []
    for name, kind, most in wanted:
        hard = resource.getrlimit(kind)[1]
        values.append((name, most if hard == resource.RLIM_INFINITY else min(most, hard)))
    return tuple(values)


def remove_group(limits: ResourceLimits) -> None:
    if limits.outside:
        with contextlib.suppress(OSError):
            os.rmdir(limits.outside[-1])


def _make_group(groups: Path) -> Path | None:
    parents = [groups / "pids"]
    with contextlib.suppress(OSError):
        if "pids" in (groups / "cgroup.subtree_control").read_text().split():
            parents.insert(0, groups)
    for parent in parents:
        with contextlib.suppress(OSError):
            _remove_stale_groups(parent)
            group = parent / f"{GROUP_PREFIX}{os.getpid()}"
            group.mkdir(exist_ok=True)
            (group / "pids.max").write_text(str(MAX_PROCESSES))
            return group
    return None


def _remove_stale_groups(parent: Path) -> None:
    """Remove groups whose cockpit is gone. One with members cannot be removed."""
    for group in parent.glob(f"{GROUP_PREFIX}[0-9]*"):
        if not os.path.isdir(f"/proc/{group.name.removeprefix(GROUP_PREFIX)}"):
            with contextlib.suppress(OSError):
                group.rmdir()


CREATE_RULESET = 444
VERSION_FLAG = 1
DEVICE_FILES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
LAUNCHER = str(Path(__file__).with_name("landlock_launcher.py"))


def landlock_version() -> int:
    """The version of the kernel interface; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    try:
        number: int = ctypes.CDLL(None, use_errno=True).syscall(
            CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG
        )
    except (OSError, AttributeError):
        return 0
    return max(number, 0)


def visible_paths(hides: tuple[str, ...], folder: str = "/") -> Iterator[str]:
    """The paths that together contain the whole file system except the folders `hides`."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or any(is_within(entry.path, hidden) for hidden in hides):
                continue
            if not any(is_within(hidden, entry.path) for hidden in hides):
                yield entry.path
            elif entry.is_dir():
                yield from visible_paths(hides, entry.path)


def launch_plan(
    argv: tuple[str, ...], *, reads: tuple[str, ...], writes: tuple[str, ...], connects: bool, refusals: bytes
) -> bytes:
    """The plan for the launcher, which confines itself and then becomes `argv`."""
    counts = {name.upper(): most for name, most in limit_values()}
    plan = {
        "argv": argv,
        "reads": reads,
        "writes": writes,
        "devices": DEVICE_FILES,
        "connects": connects,
        "refusals": refusals.hex(),
        "limits": counts,
    }
    return json.dumps(plan).encode()


def launcher_argv(fd: int) -> tuple[str, ...]:
    """The argv of the launcher; it reads its plan from `fd`."""
    return (sys.executable, "-I", "-S", LAUNCHER, str(fd))
