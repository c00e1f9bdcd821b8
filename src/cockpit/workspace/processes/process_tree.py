"""Ending a process with everything it started: its group, its session, its descendants, and what
carries its mark although it left all of these. Starts nothing.

The mark is an environment variable: a daemon forks twice and opens a session of its own, but it
keeps its environment, which Linux shows in /proc.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

MARK_VARIABLE = "COCKPIT_CALL"
TERMINATE_SECONDS = 0.25
KILL_SECONDS = 0.9
POLL_SECONDS = 0.01


class SpawnOptions(TypedDict, total=False):
    """What makes a child the first of a group of its own."""

    start_new_session: bool
    creationflags: int


def spawn_options(platform: str = sys.platform) -> SpawnOptions:
    """How to start a child in its own group on `platform`."""
    if platform == "win32":
        # CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW (processthreadsapi.h)
        return {"creationflags": 0x00000200 | 0x08000000}
    return {"start_new_session": True}


def windows_kill_argv(pid: int) -> tuple[str, ...]:
    """The argv that ends a process tree on Windows."""
    return ("taskkill", "/T", "/F", "/PID", str(pid))


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """A child with everything it started. `born` is when, in clock ticks since boot, or 0."""

    pid: int
    mark: str
    born: int


def boot_ticks() -> int:
    """Now, as /proc counts the starts of processes (proc(5)); 0 where there is no such clock."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


async def end_tree(family: ProcessTree) -> None:
    """End all of it: asked to first, then killed, within a second."""
    if sys.platform == "win32":
        await asyncio.to_thread(
            subprocess.run, windows_kill_argv(family.pid), capture_output=True, check=False
        )
        return
    started = time.monotonic()
    living = await _signal_tree(family, signal.SIGTERM)
    while living and time.monotonic() - started < TERMINATE_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        living = await asyncio.to_thread(_living_members, family)
    # What forks while it is killed is found by the next round.
    while living and time.monotonic() - started < KILL_SECONDS:
        await _signal_tree(family, signal.SIGKILL)
        await asyncio.sleep(POLL_SECONDS)
        living = await asyncio.to_thread(_living_members, family)


async def _signal_tree(family: ProcessTree, number: int) -> frozenset[int]:
    living = await asyncio.to_thread(_living_members, family)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(family.pid, number)
    for member in living:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, number)
    return living


def _living_members(family: ProcessTree) -> frozenset[int]:
    """The living processes of it. Without /proc: the first while its group has members."""
    pid = family.pid
    if not os.path.isdir("/proc/self"):
        try:
            os.killpg(pid, 0)
        except (ProcessLookupError, PermissionError):
            return frozenset()
        return frozenset({pid})
    rows = _read_processes(family.born)
    wanted = f"{MARK_VARIABLE}={family.mark}".encode()
    found = {one for one, (_, group, session) in rows.items() if pid in (one, group, session)}
    found |= {one for one in rows if one not in found and wanted in _read_environment(one)}
    grown = True
    while grown:
        more = {one for one, (parent, _, _) in rows.items() if parent in found and one not in found}
        grown = bool(more)
        found |= more
    return frozenset(found)


def _read_processes(born: int) -> dict[int, tuple[int, int, int]]:
    """The living processes that started at `born` or later: parent, group, session. Zombies are dead."""
    rows: dict[int, tuple[int, int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            # The command may hold spaces and brackets: fields count from after the last one (proc(5)).
            fields = _read_start(f"/proc/{name}/stat").rpartition(b")")[2].split(None, 20)
            if fields[0] not in (b"Z", b"X") and int(fields[19]) >= born:
                rows[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return rows


def _read_start(path: str) -> bytes:
    """The first of a file of /proc; without a file object, because a scan opens one for each process and
    every program that a tool or a hook runs waits for a scan."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4_096)
    finally:
        os.close(fd)


def _read_environment(pid: int) -> list[bytes]:
    try:
        return Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []
