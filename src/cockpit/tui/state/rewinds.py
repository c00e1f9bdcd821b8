"""What a rewind does to the state: what was said is marked, and the prompt comes back."""

from cockpit.protocol.events import Envelope, Rewound
from cockpit.tui import figures
from cockpit.tui.clean import clean, one_line
from cockpit.tui.state import files
from cockpit.tui.state.entries import Remark, Said
from cockpit.tui.state.state import Request, State

NAMED = 3


def rewound(state: State, event: Rewound, envelope: Envelope) -> None:
    """Take a rewind, or one that was undone, into `state`."""
    files.rewound(state, event, envelope)
    if event.undoes:
        state.rewinds.pop(event.undoes, None)
    elif event.what != "files":
        state.rewinds[event.id] = (event.from_seq, envelope.seq)
    for number, entry in enumerate(state.entries):
        if isinstance(entry, Said) and entry.seq:
            gone = any(begin <= entry.seq < end for begin, end in state.rewinds.values())
            if gone != entry.rewound:
                entry.rewound = gone
                state.touch(number)
    state.add(Remark("warning" if event.left else "note", _said(event), _hint(event)))
    if event.id in state.captured:
        state.captured.discard(event.id)
        text = clean(event.prompt) if event.what != "files" and not event.undoes else ""
        state.requests.append(Request("rewound", "", event.id, envelope.time, {}, text))


def _said(event: Rewound) -> str:
    restored = f"{figures.count(event.files, 'file')} restored" if event.files else "no file had to change"
    if event.undoes:
        return f"the rewind is undone: {restored}" if event.what != "conversation" else "the rewind is undone"
    parts = {"files": restored, "both": f"{restored}, the conversation is shorter"}
    return f"went back: {parts.get(event.what, 'the conversation is shorter')}"


def _hint(event: Rewound) -> str:
    said = [f"not restored: {one_line(one)}" for one in event.left[:NAMED]]
    if event.kept:
        said.append(f"yours, kept: {', '.join(map(one_line, event.kept[:NAMED]))}")
    if not event.undoes:
        said.append("/rewind undo takes it back")
    return "; ".join(said)
