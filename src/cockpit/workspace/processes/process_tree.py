"""Ends a process with its whole tree: its group, its session, its descendants, and daemons that left all of
these but still carry its mark. Starts nothing.

The mark is an environment variable: a daemon forks twice and opens a new session, but keeps its environment.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TypedDict

MARK_VARIABLE = "COCKPIT_CALL"
TERMINATE_SECONDS = 0.25
KILL_SECONDS = 0.9
POLL_SECONDS = 0.01
CLOCK_STEP_SECONDS = 60.0
"""Start times come from the wall clock, which may be set back while the process runs."""


def make_mark() -> tuple[str, str]:
    """The variable that marks a new process tree, with a value that no other process carries."""
    return MARK_VARIABLE, secrets.token_hex(8)


class SpawnOptions(TypedDict, total=False):
    """The options that make a child the leader of its own process group."""

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
    """A child process with everything it started. `started` is in epoch seconds."""

    pid: int
    mark: str
    started: float = field(default_factory=time.time)


async def end_tree(tree: ProcessTree) -> None:
    """Terminate the whole tree, then kill what is left, within a second."""
    if sys.platform == "win32":
        await asyncio.to_thread(subprocess.run, windows_kill_argv(tree.pid), capture_output=True, check=False)
        return
    began = time.monotonic()
    living = await _signal_tree(tree, signal.SIGTERM)
    while living and time.monotonic() - began < TERMINATE_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        living = await asyncio.to_thread(_living_members, tree)
    # Processes forked meanwhile are found in the next round.
    while living and time.monotonic() - began < KILL_SECONDS:
        await _signal_tree(tree, signal.SIGKILL)
        await asyncio.sleep(POLL_SECONDS)
        living = await asyncio.to_thread(_living_members, tree)


async def _signal_tree(tree: ProcessTree, number: int) -> frozenset[int]:
    living = await asyncio.to_thread(_living_members, tree)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(tree.pid, number)
    for member in living:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, number)
    return living


def _living_members(tree: ProcessTree) -> frozenset[int]:
    """The ids of the processes of the tree that are alive; zombies count as dead."""
    # Imported with the first program that ends: it takes 15 ms, which a start does not have.
    import psutil

    parents: dict[int, int] = {}
    members: set[int] = set()
    # Every program of a tool waits for a scan; `process_iter` caches processes between calls, so it is fast.
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if process.create_time() < tree.started - CLOCK_STEP_SECONDS:
                continue
            pid = process.pid
            with process.oneshot():
                if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                    continue
                parents[pid] = process.ppid()
            if (
                tree.pid in (pid, os.getpgid(pid), os.getsid(pid))
                or process.environ().get(MARK_VARIABLE) == tree.mark
            ):
                members.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in members and pid not in members}:
        members |= more
    return frozenset(members)
