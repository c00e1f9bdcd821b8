"""Answers to what waits for a person: approvals, with a word where they are refused, and questions."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.protocol.messages import Decision
from cockpit.tui.composer.editor import Purpose
from cockpit.tui.work import choosing
from cockpit.tui.work.approval_parts import Choice

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

DECISIONS: dict[str, Decision] = {
    "allow_once": "allow_once",
    "allow_session": "allow_session",
    "allow_always": "allow_always",
}
_HURRY = 2.0
"""Seconds after an answer in which a key on a card that has just appeared belongs to the card before."""


async def decide(desk: "Desk", decision: Decision) -> None:
    link = desk.link
    assert link is not None
    request = next(iter(link.state.approvals.values()), None)
    if request is None or decision not in request.options:
        return
    if request.id != desk.chosen_for:
        return  # what was drawn when the key was pressed does not wait any more
    if _too_soon(desk, decision):
        return
    taken = choosing.answer(request, desk.choice.out, desk.choice.edits)
    if taken is None:
        decision = "reject_once"
    parts, edits = taken or ((), ())
    desk.choice = Choice()
    desk.answered_at = time.monotonic()
    link.state.approvals.pop(request.id, None)
    link.state.aspects |= {"work", "bar"}
    await link.decide(request.id, decision, parts=parts, edits=edits)
    desk.changed()


def _too_soon(desk: "Desk", action: str) -> bool:
    """Whether the key came before anybody can have read the card. Right after another answer it was meant
    for that one (a key held down, an impatient second press) and is dropped; else it began a draft."""
    now = time.monotonic()
    if now >= desk.quiet_until:
        return False
    if now - desk.answered_at < _HURRY:
        desk.quiet_until = now + desk.app.options.quiet
        if desk.hurried_for != desk.chosen_for:  # a key that is held says it once
            desk.hurried_for = desk.chosen_for
            desk.app.notify("this is another question: read it, then answer", timeout=2)
        return True
    key = next((key for key, name in desk.app.editor.answers.items() if name == action), "")
    desk.app.editor.focus()
    desk.app.editor.insert(key)
    return True


def toggle(desk: "Desk", name: str) -> None:
    """Take or leave a hunk, or all hunks of a file."""
    link = desk.link
    request = next(iter(link.state.approvals.values()), None) if link is not None else None
    if link is None or request is None or not choosing.can_choose(request):
        return
    desk.choice = replace(desk.choice, out=choosing.toggled(request, desk.choice.out, name))
    link.state.aspects.add("work")
    desk.changed()


async def edit_hunk(desk: "Desk") -> None:
    """`e`: write the hunk under Work's cursor otherwise; the only one where there is no choice."""
    if _too_soon(desk, "edit_hunk"):
        return
    from cockpit.tui.screens import approval_edit

    await approval_edit.show(desk)


async def ask_why(desk: "Desk") -> None:
    """`n`: a word to the model goes with the rejection."""
    if _too_soon(desk, "reject"):
        return
    desk.noting_for = desk.chosen_for
    write_for(desk, "note", "why not? Enter sends it (empty: no word), Esc goes back")
    desk.app.editor.focus()


async def reject(desk: "Desk", note: str) -> None:
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


async def option(desk: "Desk", number: int) -> None:
    link = desk.link
    assert link is not None
    question = next(iter(link.state.questions.values()), None)
    if question is not None and number < len(question.options) and not _too_soon(desk, f"option_{number}"):
        desk.answered_at = time.monotonic()
        write_prompt(desk)
        await link.answer(question.id, question.options[number])


def write_for(desk: "Desk", purpose: Purpose, placeholder: str) -> None:
    """Use the Composer for something else; the draft is kept."""
    editor = desk.app.editor
    if editor.purpose == "prompt":
        desk.draft = editor.text
        editor.put("")
    editor.ask(purpose, placeholder)
    if desk.link is not None:
        desk.link.state.aspects.add("bar")
        desk.changed()


def write_prompt(desk: "Desk") -> None:
    """The Composer is for prompts again."""
    editor = desk.app.editor
    if editor.purpose != "prompt":
        editor.ask("prompt")
        editor.put(desk.draft)
        desk.draft = ""
    if desk.link is not None:
        desk.link.state.aspects |= {"work", "bar"}
        desk.changed()
