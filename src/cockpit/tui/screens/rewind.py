"""Going back: the turns with what they changed, what going back would do, and whose files stay."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from cockpit.protocol import ops
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Refused
from cockpit.tui import figures
from cockpit.tui.clean import one_line
from cockpit.tui.link import ORIGIN
from cockpit.tui.screens.confirm import Confirm
from cockpit.tui.screens.picker import Choice, Picker
from cockpit.tui.screens.reader import Reader, diff_lines
from cockpit.tui.state.safe import safe_diff
from cockpit.tui.trace.layout import Line, paragraph

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

Persons = Literal["keep", "overwrite"]
WHAT: dict[str, Literal["both", "files", "conversation"]] = {"b": "both", "f": "files", "c": "conversation"}
NAMED = 8


async def show(desk: "Desk") -> None:
    """Choose a turn, look at the way back, take it."""
    app = desk.app
    found = await _ask(desk, "")
    if found is None:
        return
    if not found.rows:
        app.notify("nothing was said in this session yet")
        return
    choices = [_choice(desk, row) for row in found.rows]
    foot = "Enter look at the way back   Esc stay"
    chosen = await app.push_screen_wait(Picker(app.palette, "Go back to before", choices, foot=foot))
    row = next((one for one in found.rows if one.turn == chosen), None)
    if row is not None:
        await _look(desk, row)


async def undo(desk: "Desk") -> None:
    """Take the last rewind back."""
    if (link := desk.link) is not None:
        await link.submit(ops.Rewind(link.fresh(), ORIGIN, "", undo=True))


async def _look(desk: "Desk", row: CheckpointRow) -> None:
    app, link = desk.app, desk.link
    found = await _ask(desk, row.turn)
    if found is None or link is None:
        return
    is_undo = row.kind == "rewind" and row.state == ""
    keys = [("u", "undo it")] if is_undo else [("b", "both"), ("f", "files"), ("c", "conversation")]
    title = one_line(row.title) if is_undo else f"Before: {one_line(row.title)}"
    added, removed = (sum(getattr(one, side) for one in found.diffs) for side in ("added", "removed"))
    right = f"{figures.count(found.files, 'file')}   +{added} -{removed}"
    key = await app.push_screen_wait(Reader(app.palette, title, _way(found), right=right, keys=keys))
    if not key:
        return
    persons: Persons | None = "keep"
    if found.persons and key != "c":
        persons = await _persons(desk, found.persons)
    if persons is None:
        return
    op = ops.Rewind(link.fresh(), ORIGIN, row.turn, WHAT.get(key, "both"), persons, undo=is_undo)
    link.state.captured.add(op.id)
    await link.submit(op)


async def _ask(desk: "Desk", turn: str) -> CheckpointRows | None:
    if desk.link is None:
        return None
    reply = await desk.link.ask(Checkpoints(turn))
    if isinstance(reply, CheckpointRows):
        return reply
    desk.app.notify(reply.reason if isinstance(reply, Refused) else "there is nothing to go back to")
    return None


async def _persons(desk: "Desk", paths: Sequence[str]) -> Persons | None:
    """What becomes of the files that the person changed since."""
    lines = [f"You have changed {figures.count(len(paths), 'file')} since: {_named(paths)}."]
    keys = (("k", "keep mine"), ("o", "overwrite mine"))
    key = await desk.app.push_screen_wait(Confirm(desk.app.palette, "Your own changes", lines, keys))
    answers: dict[str, Persons] = {"k": "keep", "o": "overwrite"}
    return answers.get(key)


def _choice(desk: "Desk", row: CheckpointRow) -> Choice:
    now = row.time if desk.app.options.still else time.time()
    changed = f"{figures.count(row.files, 'file')} +{row.added} -{row.removed}" if row.files else "no files"
    detail = " · ".join(part for part in (changed, row.state, _named(row.paths[:2])) if part)
    return Choice(row.turn, one_line(row.title) or "(nothing said)", detail, figures.ago(now - row.time))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(map(one_line, paths[:NAMED])) + more


def _way(found: CheckpointRows) -> Callable[[int], list[Line]]:
    """The files that stay, those that cannot be had back, and then every change."""
    said: list[tuple[str, str]] = []
    if found.persons:
        said.append(("warn", f"Changed by you since, kept unless you say otherwise: {_named(found.persons)}"))
    if found.left:
        said.append(("warn", f"Cannot be had back: {'; '.join(map(one_line, found.left[:NAMED]))}"))
    if found.note:
        said.append(("muted", one_line(found.note)))
    if found.files > len(found.diffs):
        said.append(("muted", f"The first {len(found.diffs)} of {found.files} files are shown."))
    if not found.files:
        said.append(("muted", "No file would change."))
    lay = diff_lines([safe_diff(diff) for diff in found.diffs])

    def lines(width: int) -> list[Line]:
        told = [
            line
            for key, text in said
            for line in paragraph(text, width, key=f"{key}/surface", fill="body/surface")
        ]
        return [*told, *([Line([], "body/surface")] if told and found.diffs else []), *lay(width)]

    return lines
