"""What other processes may see of our servers and ask of them, in files of the state folder: `PID.json` with
the rows, `PID.ask` with a verb, `PID.answer` with what came of it. Blocking: for threads and the CLI.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit.errors import DecodeFailed
from cockpit.navigation.lsp.approvals import digest_of
from cockpit.navigation.lsp.measuring import is_alive
from cockpit.protocol import wire
from cockpit.protocol.code import ServerRow, ServerRows
from cockpit.settings.atomic import write_atomically

Verb = Literal["restart", "stop", "allow"]
STEP = 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """Another live cockpit on the same root, and its servers."""

    pid: int
    rows: tuple[ServerRow, ...]


def folder_of(state: Path, root: str) -> Path:
    """Where the processes on a root (its real path) keep these files, their servers' logs and the yeses."""
    return state / "lsp" / digest_of(root)


def running(state: Path, root: str) -> tuple[Running, ...]:
    """The other live processes on `root`. What dead ones left behind is removed."""
    found = []
    for pid, file in _files(folder_of(state, os.path.realpath(root))):
        if pid == os.getpid():
            continue
        if not is_alive(pid):
            clear(file.parent, pid)
            continue
        with contextlib.suppress(OSError, DecodeFailed):
            shown = wire.loads(file.read_bytes())
            if isinstance(shown, ServerRows):
                found.append(Running(pid, shown.rows))
    return tuple(found)


def ask(state: Path, root: str, verb: Verb, name: str, seconds: float) -> str:
    """Have every other live process on `root` do `verb` to its servers called `name` (empty: all). What each
    did, a line each; empty when there is none."""
    folder = folder_of(state, os.path.realpath(root))
    answers = []
    for one in running(state, root):
        token = secrets.token_hex(8)
        (folder / f"{one.pid}.answer").unlink(missing_ok=True)
        asked = json.dumps({"verb": verb, "name": name, "token": token})
        write_atomically(folder / f"{one.pid}.ask", asked.encode(), private=True)
        answers.append(_await(folder / f"{one.pid}.answer", one.pid, token, seconds))
    return "\n".join(answers)


def _await(file: Path, pid: int, token: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until and is_alive(pid):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            answer = json.loads(file.read_bytes())
            if answer["token"] == token:
                file.unlink(missing_ok=True)
                return str(answer["words"])
        time.sleep(STEP)
    return f"the cockpit with process {pid} did not answer within {seconds:g} s"


def show(folder: Path, rows: Sequence[ServerRow]) -> None:
    """Write our rows. A folder that cannot be written costs the others the sight of them, no more."""
    with contextlib.suppress(OSError):
        shown = wire.dumps(ServerRows(tuple(rows))).encode()
        write_atomically(folder / f"{os.getpid()}.json", shown, private=True)


def asked(folder: Path) -> tuple[Verb, str, str] | None:
    """What another process asks of us: verb, name and token. Taking it removes it."""
    file = folder / f"{os.getpid()}.ask"
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


def answer(folder: Path, token: str, words: str) -> None:
    """Say what came of it."""
    with contextlib.suppress(OSError):
        said = json.dumps({"token": token, "words": words})
        write_atomically(folder / f"{os.getpid()}.answer", said.encode(), private=True)


def clear(folder: Path, pid: int) -> None:
    """Remove the files of process `pid`."""
    for kind in ("json", "ask", "answer"):
        with contextlib.suppress(OSError):
            (folder / f"{pid}.{kind}").unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    for file in sorted(folder.glob("*.json")):
        if file.stem.isdigit():
            yield int(file.stem), file
