"""Exchange between the cockpit processes on one root, through files in the state folder: `PID.json` holds
the server rows, `PID.ask` a command, `PID.answer` its result. Blocking: for threads and the CLI."""

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit.errors import DecodeFailed
from cockpit.navigation.lsp.server_programs import root_digest
from cockpit.protocol import wire
from cockpit.protocol.code import ServerRow, ServerRows
from cockpit.settings.file_io import write_atomically

ServerVerb = Literal["restart", "stop", "allow"]
POLL_SECONDS = 0.02


def measure_megabytes(pids: Iterable[int]) -> Mapping[int, int]:
    """Resident MiB of each process with its descendants; 0 if it has ended. Blocking."""
    import psutil

    megabytes: dict[int, int] = {}
    for pid in pids:
        total = 0
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(pid)
            for process in (parent, *parent.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
        megabytes[pid] = total >> 20
    return megabytes


def is_alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid)


@dataclass(frozen=True, slots=True)
class RunningCockpit:
    """Another live cockpit on the same root, and its servers."""

    pid: int
    rows: tuple[ServerRow, ...]


def status_folder(state: Path, root: str) -> Path:
    """Where the processes on a root (its real path) store these files, their servers' logs and the
    approvals."""
    return state / "lsp" / root_digest(root)


def find_running(state: Path, root: str) -> tuple[RunningCockpit, ...]:
    """The other live processes on `root`. Files of dead ones are removed."""
    others = []
    for pid, file in _row_files(status_folder(state, os.path.realpath(root))):
        if pid == os.getpid():
            continue
        if not is_alive(pid):
            remove_files(file.parent, pid)
            continue
        with contextlib.suppress(OSError, DecodeFailed):
            rows = wire.loads(file.read_bytes())
            if isinstance(rows, ServerRows):
                others.append(RunningCockpit(pid, rows.rows))
    return tuple(others)


def request_command(state: Path, root: str, verb: ServerVerb, name: str, seconds: float) -> str:
    """Have every other live process on `root` do `verb` to its servers called `name` (empty: all). Returns
    their results, one line each; empty if there is none."""
    folder = status_folder(state, os.path.realpath(root))
    answers = []
    for other in find_running(state, root):
        token = secrets.token_hex(8)
        (folder / f"{other.pid}.answer").unlink(missing_ok=True)
        request = json.dumps({"verb": verb, "name": name, "token": token})
        write_atomically(folder / f"{other.pid}.ask", request.encode(), private=True)
        answers.append(_await_answer(folder / f"{other.pid}.answer", other.pid, token, seconds))
    return "\n".join(answers)


def _await_answer(file: Path, pid: int, token: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until and is_alive(pid):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            answer = json.loads(file.read_bytes())
            if answer["token"] == token:
                file.unlink(missing_ok=True)
                return str(answer["words"])
        time.sleep(POLL_SECONDS)
    return f"the cockpit with process {pid} did not answer within {seconds:g} s"


class ProcessFiles:
    """The files of this process. For any thread: a write that is still under way when the files are removed
    is finished first, and later ones do nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._is_removed = False

    def write_rows(self, rows: Sequence[ServerRow]) -> None:
        self._write("json", wire.dumps(ServerRows(tuple(rows))))

    def write_answer(self, token: str, words: str) -> None:
        """Write the result of the request with this token."""
        self._write("answer", json.dumps({"token": token, "words": words}))

    def take_request(self) -> tuple[ServerVerb, str, str] | None:
        """Take another process's request: verb, name and token. It is removed."""
        file = self.folder / f"{os.getpid()}.ask"
        try:
            raw = json.loads(file.read_bytes())
        except (OSError, ValueError):
            return None
        with contextlib.suppress(OSError):
            file.unlink()
        if not isinstance(raw, dict):
            return None
        verb, name, token = raw.get("verb"), raw.get("name"), raw.get("token")
        if not isinstance(name, str) or not isinstance(token, str):
            return None
        match verb:
            case "restart" | "stop" | "allow":
                return verb, name, token
            case _:
                return None

    def remove(self) -> None:
        with self._lock:
            self._is_removed = True
            remove_files(self.folder, os.getpid())

    def _write(self, kind: str, content: str) -> None:
        # If the folder cannot be written, other processes just do not see us.
        with self._lock, contextlib.suppress(OSError):
            if not self._is_removed:
                write_atomically(self.folder / f"{os.getpid()}.{kind}", content.encode(), private=True)


def remove_files(folder: Path, pid: int) -> None:
    """Remove the files of process `pid`."""
    for kind in ("json", "ask", "answer"):
        with contextlib.suppress(OSError):
            (folder / f"{pid}.{kind}").unlink(missing_ok=True)


def _row_files(folder: Path) -> Iterator[tuple[int, Path]]:
    for file in sorted(folder.glob("*.json")):
        if file.stem.isdigit():
            yield int(file.stem), file
