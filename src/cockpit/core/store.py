"""Where sessions lie: one folder per root, one file per session, listed without loading them."""

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from cockpit import paths
from cockpit.errors import CockpitError, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.content import plain
from cockpit.protocol.events import Envelope, TurnStarted
from cockpit.protocol.queries import SessionRow

PROMPTED = b'"op":{"type":"prompt"'
STARTED = b'"event":{"type":"turn_started"'


def folder_of(root: str) -> Path:
    """The folder of the sessions of `root`; its name begins with the root's own, for people."""
    real = os.path.realpath(root)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(real).name)[:40]
    return paths.state() / "sessions" / f"{name}-{digest}"


def new_id() -> str:
    """An id that sorts by time: `20261121-234512-9f3a`."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def file_of(session: str, root: str | None = None) -> Path:
    """The transcript of `session` (or the only one it is the beginning of). Raises `SessionUnknown`."""
    folders = [folder_of(root)] if root is not None else _folders()
    stored = [path for folder in folders for path in folder.glob("*.jsonl")]
    exact = [path for path in stored if path.stem == session]
    found = exact or [path for path in stored if session and path.stem.startswith(session)]
    if len(found) == 1:
        return found[0]
    if root is not None:
        return file_of(session)
    if found:
        raise SessionUnknown(f"{session} fits {len(found)} sessions", "give more of the id")
    raise SessionUnknown(f"there is no session {session}", "cockpit sessions list shows them")


def latest(root: str) -> str | None:
    """The id of the session of `root` that was written last."""
    rows = sessions_of(root)
    return rows[0].id if rows else None


def sessions_of(root: str | None) -> tuple[SessionRow, ...]:
    """Stored sessions, the newest first."""
    folders = [folder_of(root)] if root is not None else _folders()
    rows = [row for folder in folders for path in folder.glob("*.jsonl") if (row := _row(path)) is not None]
    return tuple(sorted(rows, key=lambda row: row.updated, reverse=True))


def remove(session: str) -> Path:
    """Delete a session's file and what was set aside for it. Raises `SessionUnknown`, `CockpitError`."""
    path = file_of(session)
    if path.with_suffix(".lock").exists():
        raise CockpitError(f"session {path.stem} is open", "close it first")
    path.unlink()
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    return path


def _folders() -> list[Path]:
    try:
        return sorted(one for one in (paths.state() / "sessions").iterdir() if one.is_dir())
    except OSError:
        return []


def _row(path: Path) -> SessionRow | None:
    """A row from the head of the file and a scan of its bytes."""
    title, model, turns, prompted, header = "", "", 0, False, None
    try:
        updated = path.stat().st_mtime
        for line in _lines(path):
            if header is None:
                header = json.loads(line)
            elif STARTED in line[:400]:
                turns += 1
                title = title or _title(line)
            elif PROMPTED in line[:120]:
                # Accepted, and perhaps never begun: that is not nothing.
                prompted = True
            elif b'"type":"session_' in line[:400]:
                event = json.loads(line).get("event", {})
                model = event.get("model", model)
    except (OSError, ValueError):
        return None
    if not isinstance(header, dict) or not (turns or prompted):
        return None
    return SessionRow(path.stem, str(header.get("root", "")), title, updated, turns, model)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _title(line: bytes) -> str:
    envelope = wire.loads(line)
    event = envelope.event if isinstance(envelope, Envelope) else None
    return " ".join(plain(event.content).split())[:80] if isinstance(event, TurnStarted) else ""
