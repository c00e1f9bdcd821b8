"""Which files the calls of a session changed, and by how much. What was taken back does not count.

What a rewind does to the state: what was said is marked, and the prompt comes back.
"""

from cockpit.protocol.events import Envelope, FileChanged, Rewound
from cockpit.tui.clean import clean, single_line
from cockpit.tui.render import number_format
from cockpit.tui.state.entries import PromptEntry, RemarkEntry
from cockpit.tui.state.screen_state import ChangedFile, FrontendRequest, ScreenState


def record_change(state: ScreenState, event: FileChanged, envelope: Envelope) -> None:
    """Take a change into the sums. A rewind's own writing belongs to no call: `rewound` counts anew."""
    if envelope.call:
        state.changes.append((envelope.seq, event))
        _add_change(state.files, event)


def recount_after_rewind(state: ScreenState, event: Rewound, envelope: Envelope) -> None:
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
            _add_change(state.files, change)


def _add_change(files: dict[str, ChangedFile], event: FileChanged) -> None:
    known = files.get(event.path) or files.pop(event.moved_from, None)
    added = event.added + (known.added if known else 0)
    removed = event.removed + (known.removed if known else 0)
    change = "created" if known and known.change == "created" and event.change == "modified" else event.change
    files[event.path] = ChangedFile(event.path, change, added, removed, event.moved_from)


MAX_NAMED = 3


def apply_rewind(state: ScreenState, event: Rewound, envelope: Envelope) -> None:
    """Take a rewind, or one that was undone, into `state`."""
    recount_after_rewind(state, event, envelope)
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
    restored = (
        f"{number_format.format_count(event.files, 'file')} restored"
        if event.files
        else "no file had to change"
    )
    if event.undoes:
        return f"the rewind is undone: {restored}" if event.what != "conversation" else "the rewind is undone"
    parts = {"files": restored, "both": f"{restored}, the conversation is shorter"}
    return f"went back: {parts.get(event.what, 'the conversation is shorter')}"


def _rewind_hint(event: Rewound) -> str:
    said = [f"not restored: {single_line(one)}" for one in event.left[:MAX_NAMED]]
    if event.kept:
        said.append(f"yours, kept: {', '.join(map(single_line, event.kept[:MAX_NAMED]))}")
    if not event.undoes:
        said.append("/rewind undo takes it back")
    return "; ".join(said)
