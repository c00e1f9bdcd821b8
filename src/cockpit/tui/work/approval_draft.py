"""What a person takes of an approval, while they choose: pure. Hunks are named by their ids, a part that
has none by its own; `out` holds what is left out, `edits` the texts they wrote."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from cockpit.protocol.content import Hunk, new_text
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.rows import ApprovalPart, HunkEdit, HunkRow


@dataclass(frozen=True, slots=True)
class ApprovalPiece:
    """Something that can be taken or left: a hunk, or a file as one. `hunk` is what would be written."""

    name: str
    part: ApprovalPart
    row: HunkRow | None = None
    hunk: Hunk | None = None


def approval_pieces(request: ApprovalRequested) -> tuple[ApprovalPiece, ...]:
    """All of them, in order. A command has none: it runs as a whole."""
    return tuple(piece for part in request.parts for piece in part_pieces(part))


def part_pieces(part: ApprovalPart) -> tuple[ApprovalPiece, ...]:
    if part.diff is None:
        return ()
    if not part.hunks:
        return (ApprovalPiece(part.id, part),)
    one_each = len(part.hunks) == len(part.diff.hunks)
    return tuple(
        ApprovalPiece(row.id, part, row, part.diff.hunks[at] if one_each else None)
        for at, row in enumerate(part.hunks)
    )


def can_choose(request: ApprovalRequested) -> bool:
    """Whether a person may leave something out and take the rest."""
    return not request.whole and len(approval_pieces(request)) > 1


def can_edit(request: ApprovalRequested) -> bool:
    return not request.whole and any(
        one.row is not None and one.row.can_edit for one in approval_pieces(request)
    )


def toggle_piece(request: ApprovalRequested, out: frozenset[str], name: str) -> frozenset[str]:
    """`out` with a hunk, or all hunks of a part, taken or left."""
    names = {one.name for one in approval_pieces(request) if name in (one.name, one.part.id)}
    return out - names if names <= out else out | names


def build_answer(
    request: ApprovalRequested, out: Collection[str], edits: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[HunkEdit, ...]] | None:
    """What a `Decide` says: parts (empty: all) and edits. None when nothing is left."""
    found = approval_pieces(request)
    kept = {one.name for one in found if one.name not in out}
    if found and not kept:
        return None
    written = tuple(HunkEdit(name, text) for name, text in edits.items() if name in kept)
    if len(kept) == len(found):
        return (), written
    parts: list[str] = []
    for part in request.parts:
        own = [one.name for one in part_pieces(part)]
        taken = [name for name in own if name in kept]
        parts += [part.id] if taken and len(taken) == len(own) else taken
    return tuple(parts), written


def apply_edit(hunk: Hunk, text: str) -> Hunk:
    """The hunk as it looks with the person's text: the same old lines, other new ones."""
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
    """The hunk as it would be written."""
    if piece.hunk is None or piece.name not in edits:
        return piece.hunk
    return apply_edit(piece.hunk, edits[piece.name])


def piece_text(piece: ApprovalPiece, edits: Mapping[str, str]) -> str:
    """What an editor begins with."""
    if piece.name in edits or piece.hunk is None:
        return edits.get(piece.name, "")
    return new_text(piece.hunk)


def count_changes(hunks: Collection[Hunk]) -> tuple[int, int]:
    lines = [line for hunk in hunks for line in hunk.lines]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)
