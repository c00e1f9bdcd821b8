"""Going back: the turns with what they changed, what going back would do, and whose files stay."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from cockpit.protocol import ops
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Refused
from cockpit.tui.clean import single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.screens.dialogs import ConfirmDialog
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.screens.reader import TextReader, diff_lines
from cockpit.tui.session_link import ORIGIN
from cockpit.tui.state.entries import clean_diff

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController

OwnChanges = Literal["keep", "overwrite"]
_SCOPES: dict[str, Literal["both", "files", "conversation"]] = {
    "b": "both",
    "f": "files",
    "c": "conversation",
}
MAX_NAMED = 8


async def choose_rewind(desk: "SessionController") -> None:
    """Choose a turn, look at the way back, take it."""
    app = desk.app
    found = await _ask_checkpoints(desk, "")
    if found is None:
        return
    if not found.rows:
        app.notify("nothing was said in this session yet")
        return
    choices = [_turn_choice(desk, row) for row in found.rows]
    foot = "Enter look at the way back   Esc stay"
    chosen = await app.push_screen_wait(Picker(app.palette, "Go back to before", choices, foot=foot))
    row = next((one for one in found.rows if one.turn == chosen), None)
    if row is not None:
        await _confirm_rewind(desk, row)


async def undo_rewind(desk: "SessionController") -> None:
    """Take the last rewind back."""
    if (link := desk.link) is not None:
        await link.submit(ops.Rewind(link.fresh(), ORIGIN, "", undo=True))


async def _confirm_rewind(desk: "SessionController", row: CheckpointRow) -> None:
    app, link = desk.app, desk.link
    found = await _ask_checkpoints(desk, row.turn)
    if found is None or link is None:
        return
    is_undo = row.kind == "rewind" and row.state == ""
    keys = [("u", "undo it")] if is_undo else [("b", "both"), ("f", "files"), ("c", "conversation")]
    title = single_line(row.title) if is_undo else f"Before: {single_line(row.title)}"
    added, removed = (sum(getattr(one, side) for one in found.diffs) for side in ("added", "removed"))
    right = f"{number_format.format_count(found.files, 'file')}   +{added} -{removed}"
    key = await app.push_screen_wait(
        TextReader(app.palette, title, _rewind_lines(found), right=right, keys=keys)
    )
    if not key:
        return
    persons: OwnChanges | None = "keep"
    if found.persons and key != "c":
        persons = await _ask_own_changes(desk, found.persons)
    if persons is None:
        return
    op = ops.Rewind(link.fresh(), ORIGIN, row.turn, _SCOPES.get(key, "both"), persons, undo=is_undo)
    link.state.captured.add(op.id)
    await link.submit(op)


async def _ask_checkpoints(desk: "SessionController", turn: str) -> CheckpointRows | None:
    if desk.link is None:
        return None
    reply = await desk.link.ask(Checkpoints(turn))
    if isinstance(reply, CheckpointRows):
        return reply
    desk.app.notify(reply.reason if isinstance(reply, Refused) else "there is nothing to go back to")
    return None


async def _ask_own_changes(desk: "SessionController", paths: Sequence[str]) -> OwnChanges | None:
    """What becomes of the files that the person changed since."""
    lines = [
        f"You have changed {number_format.format_count(len(paths), 'file')} since: {_join_names(paths)}."
    ]
    keys = (("k", "keep mine"), ("o", "overwrite mine"))
    key = await desk.app.push_screen_wait(ConfirmDialog(desk.app.palette, "Your own changes", lines, keys))
    answers: dict[str, OwnChanges] = {"k": "keep", "o": "overwrite"}
    return answers.get(key)


def _turn_choice(desk: "SessionController", row: CheckpointRow) -> PickerChoice:
    now = row.time if desk.app.options.still else time.time()
    changed = (
        f"{number_format.format_count(row.files, 'file')} +{row.added} -{row.removed}"
        if row.files
        else "no files"
    )
    detail = " · ".join(part for part in (changed, row.state, _join_names(row.paths[:2])) if part)
    return PickerChoice(
        row.turn, single_line(row.title) or "(nothing said)", detail, number_format.format_age(now - row.time)
    )


def _join_names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(map(single_line, paths[:MAX_NAMED])) + more


def _rewind_lines(found: CheckpointRows) -> Callable[[int], list[StyledLine]]:
    """The files that stay, those that cannot be had back, and then every change."""
    said: list[tuple[str, str]] = []
    if found.persons:
        said.append(
            ("warn", f"Changed by you since, kept unless you say otherwise: {_join_names(found.persons)}")
        )
    if found.left:
        said.append(("warn", f"Cannot be had back: {'; '.join(map(single_line, found.left[:MAX_NAMED]))}"))
    if found.note:
        said.append(("muted", single_line(found.note)))
    if found.files > len(found.diffs):
        said.append(("muted", f"The first {len(found.diffs)} of {found.files} files are shown."))
    if not found.files:
        said.append(("muted", "No file would change."))
    lay = diff_lines([clean_diff(diff) for diff in found.diffs])

    def lines(width: int) -> list[StyledLine]:
        told = [
            line
            for key, text in said
            for line in layout_paragraph(text, width, key=f"{key}/surface", fill="body/surface")
        ]
        return [*told, *([StyledLine([], "body/surface")] if told and found.diffs else []), *lay(width)]

    return lines
