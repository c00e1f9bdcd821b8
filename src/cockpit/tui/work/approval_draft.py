"""The user's draft answer to an approval: which hunks are left out or rewritten, and which keys count.

Hunks are named by their ids; a part without hunks by its id.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from cockpit.protocol.content import Hunk, new_text
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart, HunkEdit, HunkRow

KeyVerdict = Literal["answer", "write", "drop", "warn"]

HURRY_SECONDS = 2.0
"""Seconds after an answer in which a key on a new card was meant for the card before."""
TYPING_GUARD_SECONDS = 0.6
"""Seconds in which an approval takes no key when it appears while the user is typing."""


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """What the user has left out and rewritten so far. `all_of_it`: nothing is cut for lack of room."""

    left_out: frozenset[str] = frozenset()
    edits: Mapping[str, str] = field(default_factory=dict)
    all_of_it: bool = False


class ApprovalDraft:
    """What the user has chosen so far for the approval on screen, and the guard against keys that were meant
    for something else. `quiet` are the seconds in which an approval that has just appeared takes no key."""

    def __init__(self, quiet: float) -> None:
        self.request = ""  # id of the approval on screen
        self.choice = ApprovalChoice()
        self.shown_at = 0.0  # seconds since the epoch
        self.note_for = ""  # id of the approval that a rejection note is being written for
        self.quiet_until = 0.0  # monotonic
        self._quiet = quiet
        self._answered_at = 0.0  # monotonic
        self._warned_for = ""

    def show(self, request: str, *, is_typing: bool) -> None:
        """Start an empty draft when another approval or question appears."""
        if request == self.request:
            return
        self.request, self.choice, self.shown_at = request, ApprovalChoice(), time.time()
        self.quiet_until = time.monotonic() + max(TYPING_GUARD_SECONDS if is_typing else 0.0, self._quiet)

    def answered(self) -> None:
        """The user has answered what was on screen."""
        self.choice = ApprovalChoice()
        self._answered_at = time.monotonic()

    def judge_key(self) -> KeyVerdict:
        """What an answer key means now: an answer, the start of a prompt (the user cannot have read the card
        yet), or nothing (right after another answer, for which it was meant)."""
        now = time.monotonic()
        if now >= self.quiet_until:
            return "answer"
        if now - self._answered_at >= HURRY_SECONDS:
            return "write"
        self.quiet_until = now + self._quiet
        if self._warned_for == self.request:
            return "drop"
        self._warned_for = self.request  # a key held down warns once
        return "warn"


@dataclass(frozen=True, slots=True)
class ApprovalPiece:
    """Something that can be accepted or left out: a hunk, or a whole file. `hunk` is what would be
    written."""

    name: str
    part: ApprovalPart
    row: HunkRow | None = None
    hunk: Hunk | None = None


def approval_pieces(request: ApprovalRequested) -> tuple[ApprovalPiece, ...]:
    """All pieces in order. A command has none: it runs as a whole."""
    return tuple(piece for part in request.parts for piece in part_pieces(part))


def part_pieces(part: ApprovalPart) -> tuple[ApprovalPiece, ...]:
    if part.diff is None:
        return ()
    if not part.hunks:
        return (ApprovalPiece(part.id, part),)
    hunks = part.diff.hunks if len(part.hunks) == len(part.diff.hunks) else [None] * len(part.hunks)
    return tuple(ApprovalPiece(row.id, part, row, hunk) for row, hunk in zip(part.hunks, hunks, strict=True))


def can_choose(request: ApprovalRequested) -> bool:
    """Whether the user may leave something out and accept the rest."""
    return not request.whole and len(approval_pieces(request)) > 1


def can_edit(request: ApprovalRequested) -> bool:
    """Whether the user may rewrite a hunk."""
    pieces = approval_pieces(request)
    return not request.whole and any(piece.row is not None and piece.row.can_edit for piece in pieces)


def toggle_piece(request: ApprovalRequested, left_out: frozenset[str], name: str) -> frozenset[str]:
    """`left_out` with a hunk, or all hunks of a part, added or removed."""
    names = {piece.name for piece in approval_pieces(request) if name in (piece.name, piece.part.id)}
    return left_out - names if names <= left_out else left_out | names


def build_answer(
    request: ApprovalRequested, left_out: Collection[str], edits: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[HunkEdit, ...]] | None:
    """The parts (empty: all) and edits of a `Decide`; None when everything is left out."""
    pieces = approval_pieces(request)
    accepted = {piece.name for piece in pieces if piece.name not in left_out}
    if pieces and not accepted:
        return None
    hunk_edits = tuple(HunkEdit(name, text) for name, text in edits.items() if name in accepted)
    if len(accepted) == len(pieces):
        return (), hunk_edits
    parts: list[str] = []
    for part in request.parts:
        names = [piece.name for piece in part_pieces(part)]
        chosen = [name for name in names if name in accepted]
        parts += [part.id] if chosen and len(chosen) == len(names) else chosen
    return tuple(parts), hunk_edits


def apply_edit(hunk: Hunk, text: str) -> Hunk:
    """The hunk with the user's text: the same old lines, other new ones."""
    old = [line[1:] for line in hunk.lines if line[:1] in (" ", "-")]
    new = text.removesuffix("\n").split("\n") if text else []
    lines: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in old[a:b]]
        else:
            lines += [f"-{line}" for line in old[a:b]] + [f"+{line}" for line in new[c:d]]
    return replace(hunk, new_lines=len(new), lines=tuple(lines))


def edited_hunk(piece: ApprovalPiece, edits: Mapping[str, str]) -> Hunk | None:
    """The hunk as it would be written, None for a whole file."""
    if piece.hunk is None or piece.name not in edits:
        return piece.hunk
    return apply_edit(piece.hunk, edits[piece.name])


def piece_text(piece: ApprovalPiece, edits: Mapping[str, str]) -> str:
    """The new text of a piece, as an editor opens it."""
    if piece.name in edits or piece.hunk is None:
        return edits.get(piece.name, "")
    return new_text(piece.hunk)


def count_changes(hunks: Collection[Hunk]) -> tuple[int, int]:
    """How many lines are added and removed."""
    lines = [line for hunk in hunks for line in hunk.lines]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)
