"""The hunk ledger: which hunks a person took, refused or edited, the change set that leaves, and what the
model is told of it. Pure: knows no files and asks nobody."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.protocol.content import Diff, Hunk, new_text
from cockpit.protocol.events import ApprovalRequested, ApprovalResolved, Envelope
from cockpit.protocol.messages import Decision
from cockpit.protocol.queries import RefusalRow
from cockpit.protocol.rows import ApprovalPart, HunkEdit, HunkRow
from cockpit.workspace.changes import diff_of, file_change
from cockpit.workspace.hunks import rebuilt

SHOWN_HUNKS = 12
SHOWN_LINES = 24
REDACTED = "[redacted"


@dataclass(frozen=True, slots=True)
class Settled:
    """A change set after a person's answer. `accepted`, `refused` and `edited` are names of hunks, `told`
    is what the model reads of it ("" when all was taken), `problem` why nothing may be written."""

    changes: ChangeSet
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    told: str = ""
    problem: str = ""


@dataclass(slots=True)
class Sorting:
    """The hunks of a change set while they are sorted, with words for the model."""

    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    problem: str = ""


def part_of(change: FileChange, refused: Iterable[RefusalRow] = ()) -> ApprovalPart:
    """A file of a change set as a person is asked about it."""
    diff = diff_of(change)
    before = tuple(row for row in refused if row.path == change.path)
    can_edit = _can_edit(change)
    rows = tuple(
        HunkRow(name, line, can_edit, _was_refused(lines, before)) for name, line, lines in _pieces(diff)
    )
    return ApprovalPart(diff.path, diff.path, diff.note, diff, hunks=rows)


def named(part: ApprovalPart) -> tuple[str, ...]:
    """The names a `Decide` may use for this part."""
    return (part.id, *(row.id for row in part.hunks))


def answered(
    request: ApprovalRequested, decision: Decision, parts: tuple[str, ...], edits: tuple[HunkEdit, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The hunks that an allow refuses and edits; none of them when all is rejected."""
    if not decision.startswith("allow"):
        return (), ()
    edited = tuple(edit.hunk for edit in edits)
    refused = tuple(
        row.id
        for part in request.parts
        for row in part.hunks
        if parts and part.id not in parts and row.id not in parts and row.id not in edited
    )
    return refused, edited


def settled(changes: ChangeSet, parts: tuple[str, ...], edits: tuple[HunkEdit, ...] = ()) -> Settled:
    """`changes` with what a person took, as they took it. `parts` name files or hunks, none means all."""
    texts = {edit.hunk: edit.text for edit in edits}
    sorting = Sorting()
    files = [_settled_file(change, parts, texts, sorting) for change in changes.files]
    kept = tuple(file for file in files if file is not None)
    return Settled(
        replace(changes, files=kept),
        tuple(sorting.accepted),
        tuple(sorting.refused),
        tuple(sorting.edited),
        _told(sorting),
        sorting.problem,
    )


def audited(taken: Settled | None) -> dict[str, object] | None:
    """The names of the hunks for the audit, None where all was taken as it came."""
    if taken is None or not taken.told:
        return None
    return {"accepted": taken.accepted, "refused": taken.refused, "edited": taken.edited}


def _settled_file(
    change: FileChange, parts: tuple[str, ...], texts: Mapping[str, str], sorting: Sorting
) -> FileChange | None:
    """The file as it is to be written, None when nothing of it is."""
    diff = diff_of(change)
    kept: set[str] = set()
    written: dict[str, bytes] = {}
    pieces = _pieces(diff)
    hunks = diff.hunks if len(pieces) == len(diff.hunks) else ()
    for at, (name, line, lines) in enumerate(pieces):
        hunk = hunks[at] if hunks else None
        if name in texts:
            if problem := _cannot(change, hunk, texts[name]):
                sorting.problem = f"{name}: {problem}"
            elif hunk is not None:
                written[hunk.id] = replacement(hunk, texts[name])
                kept.add(hunk.id)
            sorting.edited.append(name)
            sorting.said.append(
                _said("edited by the person, written as", change.path, line, _lined(texts[name]))
            )
        elif not parts or change.path in parts or name in parts:
            kept.add(hunk.id if hunk else name)
            sorting.accepted.append(name)
        else:
            sorting.refused.append(name)
            sorting.said.append(_said("refused, not written", change.path, line, lines))
    if not kept:
        return None
    if len(kept) == len(pieces) and not written:
        return change
    content = rebuilt(change.before or b"", change.after or b"", hunks, kept, written)
    if change.before is not None and content == change.before:
        return None
    return file_change(change.path, change.before, content, change.mode, change.moved_from)


