"""Which files the calls of a session changed, and by how much. What was taken back does not count."""

from cockpit.protocol.events import Envelope, FileChanged, Rewound
from cockpit.tui.state.state import ChangedFile, State


def changed(state: State, event: FileChanged, envelope: Envelope) -> None:
    """Take a change into the sums. A rewind's own writing belongs to no call: `rewound` counts anew."""
    if envelope.call:
        state.changes.append((envelope.seq, event))
        _add(state.files, event)


def rewound(state: State, event: Rewound, envelope: Envelope) -> None:
    """Count without what this rewind took back, or with it again where that was undone."""
    if event.undoes:
        state.taken_back.pop(event.undoes, None)
    elif event.what != "conversation":
        state.taken_back[event.id] = (event.from_seq, envelope.seq, frozenset(event.kept))
    state.files.clear()
    for seq, change in state.changes:
        if not any(
            begin <= seq < end and change.path not in kept for begin, end, kept in state.taken_back.values()
        ):
            _add(state.files, change)


def _add(files: dict[str, ChangedFile], event: FileChanged) -> None:
    known = files.get(event.path) or files.pop(event.moved_from, None)
    added = event.added + (known.added if known else 0)
    removed = event.removed + (known.removed if known else 0)
    change = "created" if known and known.change == "created" and event.change == "modified" else event.change
    files[event.path] = ChangedFile(event.path, change, added, removed, event.moved_from)
