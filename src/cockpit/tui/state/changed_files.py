"""Counts the changed lines of each file in a session, without the changes that a rewind took back."""

from cockpit.protocol.events import Envelope, FileChanged, Rewound
from cockpit.protocol.safe_text import clean, single_line
from cockpit.tui.state.entries import PromptEntry, RemarkEntry
from cockpit.tui.state.screen_state import ChangedFile, FrontendRequest, ScreenState

MAX_NAMED = 3
"""Files named in a rewind's remark."""


def record_change(state: ScreenState, event: FileChanged, envelope: Envelope) -> None:
    """Add a change to the sums. What a rewind itself writes belongs to no call and is counted afterwards."""
    if envelope.call:
        state.changes.append((envelope.seq, event))
        _add_change(state.files, event)


def _recount_files(state: ScreenState, event: Rewound, envelope: Envelope) -> None:
    """Count again without the changes this rewind took back, or with them where it was undone."""
    if event.undoes:
        state.undone_ranges.pop(event.undoes, None)
    elif event.what != "conversation":
        state.undone_ranges[event.id] = (event.from_seq, envelope.seq, frozenset(event.kept))
    state.files.clear()
    for seq, change in state.changes:
        if not any(
            begin <= seq < end and change.path not in left_alone
            for begin, end, left_alone in state.undone_ranges.values()
        ):
            _add_change(state.files, change)


def _add_change(files: dict[str, ChangedFile], event: FileChanged) -> None:
    known = files.get(event.path) or files.pop(event.moved_from, None)
    added = event.added + (known.added if known else 0)
    removed = event.removed + (known.removed if known else 0)
    change = "created" if known and known.change == "created" and event.change == "modified" else event.change
    files[event.path] = ChangedFile(event.path, change, added, removed, event.moved_from)


def apply_rewind(state: ScreenState, event: Rewound, envelope: Envelope) -> None:
    """Mark the prompts that a rewind took back, or brought back, and return the prompt to its screen."""
    _recount_files(state, event, envelope)
    if event.undoes:
        state.rewinds.pop(event.undoes, None)
    elif event.what != "files":
        state.rewinds[event.id] = (event.from_seq, envelope.seq)
    for number, entry in enumerate(state.entries):
        if isinstance(entry, PromptEntry) and entry.seq:
            gone = any(begin <= entry.seq < end for begin, end in state.rewinds.values())
            if gone != entry.rewound:
                entry.rewound = gone
                state.touch(number)
    state.add(RemarkEntry("warning" if event.left else "note", _describe_rewind(event), _rewind_hint(event)))
    if event.id in state.captured:
        state.captured.discard(event.id)
        text = clean(event.prompt) if event.what != "files" and not event.undoes else ""
        state.requests.append(FrontendRequest("rewound", "", event.id, envelope.time, {}, text))


def _describe_rewind(event: Rewound) -> str:
    restored = "no file had to change"
    if event.files:
        restored = f"{event.files:,} {'file' if event.files == 1 else 'files'} restored"
    if event.undoes:
        return f"the rewind is undone: {restored}" if event.what != "conversation" else "the rewind is undone"
    parts = {"files": restored, "both": f"{restored}, the conversation is shorter"}
    return f"went back: {parts.get(event.what, 'the conversation is shorter')}"


def _rewind_hint(event: Rewound) -> str:
    parts = [f"not restored: {single_line(path)}" for path in event.left[:MAX_NAMED]]
    if event.kept:
        parts.append(
            f"your own changes, left as they are: {', '.join(map(single_line, event.kept[:MAX_NAMED]))}"
        )
    if not event.undoes:
        parts.append("/rewind undo reverts it")
    return "; ".join(parts)