def replacement(hunk: Hunk, text: str) -> bytes:
    """The bytes that take the place of a hunk's new lines: with its line ends, its byte order mark, and
    a last newline where it had one."""
    new = [line for line in hunk.lines if line[:1] in (" ", "+")]
    text = text.replace("\r\n", "\n")
    if not text:
        return b""
    if not new_text(hunk).endswith("\n") and hunk.new_lines:
        text = text.removesuffix("\n")
    elif not text.endswith("\n"):
        text += "\n"
    if sum(line.endswith("\r") for line in new) * 2 > len(new):
        text = text.replace("\n", "\r\n")
    if new and new[0][1:2] == "\ufeff" and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    return text.encode("utf-8", "replace")


def refusals(envelopes: Iterable[Envelope]) -> tuple[RefusalRow, ...]:
    """Every hunk a person has refused, in order, out of a session's durable events."""
    asked: dict[str, ApprovalRequested] = {}
    found: list[RefusalRow] = []
    for envelope in envelopes:
        match envelope.event:
            case ApprovalRequested() as request:
                asked[request.id] = request
            case ApprovalResolved(by="person") as answer if answer.id in asked:
                request = asked.pop(answer.id)
                everything = answer.decision.startswith("reject")
                names = set(answer.refused)
                for part in request.parts:
                    found += [
                        RefusalRow(part.id, line, lines, envelope.call, envelope.time, answer.note)
                        for name, line, lines in (_pieces(part.diff) if part.diff else ())
                        if everything or name in names
                    ]
            case _:
                pass
    return tuple(found)


def _pieces(diff: Diff) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """Name, first line and signed lines of what can be decided by itself in a file's change."""
    is_one = bool(diff.note or diff.moved_from or not diff.hunks)
    if not is_one:
        return tuple(
            (f"{diff.path}#{number}", max(hunk.old_start, 1), _changed(hunk.lines))
            for number, hunk in enumerate(diff.hunks, 1)
        )
    lines = tuple(line for hunk in diff.hunks for line in _changed(hunk.lines))
    facts = (f"{diff.moved_from} -> {diff.path}",) if diff.moved_from else (diff.note or "mode",)
    return ((f"{diff.path}#1", 1, lines or facts),)


def _changed(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in lines if line[:1] in ("+", "-"))


def _was_refused(lines: tuple[str, ...], before: tuple[RefusalRow, ...]) -> bool:
    """Whether what was refused stands in these lines again, alone or among others."""
    here = [line.rstrip() for line in lines]
    for row in before:
        wanted = [line.rstrip() for line in row.lines]
        if not any(character.isalnum() for line in wanted for character in line):
            continue
        if any(here[at : at + len(wanted)] == wanted for at in range(len(here) - len(wanted) + 1)):
            return True
    return False


def _can_edit(change: FileChange) -> bool:
    if change.binary or change.moved_from or change.after is None or not change.hunks:
        return False
    try:
        (change.before or b"").decode("utf-8")
        change.after.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _cannot(change: FileChange, hunk: Hunk | None, text: str) -> str:
    if hunk is None or not _can_edit(change):
        return "this cannot be edited, only taken or refused"
    if REDACTED in text and not any(REDACTED in line for line in hunk.lines):
        return "the edited text holds a redaction mark in place of a secret; refuse the hunk instead"
    return ""


def _lined(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n")) if text else ("(nothing)",)


def _said(what: str, path: str, line: int, lines: tuple[str, ...]) -> str:
    shown = [f"  {one}" for one in lines[:SHOWN_LINES]]
    more = [f"  ... {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n".join([f"{what}: {path} line {line}", *shown, *more])


def _told(sorting: Sorting) -> str:
    if not sorting.said:
        return ""
    total = len(sorting.accepted) + len(sorting.refused) + len(sorting.edited)
    head = (
        f"[The person decided by hunk: {len(sorting.accepted)} of {total} written as you sent them. "
        "Do not send the others again unless they ask for it."
    )
    said = sorting.said[:SHOWN_HUNKS]
    more = [f"and {len(sorting.said) - SHOWN_HUNKS} more"] if len(sorting.said) > SHOWN_HUNKS else []
    return "\n".join([head, *said, *more]) + "]"
