"""The actions that change only what is seen: screens, folding, focus, copying, leaving."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cockpit.tui import clipboard, lending, working
from cockpit.tui.state.entries import FOLDING, Answered, Said
from cockpit.tui.state.state import Request

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

Doing = Callable[["Desk"], Awaitable[None]]


@runtime_checkable
class Folding(Protocol):
    """A screen with a Trace of its own."""

    def fold(self) -> None: ...


async def trace(desk: "Desk") -> None:
    desk.app.trace.focus()
    _bar(desk)


async def composer(desk: "Desk") -> None:
    desk.app.editor.focus()
    _bar(desk)


async def expand(desk: "Desk") -> None:
    """Open what is folded since the last prompt; when all of it is open, fold it."""
    link = desk.link
    if link is None:
        return
    if isinstance(desk.app.screen, Folding):
        desk.app.screen.fold()
        return
    entries = link.state.entries
    start = max((n for n, entry in enumerate(entries) if isinstance(entry, Said)), default=0)
    folding = [n for n in range(start, len(entries)) if isinstance(entries[n], FOLDING)]
    folds = [entry for n in folding if isinstance(entry := entries[n], FOLDING)]
    opened = not all(entry.expanded for entry in folds)
    for entry in folds:
        entry.expanded = opened or None
    for number in folding:
        link.state.touch(number)
    desk.changed()


async def open_entry(desk: "Desk") -> None:
    """Open or fold the first entry in sight that can be."""
    app = desk.app
    if app.trace.document is not None:
        toggle_at(desk, app.trace.scroll_offset.y + app.trace.size.height // 3)


def toggle_at(desk: "Desk", y: int) -> None:
    """Open or fold the entry at row `y`."""
    link, document = desk.link, desk.app.trace.document
    if link is None or document is None or y >= document.height:
        return
    number = document.section_at(y)
    entry = link.state.entries[number]
    if isinstance(entry, FOLDING):
        entry.expanded = not entry.expanded
        link.state.touch(number)
        desk.changed()


async def suspend(desk: "Desk") -> None:
    desk.app.action_suspend_process()


async def copy(desk: "Desk") -> None:
    """The selection, or the source of the last answer; says which way it went."""
    app, link = desk.app, desk.link
    selected = app.editor.selected_text or app.screen.get_selected_text()
    text, what = selected or "", "the selection"
    if not text and link is not None:
        answers = [entry for entry in reversed(link.state.entries) if isinstance(entry, Answered)]
        text, what = (answers[0].text if answers else ""), "the last answer"
    if not text:
        app.notify("nothing to copy yet: select with the mouse, or wait for an answer")
        return
    app.copy_to_clipboard(text)
    command = clipboard.tool(sys.platform, os.environ)
    taken = bool(command) and await asyncio.to_thread(clipboard.give, command, text)
    app.notify(clipboard.report(what, len(text), command, taken, "TMUX" in os.environ), timeout=4)


async def editor(desk: "Desk") -> None:
    """The draft in `$VISUAL` or `$EDITOR`; what was saved comes back. The loop stands still meanwhile,
    as the terminal belongs to the editor."""
    from textual.app import SuspendNotSupported

    app = desk.app
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    try:
        with app.suspend():
            text, problem = lending.edited(command, app.editor.text)
    except SuspendNotSupported:
        text, problem = app.editor.text, "this terminal cannot be lent to an editor"
    if problem:
        app.notify(problem, severity="warning")
    else:
        app.editor.put(text)
    app.refresh(layout=True)


async def leave(desk: "Desk") -> None:
    """Quit; while a turn runs, only after asking."""
    link = desk.link
    if link is not None and link.state.busy and not await _sure(desk):
        return
    if link is not None:
        await link.leave()
        await link.deck.close()
    desk.app.exit(0)


async def _sure(desk: "Desk") -> bool:
    from cockpit.tui.screens.confirm import Confirm

    lines = ["A turn is still running. Leaving interrupts it; the session is kept and can be resumed."]
    screen = Confirm(desk.app.palette, "Leave?", lines, (("y", "leave"), ("n", "stay")))
    return await desk.app.push_screen_wait(screen) == "y"


async def find_next(desk: "Desk") -> None:
    _found(desk, desk.app.trace.find(1))


async def find_previous(desk: "Desk") -> None:
    _found(desk, desk.app.trace.find(-1))


def _found(desk: "Desk", found: bool) -> None:
    if not found:
        desk.app.notify("no further place; / searches anew" if desk.app.trace.found else "/ searches")


async def page(desk: "Desk", direction: int) -> None:
    view = desk.app.trace
    view.scroll_relative(y=direction * max(1, view.size.height - 2), animate=False, force=True)


async def changes(desk: "Desk", path: str = "") -> None:
    from cockpit.tui.screens import reader

    await reader.changes(desk, path)


async def ask_trust(desk: "Desk") -> None:
    """Once for a folder that nobody has said anything about."""
    from cockpit.tui.screens import trust

    await trust.ask_once(desk)


def answered(desk: "Desk", request: Request) -> bool:
    """Give a core's answer to the screen that asked; whether there was one."""
    for screen in reversed(desk.app.screen_stack):
        take = getattr(screen, "take", None)
        if callable(take):
            take(request)
            return True
    return False


