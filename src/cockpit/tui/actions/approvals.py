"""Answers to what waits for a person: approvals, with a word where they are refused, and questions.

The whole of what an approval asks, on the whole screen; its keys answer from here too.

A hunk of an approval as the person wants it: its new lines in a small editor.
"""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.messages import Decision
from cockpit.tui.actions import prompts
from cockpit.tui.clean import clean, single_line
from cockpit.tui.composer.editor import ComposerPurpose
from cockpit.tui.render.layout import Piece, StyledLine, shorten_path
from cockpit.tui.render.themes import Palette
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView
from cockpit.tui.screens.reader import TextReader
from cockpit.tui.work import approval_draft
from cockpit.tui.work.approval_card import ApprovalChoice, approval_rows
from cockpit.tui.work.approval_draft import ApprovalPiece as Chosen

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


DECISIONS: dict[str, Decision] = {
    "allow_once": "allow_once",
    "allow_session": "allow_session",
    "allow_always": "allow_always",
}
_HURRY_SECONDS = 2.0
"""Seconds after an answer in which a key on a card that has just appeared belongs to the card before."""


async def decide(desk: "SessionController", decision: Decision) -> None:
    link = desk.link
    assert link is not None
    request = next(iter(link.state.approvals.values()), None)
    if request is None or decision not in request.options:
        return
    if request.id != desk.chosen_for:
        return  # what was drawn when the key was pressed does not wait any more
    if _is_too_soon(desk, decision):
        return
    taken = approval_draft.build_answer(request, desk.choice.out, desk.choice.edits)
    if taken is None:
        decision = "reject_once"
    parts, edits = taken or ((), ())
    desk.choice = ApprovalChoice()
    desk.answered_at = time.monotonic()
    link.state.approvals.pop(request.id, None)
    link.state.aspects |= {"work", "bar"}
    await link.decide(request.id, decision, parts=parts, edits=edits)
    desk.changed()


def _is_too_soon(desk: "SessionController", action: str) -> bool:
    """Whether the key came before anybody can have read the card. Right after another answer it was meant
    for that one (a key held down, an impatient second press) and is dropped; else it began a draft."""
    now = time.monotonic()
    if now >= desk.quiet_until:
        return False
    if now - desk.answered_at < _HURRY_SECONDS:
        desk.quiet_until = now + desk.app.options.quiet
        if desk.hurried_for != desk.chosen_for:  # a key that is held says it once
            desk.hurried_for = desk.chosen_for
            desk.app.notify("this is another question: read it, then answer", timeout=2)
        return True
    key = next((key for key, name in desk.app.editor.answers.items() if name == action), "")
    desk.app.editor.focus()
    desk.app.editor.insert(key)
    return True


def toggle_hunk(desk: "SessionController", name: str) -> None:
    """Take or leave a hunk, or all hunks of a file."""
    link = desk.link
    request = next(iter(link.state.approvals.values()), None) if link is not None else None
    if link is None or request is None or not approval_draft.can_choose(request):
        return
    desk.choice = replace(desk.choice, out=approval_draft.toggle_piece(request, desk.choice.out, name))
    link.state.aspects.add("work")
    desk.changed()


async def edit_hunk(desk: "SessionController") -> None:
    """`e`: write the hunk under Work's cursor otherwise; the only one where there is no choice."""
    if _is_too_soon(desk, "edit_hunk"):
        return

    await edit_hunk_text(desk)


async def ask_rejection_note(desk: "SessionController") -> None:
    """`n`: a word to the model goes with the rejection."""
    if _is_too_soon(desk, "reject"):
        return
    desk.noting_for = desk.chosen_for
    use_composer_for(desk, "note", "why not? Enter sends it (empty: no word), Esc goes back")
    desk.app.editor.focus()


async def reject(desk: "SessionController", note: str) -> None:
    link = desk.link
    assert link is not None
    request = desk.noting_for
    if request in link.state.approvals:
        desk.answered_at = time.monotonic()
        link.state.approvals.pop(request, None)
        link.state.aspects |= {"work", "bar"}
        await link.decide(request, "reject_once", note.strip())
        desk.changed()
    else:
        desk.app.notify("that question does not wait any more: it ran out of time, or the turn was stopped")


async def choose_option(desk: "SessionController", number: int) -> None:
    link = desk.link
    assert link is not None
    question = next(iter(link.state.questions.values()), None)
    if question is not None and number < len(question.options) and not _is_too_soon(desk, f"option_{number}"):
        desk.answered_at = time.monotonic()
        return_to_prompt(desk)
        await link.answer(question.id, question.options[number])


def use_composer_for(desk: "SessionController", purpose: ComposerPurpose, placeholder: str) -> None:
    """Use the Composer for something else; the draft is kept."""
    editor = desk.app.editor
    if editor.purpose == "prompt":
        desk.draft = editor.text
        editor.put("")
    editor.ask(purpose, placeholder)
    if desk.link is not None:
        desk.link.state.aspects.add("bar")
        desk.changed()


