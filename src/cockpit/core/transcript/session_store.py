"""Where sessions are stored: one folder per root, one transcript per session, listed without loading them.
Tool outputs over their cap are stored in files beside the transcript.
"""

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from cockpit import paths
from cockpit.errors import CockpitError, SessionUnknown
from cockpit.plugin.tools import Cap
from cockpit.protocol import wire
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import Envelope, TurnStarted
from cockpit.protocol.queries import SessionRow

PROMPT_MARK = b'"op":{"type":"prompt"'
TURN_MARK = b'"event":{"type":"turn_started"'


def session_folder(root: str) -> Path:
    """The folder of the sessions of `root`; its name begins with that of the root for readability."""
    real = os.path.realpath(root)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(real).name)[:40]
    return paths.state() / "sessions" / f"{name}-{digest}"


def new_session_id() -> str:
    """An id that sorts by time: `20261121-234512-9f3a`."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def session_file(session: str, root: str | None = None) -> Path:
    """The transcript of `session`, or of the only session whose id starts with it. Raises
    `SessionUnknown`."""
    folders = [session_folder(root)] if root is not None else _session_folders()
    stored = [path for folder in folders for path in folder.glob("*.jsonl")]
    exact = [path for path in stored if path.stem == session]
    found = exact or [path for path in stored if session and path.stem.startswith(session)]
    if len(found) == 1:
        return found[0]
    if root is not None:
        return session_file(session)
    if found:
        raise SessionUnknown(f"{session} matches {len(found)} sessions", "give more of the id")
    raise SessionUnknown(f"there is no session {session}", "cockpit sessions list shows all")


def latest_session(root: str) -> str | None:
    """The id of the session of `root` that was written last."""
    rows = list_sessions(root)
    return rows[0].id if rows else None


def list_sessions(root: str | None) -> tuple[SessionRow, ...]:
    """Stored sessions, newest first."""
    folders = [session_folder(root)] if root is not None else _session_folders()
    rows = [
        row
        for folder in folders
        for path in folder.glob("*.jsonl")
        if (row := _session_row(path)) is not None
    ]
    return tuple(sorted(rows, key=lambda row: row.updated, reverse=True))


def remove_session(session: str) -> Path:
    """Delete a session's file and its stored outputs. Raises `SessionUnknown`, `CockpitError`."""
    path = session_file(session)
    if path.with_suffix(".lock").exists():
        raise CockpitError(f"session {path.stem} is open", "close it first")
    path.unlink()
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    return path


def _session_folders() -> list[Path]:
    try:
        return sorted(path for path in (paths.state() / "sessions").iterdir() if path.is_dir())
    except OSError:
        return []


def _session_row(path: Path) -> SessionRow | None:
    """A row from the head of the file and a scan of its bytes."""
    title, model, turns, prompted, header = "", "", 0, False, None
    try:
        updated = path.stat().st_mtime
        with path.open("rb") as file:
            for line in file:
                if header is None:
                    header = json.loads(line)
                elif TURN_MARK in line[:400]:
                    turns += 1
                    title = title or _session_title(line)
                elif PROMPT_MARK in line[:120]:
                    # A prompt that was accepted and perhaps never begun counts too.
                    prompted = True
                elif b'"type":"session_' in line[:400]:
                    model = json.loads(line).get("event", {}).get("model", model)
    except (OSError, ValueError):
        return None
    if not isinstance(header, dict) or not (turns or prompted):
        return None
    return SessionRow(path.stem, str(header.get("root", "")), title, updated, turns, model)


def _session_title(line: bytes) -> str:
    envelope = wire.loads(line)
    event = envelope.event if isinstance(envelope, Envelope) else None
    return " ".join(plain_text(event.content).split())[:80] if isinstance(event, TurnStarted) else ""


SMALL_WINDOW = 32_000


class StoredResults:
    """The stored outputs of one session, one file each in `folder`."""

    def __init__(self, folder: Path, redact: Callable[[str], str] = lambda text: text) -> None:
        self._folder = folder
        self._redact = redact

    def keep(self, text: str) -> str:
        """Store `text` and return its handle."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = f"r{secrets.token_hex(4)}"
        redacted = self._redact(text)
        (self._folder / f"{handle}.txt").write_text(redacted, encoding="utf-8", errors="replace", newline="")
        return handle

    def page(self, handle: str, cursor: int, size: int) -> tuple[str, int, int]:
        """Text from character `cursor`, the next cursor (-1 at the end), and the total."""
        if not handle.isalnum():
            raise KeyError(handle)
        try:
            text = (self._folder / f"{handle}.txt").read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise KeyError(handle) from error
        end = min(len(text), max(0, cursor) + size)
        return text[max(0, cursor) : end], -1 if end >= len(text) else end, len(text)


def left_out_note(left: int, total: int, handle: str) -> str:
    """The note after a cut text whose whole is stored under `handle`."""
    return f"[{left} of {total} characters are left out: read_result(handle={handle!r}) returns all]"


def cap_output(text: str, cap: Cap, window: int, results: StoredResults) -> tuple[str, str]:
    """`text` within its cap, and the handle of the whole, empty when nothing was stored.

    For windows under 32k tokens the cap is half. Text is cut between lines where possible.
    """
    scale = 2 if window < SMALL_WINDOW else 1
    size, entries = cap.size // scale, max(1, cap.entries // scale)
    lines = text.split("\n")
    if len(text.encode("utf-8", "replace")) <= size and len(lines) <= entries:
        return text, ""
    handle = results.keep(text)
    if cap.shape == "head":
        head, tail = _cut_head(lines, size, entries), ""
    else:
        head = _cut_head(lines, size // 2, entries // 2)
        tail = _cut_tail(text[len(head) :], size // 2, entries // 2)
    note = left_out_note(len(text) - len(head) - len(tail), len(text), handle)
    return f"{head}\n{note}\n{tail}" if tail else f"{head}\n{note}", handle


def _cut_head(lines: list[str], size: int, entries: int) -> str:
    head: list[str] = []
    left = size
    for line in lines[:entries]:
        cost = len(line.encode("utf-8", "replace")) + 1
        if cost > left:
            if not head:
                head.append(line.encode("utf-8", "replace")[:left].decode("utf-8", "ignore"))
            break
        head.append(line)
        left -= cost
    return "\n".join(head)


def _cut_tail(text: str, size: int, entries: int) -> str:
    tail = _cut_head(text.split("\n")[::-1], size, entries).split("\n")[::-1]
    joined = "\n".join(tail)
    if text.endswith(joined):
        return joined
    # A single line longer than the cap: its end stays.
    return text.encode("utf-8", "replace")[-size:].decode("utf-8", "ignore")