def _screen(name: str, function: str = "show") -> Doing:
    """A screen of the package `screens`, imported when it is first opened."""

    async def show(desk: "Desk") -> None:
        module = import_module(f"cockpit.tui.screens.{name}")
        await getattr(module, function)(desk)

    return show


async def offer_plan(desk: "Desk") -> None:
    await _screen("plan", "offer")(desk)


async def review(desk: "Desk") -> None:
    """What waits to be looked at: the plan, else a form."""
    state = desk.link.state if desk.link is not None else None
    forms = [one for one in state.questions.values() if one.fields or one.url] if state is not None else []
    is_plan = state is not None and state.plan.state == "pending"
    await _screen("form" if forms and not is_plan else "plan")(desk)


async def offer_form(desk: "Desk") -> None:
    await _screen("form", "offer")(desk)


async def view_approval(desk: "Desk") -> None:
    """All of what is asked: a plan has a review of its own."""
    link = desk.link
    first = next(iter(link.state.approvals), "") if link is not None else ""
    is_plan = link is not None and first != "" and first == link.state.plan.request
    await _screen("plan" if is_plan else "approval")(desk)


def _bar(desk: "Desk") -> None:
    if desk.link is not None:
        desk.link.state.aspects |= {"bar", "work"}
        desk.changed()


async def _page_up(desk: "Desk") -> None:
    await page(desk, -1)


async def _page_down(desk: "Desk") -> None:
    await page(desk, 1)


async def _changes(desk: "Desk") -> None:
    await changes(desk)


_CODE = ("symbols", "outline", "references", "callers", "problems", "rename", "restart_servers")
SHOWING: dict[str, Doing] = {
    **working.WORKING,
    "trace": trace,
    "composer": composer,
    "expand": expand,
    "open_entry": open_entry,
    "redraw": working.redraw,
    "suspend": suspend,
    "copy": copy,
    "editor": editor,
    "leave": leave,
    "quit": leave,
    "changes": _changes,
    "trace_pageup": _page_up,
    "trace_pagedown": _page_down,
    "palette": _screen("palette"),
    "help": _screen("help"),
    "history": _screen("history"),
    "theme": _screen("theme"),
    "sessions": _screen("sessions"),
    "model": _screen("model"),
    "connect": _screen("connect"),
    "trust": _screen("trust"),
    "rewind": _screen("rewind"),
    "settings": _screen("settings"),
    "form": _screen("form"),
    "view_approval": view_approval,
    "review_plan": review,
    "find": _screen("find"),
    **{name: _screen("code", name) for name in _CODE},
    "find_next": find_next,
    "find_previous": find_previous,
}
