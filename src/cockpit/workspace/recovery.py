"""What a crash left of a transaction: finished if it had been committed, else undone.

A file that somebody changed since the crash keeps their bytes, and that is said.
"""

import os
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cockpit.plugin.context import ChangeRefused, PathRefused
from cockpit.workspace.calls import Calls
from cockpit.workspace.changes import digest
from cockpit.workspace.disk import Folders, insist, read_regular
from cockpit.workspace.journal import Entry, Record, unfinished

State = Literal["before", "after", "other"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """One transaction that was brought to an end. `conflicts` are files left as somebody made them."""

    outcome: Literal["finished", "undone"]
    paths: tuple[str, ...]
    conflicts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for the person who opens the session."""
        said = f"a write that a crash had cut off was {self.outcome}: {', '.join(self.paths)}"
        left = ", ".join(self.conflicts)
        return f"{said}; changed meanwhile and left as they are: {left}" if left else said


def recover(journals: str, calls: Calls | None = None) -> tuple[Recovered, ...]:
    """Bring every unfinished transaction to an end. Those of living processes are left alone."""
    calls = calls or Calls()
    done: list[Recovered] = []
    for journal, record in unfinished(journals):
        clean = True
        if record is not None:
            folders = Folders(calls)
            try:
                recovered, clean = _recover(record, folders, calls)
            finally:
                folders.close()
            done.append(recovered)
        if clean:
            insist(partial(journal.end, calls))
    return tuple(done)


def _recover(record: Record, folders: Folders, calls: Calls) -> tuple[Recovered, bool]:
    theirs = [entry for entry in record.entries if record.committed and _is_theirs(entry, folders, calls)]
    given = [insist(partial(_give_back, entry, folders, calls)) for entry in theirs]
    if not all(given):
        return Recovered("undone", tuple(entry.path for entry in record.entries)), False
    states = {entry.path: _state(entry, folders, calls) for entry in record.entries}
    conflicts = tuple(path for path, state in states.items() if state == "other")
    ready = all(_is_ready(entry, states[entry.path], folders, calls) for entry in record.entries)
    forward = record.committed and not conflicts and ready
    clean = True
    for entry in record.entries:
        if forward and states[entry.path] == "before":
            clean = insist(partial(_forward, entry, folders, calls)) and clean
        elif record.committed and not forward and states[entry.path] == "after":
            clean = insist(partial(_back, entry, folders, calls)) and clean
    if clean:
        clean = _sweep(record, folders, calls, forward)
    paths = tuple(entry.path for entry in record.entries)
    return Recovered("finished" if forward else "undone", paths, conflicts), clean


def _is_theirs(entry: Entry, folders: Folders, calls: Calls) -> bool:
    """Whether our file is in place and what it was swapped with is neither old nor ours: somebody saved
    it in the very moment before."""
    if entry.before == entry.after or _digest(entry.path, folders, calls) != entry.after:
        return False
    return _digest(entry.temp, folders, calls) not in ("", entry.before, entry.after)


def _give_back(entry: Entry, folders: Folders, calls: Calls) -> None:
    folder, name = folders.spot(entry.path)
    calls.rename(folders.spot(entry.temp)[1], name, folder)


def _state(entry: Entry, folders: Folders, calls: Calls) -> State:
    found = _digest(entry.path, folders, calls)
    if found == entry.before and _has(entry.temp, folders, calls) == bool(entry.after):
        return "before"
    if found == entry.after:
        return "after"
    return "before" if found == entry.before else "other"


def _digest(path: str, folders: Folders, calls: Calls) -> str | None:
    try:
        folder, name = folders.spot(path)
        return digest(read_regular(name, folder, calls, path)[0])
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (ChangeRefused, PathRefused):
        return None


def _has(path: str, folders: Folders, calls: Calls) -> bool:
    return bool(_digest(path, folders, calls))


def _is_ready(entry: Entry, state: State, folders: Folders, calls: Calls) -> bool:
    """Whether what the entry still needs to go forward lies whole beside it."""
    return state == "after" or not entry.after or _digest(entry.temp, folders, calls) == entry.after


def _forward(entry: Entry, folders: Folders, calls: Calls) -> None:
    folder, name = folders.spot(entry.path)
    if entry.after:
        calls.rename(folders.spot(entry.temp)[1], name, folder)
    else:
        calls.unlink(name, folder)


def _back(entry: Entry, folders: Folders, calls: Calls) -> None:
    folder, name = folders.spot(entry.path)
    if not entry.before:
        calls.unlink(name, folder)
    elif _has(entry.backup, folders, calls):
        calls.rename(folders.spot(entry.backup)[1], name, folder)


def _sweep(record: Record, folders: Folders, calls: Calls, forward: bool) -> bool:
    clean = True
    for entry in record.entries:
        for path in (entry.temp, entry.backup):
            if _digest(path, folders, calls) not in ("", None):
                folder, name = folders.spot(path)
                clean = insist(partial(calls.unlink, name, folder)) and clean
    for path in reversed(record.folders):
        if not forward and os.path.isdir(path) and not os.listdir(path):
            clean = insist(partial(folders.unmake, path)) and clean
    return clean
