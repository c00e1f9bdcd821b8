"""Rewinding: choose a turn, see what would change, decide about your own changes."""

import time
from collections.abc import Callable, Sequence
from typing import Literal

from cockpit.protocol import ops
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Refused
from cockpit.protocol.safe_text import single_line
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.render.number_format import format_age, format_count
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import ConfirmDialog, sheet_line
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.screens.reader import TextReader, diff_lines
from cockpit.tui.session_link import ORIGIN, SessionLink
from cockpit.tui.state.entries import clean_diff

OwnChanges = Literal["keep", "overwrite"]
MAX_NAMED = 8
_SCOPES: dict[str, Literal["both", "files", "conversation"]] = {
    "b": "both",
    "f": "files",
    "c": "conversation",
}


async def choose_rewind(app: ThemedApp, link: SessionLink) -> None:
    """Choose a turn, look at what a rewind to before it would do, and do it."""
    reply = await _ask_checkpoints(app, link, "")
    if reply is None:
        return
    if not reply.rows:
        app.notify("there is no prompt in this session yet")
        return
    choices = [_turn_choice(row, still=app.options.still) for row in reply.rows]
    foot = "Enter preview   Esc close"
    chosen = await app.push_screen_wait(Picker("Go back to before", choices, foot=foot))
    row = next((row for row in reply.rows if row.turn == chosen), None)
    if row is not None:
        await _confirm_rewind(app, link, row)


async def undo_rewind(link: SessionLink) -> None:
    """Undo the last rewind."""
    await link.submit(ops.Rewind(link.new_id(), ORIGIN, "", undo=True))


async def _confirm_rewind(app: ThemedApp, link: SessionLink, row: CheckpointRow) -> None:
    reply = await _ask_checkpoints(app, link, row.turn)
    if reply is None:
        return
    is_undo = row.kind == "rewind" and row.state == ""
    keys = [("u", "undo it")] if is_undo else [("b", "both"), ("f", "files"), ("c", "conversation")]
    title = single_line(row.title) if is_undo else f"Before: {single_line(row.title)}"
    added, removed = sum(diff.added for diff in reply.diffs), sum(diff.removed for diff in reply.diffs)
    right = f"{format_count(reply.files, 'file')}   +{added} -{removed}"
    reader = TextReader(title, _rewind_lines(reply), right=right, keys=keys)
    key = await app.push_screen_wait(reader)
    if not key:
        return
    own_changes: OwnChanges | None = "keep"
    if reply.persons and key != "c":
        own_changes = await _ask_own_changes(app, reply.persons)
    if own_changes is None:
        return
    op = ops.Rewind(link.new_id(), ORIGIN, row.turn, _SCOPES.get(key, "both"), own_changes, undo=is_undo)
    link.state.captured.add(op.id)
    await link.submit(op)


async def _ask_checkpoints(app: ThemedApp, link: SessionLink, turn: str) -> CheckpointRows | None:
    reply = await link.ask(Checkpoints(turn))
    if isinstance(reply, CheckpointRows):
        return reply
    app.notify(reply.reason if isinstance(reply, Refused) else "there is nothing to go back to")
    return None


async def _ask_own_changes(app: ThemedApp, paths: Sequence[str]) -> OwnChanges | None:
    lines = [f"You have changed {format_count(len(paths), 'file')} since: {_join_names(paths)}."]
    keys = (("k", "keep mine"), ("o", "overwrite mine"))
    key = await app.push_screen_wait(ConfirmDialog("Your own changes", lines, keys))
    answers: dict[str, OwnChanges] = {"k": "keep", "o": "overwrite"}
    return answers.get(key)


def _turn_choice(row: CheckpointRow, *, still: bool) -> PickerChoice:
    changed = f"{format_count(row.files, 'file')} +{row.added} -{row.removed}" if row.files else "no files"
    detail = " · ".join(part for part in (changed, row.state, _join_names(row.paths[:2])) if part)
    age = format_age(0.0 if still else time.time() - row.time)
    return PickerChoice(row.turn, single_line(row.title) or "(no prompt)", detail, age)


def _join_names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(map(single_line, paths[:MAX_NAMED])) + more


def _rewind_lines(reply: CheckpointRows) -> Callable[[int], list[StyledLine]]:
    """What stays as it is, what cannot be restored, and then every change."""
    notes: list[tuple[str, str]] = []
    if reply.persons:
        names = _join_names(reply.persons)
        notes.append(("warn", f"Changed by you since, kept unless you choose otherwise: {names}"))
    if reply.left:
        notes.append(("warn", f"Cannot be restored: {'; '.join(map(single_line, reply.left[:MAX_NAMED]))}"))
    if reply.note:
        notes.append(("muted", single_line(reply.note)))
    if reply.files > len(reply.diffs):
        notes.append(("muted", f"The first {len(reply.diffs)} of {reply.files} files are shown."))
    if not reply.files:
        notes.append(("muted", "No file would change."))
    lay_out_diffs = diff_lines([clean_diff(diff) for diff in reply.diffs])

    def lay_out(width: int) -> list[StyledLine]:
        lines: list[StyledLine] = []
        for key, text in notes:
            lines += layout_paragraph(text, width, key=f"{key}/surface", fill="body/surface")
        if lines and reply.diffs:
            lines.append(sheet_line(""))
        return [*lines, *lay_out_diffs(width)]

    return lay_out