def return_to_prompt(desk: "SessionController") -> None:
    """The Composer is for prompts again."""
    editor = desk.app.editor
    if editor.purpose != "prompt":
        editor.ask("prompt")
        editor.put(desk.draft)
        desk.draft = ""
    if desk.link is not None:
        desk.link.state.aspects |= {"work", "bar"}
        desk.changed()


async def view_approval(desk: "SessionController") -> None:
    link, app = desk.link, desk.app
    if link is None or not link.state.approvals:
        return
    request = next(iter(link.state.approvals.values()))

    def lay(width: int) -> list[StyledLine]:
        return [line for line, _ in approval_rows(request, 1, 1, width, replace(desk.choice, all_of_it=True))]

    words = {"y": "once", "a": "session", "p": "always", "n": "reject", "e": "edit hunk"}
    keys = [(key, words[key]) for key in app.editor.answers if key in words]
    key = await app.push_screen_wait(TextReader(app.palette, "Approval", lay, keys=keys))
    if key and next(iter(link.state.approvals), "") != request.id:
        app.notify("what you answered does not wait any more; look at what is asked now")
    elif key in app.editor.answers:
        await prompts.run_action(desk, app.editor.answers[key])


_HUNK_FOOT = "Esc done (nothing is written yet)   Ctrl+Z undo   Ctrl+R as it was sent"


class HunkEditor(ModalScreen[str]):
    """Gives the text as it was left."""

    CSS = (
        "HunkEditor {"
        + SHEET_CSS
        + """}
    HunkEditor > #sheet { width: 94%; max-width: 120; }
    HunkEditor TextArea { border: none; background: $panel; height: auto; max-height: 24; min-height: 3;
        padding: 0 1; margin: 1 0; }
    HunkEditor TextArea:focus { border: none; }
    """
    )

    def __init__(self, palette: Palette, one: Chosen, text: str, sent: str) -> None:
        super().__init__()
        self._palette, self._one, self._text, self._sent = palette, one, text, sent

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head(width)], self._palette)
            yield TextArea(self._text, show_line_numbers=False)
            yield LinesView(
                lambda width: [StyledLine([(_HUNK_FOOT, "faint/surface")], "body/surface")], self._palette
            )

    def _head(self, width: int) -> StyledLine:
        line = self._one.row.line if self._one.row is not None else 1
        right: list[Piece] = [(f"from line {line} ", "muted/surface")]
        name = shorten_path(single_line(self._one.part.title), max(8, width - 30))
        return StyledLine(
            [("Edit  ", "heading/surface+b"), (name, "body/surface+b")], "body/surface", right=right
        )

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(self.query_one(TextArea).text)
        elif event.key == "ctrl+r":
            event.stop()
            self.query_one(TextArea).load_text(self._sent)
        elif event.key == "tab":
            event.stop()
            event.prevent_default()
            area = self.query_one(TextArea)
            tabs = "\n\t" in f"\n{self._sent}"
            area.insert("\t" if tabs else " " * (4 - area.cursor_location[1] % 4))


def hunk_to_edit(request: ApprovalRequested, does: str) -> Chosen | None:
    """The hunk under the cursor (what its row does), else the only one that can be edited."""
    found = [
        one for one in approval_draft.approval_pieces(request) if one.row is not None and one.row.can_edit
    ]
    under = [one for one in found if does == f"hunk:{one.name}"]
    chosen = under or (found if len(found) == 1 else [])
    return chosen[0] if chosen and not request.whole else None


async def edit_hunk_text(desk: "SessionController") -> None:
    link, app = desk.link, desk.app
    request = next(iter(link.state.approvals.values()), None) if link is not None else None
    if link is None or request is None or not approval_draft.can_edit(request):
        return
    one = hunk_to_edit(request, app.work.chosen)
    if one is None or one.hunk is None:
        app.work.focus()
        app.notify("go to the hunk with Up and Down, then press e")
        return
    sent = approval_draft.piece_text(one, {})
    if clean(sent) != sent:
        # Shown clean they would be lost from the file; shown as they are they would drive the terminal.
        app.notify("this hunk holds control characters; it can be taken or refused, not edited here")
        return
    text = approval_draft.piece_text(one, desk.choice.edits)
    made = await app.push_screen_wait(HunkEditor(app.palette, one, text, sent))
    if desk.chosen_for != request.id:
        return
    edits = {name: old for name, old in desk.choice.edits.items() if name != one.name}
    if made != sent:
        edits[one.name] = made
    desk.choice = replace(desk.choice, edits=edits, out=desk.choice.out - {one.name})
    link.state.aspects.add("work")
    desk.changed()
