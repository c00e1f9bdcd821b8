"""How much memory processes take with what they started, and whether one lives. Asks the platform only."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

MIB = 1 << 20


def megabytes(pids: Iterable[int], platform: str = sys.platform) -> Mapping[int, int]:
    """Resident MiB of each process and its descendants, 0 where the platform does not say. Blocking."""
    wanted = tuple(pids)
    if not wanted:
        return {}
    rows = _from_proc() if platform == "linux" else _from_list(platform)
    return {pid: _sum(rows, pid) // MIB for pid in wanted}


def _sum(rows: Mapping[int, tuple[int, int]], first: int) -> int:
    found, grown = {first}, True
    while grown:
        more = {pid for pid, (parent, _) in rows.items() if parent in found and pid not in found}
        grown = bool(more)
        found |= more
    return sum(rows[pid][1] for pid in found if pid in rows)


def _from_proc() -> dict[int, tuple[int, int]]:
    """Parent and resident bytes by process (proc(5))."""
    page = os.sysconf("SC_PAGE_SIZE")
    rows: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()
                rows[int(entry.name)] = (int(fields[1]), int(fields[21]) * page)
    return rows


def _from_list(platform: str) -> dict[int, tuple[int, int]]:
    argv = ["tasklist", "/FO", "CSV", "/NH"] if platform == "win32" else ["ps", "-axo", "pid=,ppid=,rss="]
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return from_tasklist(ended.stdout) if platform == "win32" else from_ps(ended.stdout)


def from_ps(output: str) -> dict[int, tuple[int, int]]:
    """Rows of `ps -axo pid=,ppid=,rss=`, whose memory is in KiB."""
    rows = (line.split() for line in output.splitlines())
    return {int(one[0]): (int(one[1]), int(one[2]) * 1024) for one in rows if len(one) == 3}


def from_tasklist(output: str) -> dict[int, tuple[int, int]]:
    """Rows of `tasklist /FO CSV /NH`: it knows no parents, and writes KiB with marks between thousands."""
    rows: dict[int, tuple[int, int]] = {}
    for line in output.splitlines():
        fields = line.strip().strip('"').split('","')
        if len(fields) == 5 and fields[1].isdigit():
            digits = "".join(one for one in fields[4] if one.isdigit())
            rows[int(fields[1])] = (0, int(digits or 0) * 1024)
    return rows


def is_alive(pid: int) -> bool:
    """Whether there is a process `pid`."""
    if sys.platform == "win32":
        import ctypes

        # SYNCHRONIZE (winnt.h): os.kill would end it there.
        opened = ctypes.windll.kernel32.OpenProcess(0x00100000, False, pid)
        if opened:
            ctypes.windll.kernel32.CloseHandle(opened)
        return bool(opened)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
