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
from pathlib import Path
from typing import TypedDict

MARK = "COCKPIT_CALL"
GRACE = 0.25
PATIENCE = 0.9
STEP = 0.01


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


def windows_kill(pid: int) -> tuple[str, ...]:
    """The argv that ends a process tree on Windows."""
    return ("taskkill", "/T", "/F", "/PID", str(pid))


async def end(pid: int, mark: str) -> None:
    """End the whole family of `pid`: asked to first, then killed, within a second."""
    if sys.platform == "win32":
        await asyncio.to_thread(subprocess.run, windows_kill(pid), capture_output=True, check=False)
        return
    started = time.monotonic()
    family = await _signal(pid, mark, signal.SIGTERM)
    while family and time.monotonic() - started < GRACE:
        await asyncio.sleep(STEP)
        family = _family(pid, mark)
    # What forks while it is killed is found by the next round.
    while family and time.monotonic() - started < PATIENCE:
        family = await _signal(pid, mark, signal.SIGKILL)
        await asyncio.sleep(STEP)
        family = _family(pid, mark)


async def _signal(pid: int, mark: str, number: int) -> frozenset[int]:
    family = _family(pid, mark)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    for member in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, number)
    return family


def _family(pid: int, mark: str) -> frozenset[int]:
    """The living processes that belong to `pid`. Without /proc: `pid` while its group has members."""
    if not os.path.isdir("/proc/self"):
        try:
            os.killpg(pid, 0)
        except (ProcessLookupError, PermissionError):
            return frozenset()
        return frozenset({pid})
    rows = _processes()
    wanted = f"{MARK}={mark}".encode()
    found = {one for one, (_, group, session) in rows.items() if pid in (one, group, session)}
    found |= {one for one in rows if one not in found and wanted in _environment(one)}
    grown = True
    while grown:
        more = {one for one, (parent, _, _) in rows.items() if parent in found and one not in found}
        grown = bool(more)
        found |= more
    return frozenset(found)


def _processes() -> dict[int, tuple[int, int, int]]:
    """Every living process by id: its parent, group and session. Zombies are dead."""
    rows: dict[int, tuple[int, int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            # The command may hold spaces and brackets: fields count from after the last one (proc(5)).
            fields = Path("/proc", name, "stat").read_bytes().rsplit(b")", 1)[1].split()
            if fields[0] not in (b"Z", b"X"):
                rows[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return rows


def _environment(pid: int) -> list[bytes]:
    try:
        return Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []
