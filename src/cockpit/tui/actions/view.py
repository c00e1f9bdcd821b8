"""The actions of Work: going there, opening and shutting it, its tabs, a look at what the cursor is on.

The actions that change only what is seen: screens, folding, focus, copying, leaving.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cockpit.tui.state.entries import FOLDABLE, AnswerEntry, PromptEntry
from cockpit.tui.state.screen_state import TABS, FrontendRequest, Tab
from cockpit.tui.terminal import clipboard, editors

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


WorkAction = Callable[["SessionController"], Awaitable[None]]


async def focus_work(desk: "SessionController") -> None:
    """Wide: to Work, and from it back; narrow: open or shut the drawer."""
    view, app = desk.app.work, desk.app
    if app.size.width < 100:
        # A drawer that opened by itself, for an approval, is gone to before it is shut.
        opened = not view.has_class("-open") or (view.has_class("-waits") and not view.has_focus)
        view.set_class(opened, "-open")
        (view if opened else app.editor).focus()
    elif view.has_focus:
        view.add_class("-shut")
        app.trace.add_class("-alone")
        app.editor.focus()
    else:
        view.remove_class("-shut")
        app.trace.remove_class("-alone")
        view.focus()
    _refresh_work_and_bar(desk)


async def show_todo(desk: "SessionController") -> None:
    """Work, scrolled to the todo list."""
    view = desk.app.work
    view.set_class(True, "-open")
    view.remove_class("-shut")
    desk.app.trace.remove_class("-alone")
    for y, row in enumerate(view.rows):
        if row.line.text.startswith(" TODO"):
            view.scroll_to(y=y, animate=False, force=True)
    _refresh_work_and_bar(desk)


def _tab_action(tab: Tab) -> WorkAction:
    async def show(desk: "SessionController") -> None:
        open_tab(desk, tab)

    return show


def _tab_step_action(step: int) -> WorkAction:
    async def show(desk: "SessionController") -> None:
        if desk.link is not None:
            open_tab(desk, TABS[(TABS.index(desk.link.state.code.tab) + step) % len(TABS)])

    return show


async def redraw(desk: "SessionController") -> None:
    desk.app.refresh(repaint=True, layout=True)
    for widget in (desk.app.trace, desk.app.work, desk.app.editor, desk.app.top, desk.app.hints):
        widget.refresh()


def open_tab(desk: "SessionController", tab: Tab) -> None:
    """Show a tab of Work, and Work where it is shut."""
    view, link = desk.app.work, desk.link
    if link is None:
        return
    if desk.app.size.width < 100 and not view.has_class("-open"):
        view.add_class("-open")
        # What is painted at once between the new class and its layout would stay, where nothing changes.
        desk.app.call_after_refresh(redraw, desk)
    view.remove_class("-shut")
    desk.app.trace.remove_class("-alone")
    code = link.state.code
    if tab != code.tab:
        view.scroll_to(y=0, animate=False, force=True)
    code.tab = tab
    code.stale.update({"outline"} if tab == "outline" else {"problems"} if tab == "problems" else set())
    _refresh_work_and_bar(desk)


async def view_selected_location(desk: "SessionController") -> None:
    """What the cursor in Work is on, in the viewer."""
    from cockpit.tui.actions import open_location

    what, _, place = desk.app.work.chosen.partition(":")
    if what == "place":
        await open_location.open_location(desk, place, viewed=True)


def _refresh_work_and_bar(desk: "SessionController") -> None:
    if desk.link is not None:
        desk.link.state.aspects |= {"bar", "work"}
        desk.changed()


WORK_ACTIONS: dict[str, WorkAction] = {
    "work": focus_work,
    "todo": show_todo,
    "tab_now": _tab_action("now"),
    "tab_outline": _tab_action("outline"),
    "tab_problems": _tab_action("problems"),
    "tab_next": _tab_step_action(1),
    "tab_previous": _tab_step_action(-1),
    "look": view_selected_location,
}


ViewAction = Callable[["SessionController"], Awaitable[None]]


@runtime_checkable
class FoldableScreen(Protocol):
    """A screen with a Trace of its own."""

    def fold(self) -> None: ...


async def focus_trace(desk: "SessionController") -> None:
    desk.app.trace.focus()
    _refresh_regions(desk)


async def focus_composer(desk: "SessionController") -> None:
    desk.app.editor.focus()
    _refresh_regions(desk)


async def toggle_folds(desk: "SessionController") -> None:
    """Open what is folded since the last prompt; when all of it is open, fold it."""
    link = desk.link
    if link is None:
        return
    if isinstance(desk.app.screen, FoldableScreen):
        desk.app.screen.fold()
        return
    entries = link.state.entries
    start = max((n for n, entry in enumerate(entries) if isinstance(entry, PromptEntry)), default=0)
    folding = [n for n in range(start, len(entries)) if isinstance(entries[n], FOLDABLE)]
    folds = [entry for n in folding if isinstance(entry := entries[n], FOLDABLE)]
    opened = not all(entry.expanded for entry in folds)
    for entry in folds:
        entry.expanded = opened or None
    for number in folding:
        link.state.touch(number)
    desk.changed()


async def toggle_visible_entry(desk: "SessionController") -> None:
    """Open or fold the first entry in sight that can be."""
    app = desk.app
    if app.trace.document is not None:
        toggle_entry_at(desk, app.trace.scroll_offset.y + app.trace.size.height // 3)


def toggle_entry_at(desk: "SessionController", y: int) -> None:
    """Open or fold the entry at row `y`."""
    link, document = desk.link, desk.app.trace.document
    if link is None or document is None or y >= document.height:
        return
    number = document.section_at(y)
    entry = link.state.entries[number]
    if isinstance(entry, FOLDABLE):
        entry.expanded = not entry.expanded
        link.state.touch(number)
        desk.changed()


async def suspend_process(desk: "SessionController") -> None:
    desk.app.action_suspend_process()


async def copy_text(desk: "SessionController") -> None:
    """The selection, or the source of the last answer; says which way it went."""
    app, link = desk.app, desk.link
    selected = app.editor.selected_text or app.screen.get_selected_text()
    text, what = selected or "", "the selection"
    if not text and link is not None:
        answers = [entry for entry in reversed(link.state.entries) if isinstance(entry, AnswerEntry)]
        text, what = (answers[0].text if answers else ""), "the last answer"
    if not text:
        app.notify("nothing to copy yet: select with the mouse, or wait for an answer")
        return
    app.copy_to_clipboard(text)
    command = clipboard.find_clipboard_tool(sys.platform, os.environ)
    taken = bool(command) and await asyncio.to_thread(clipboard.copy_with_tool, command, text)
    app.notify(clipboard.describe_copy(what, len(text), command, taken, "TMUX" in os.environ), timeout=4)


async def edit_draft_externally(desk: "SessionController") -> None:
    """The draft in `$VISUAL` or `$EDITOR`; what was saved comes back. The loop stands still meanwhile,
    as the terminal belongs to the editor."""
    from textual.app import SuspendNotSupported

    app = desk.app
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    try:
        with app.suspend():
            text, problem = editors.edit_text(command, app.editor.text)
    except SuspendNotSupported:
        text, problem = app.editor.text, "this terminal cannot be lent to an editor"
    if problem:
        app.notify(problem, severity="warning")
    else:
        app.editor.put(text)
    app.refresh(layout=True)


async def quit_app(desk: "SessionController") -> None:
    """Quit; while a turn runs, only after asking."""
    link = desk.link
    if link is not None and link.state.busy and not await _confirm_quit(desk):
        return
    if link is not None:
        await link.leave()
        await link.deck.close()
    desk.app.exit(0)


async def _confirm_quit(desk: "SessionController") -> bool:
    from cockpit.tui.screens.dialogs import ConfirmDialog

    lines = ["A turn is still running. Leaving interrupts it; the session is kept and can be resumed."]
    screen = ConfirmDialog(desk.app.palette, "Leave?", lines, (("y", "leave"), ("n", "stay")))
    return await desk.app.push_screen_wait(screen) == "y"


async def find_next(desk: "SessionController") -> None:
    _report_match(desk, desk.app.trace.find(1))


async def find_previous(desk: "SessionController") -> None:
    _report_match(desk, desk.app.trace.find(-1))


def _report_match(desk: "SessionController", found: bool) -> None:
    if not found:
        desk.app.notify("no further place; / searches anew" if desk.app.trace.found else "/ searches")


async def scroll_page(desk: "SessionController", direction: int) -> None:
    view = desk.app.trace
    view.scroll_relative(y=direction * max(1, view.size.height - 2), animate=False, force=True)


async def show_changes(desk: "SessionController", path: str = "") -> None:
    from cockpit.tui.screens import reader

    await reader.show_changes(desk, path)


async def open_trust_dialog(desk: "SessionController") -> None:
    """Once for a folder that nobody has said anything about."""
    from cockpit.tui.actions import preferences

    await preferences.ask_trust_once(desk)


def deliver_reply(desk: "SessionController", request: FrontendRequest) -> bool:
    """Give a core's answer to the screen that asked; whether there was one."""
    for screen in reversed(desk.app.screen_stack):
        take = getattr(screen, "take", None)
        if callable(take):
            take(request)
            return True
    return False


def _screen_action(name: str, function: str) -> ViewAction:
    """A screen of the package `screens`, imported when it is first opened."""

    async def show(desk: "SessionController") -> None:
        module = import_module(name)
        await getattr(module, function)(desk)

    return show


async def open_plan_review(desk: "SessionController") -> None:
    await _screen_action("cockpit.tui.screens.plan_review", "offer_plan")(desk)


async def review_pending(desk: "SessionController") -> None:
    """What waits to be looked at: the plan, else a form."""
    state = desk.link.state if desk.link is not None else None
    forms = [one for one in state.questions.values() if one.fields or one.url] if state is not None else []
    is_plan = state is not None and state.plan.state == "pending"
    if forms and not is_plan:
        await _screen_action("cockpit.tui.screens.form", "fill_form")(desk)
    else:
        await _screen_action("cockpit.tui.screens.plan_review", "review_plan")(desk)


async def open_form(desk: "SessionController") -> None:
    await _screen_action("cockpit.tui.screens.form", "offer_form")(desk)


async def view_pending_approval(desk: "SessionController") -> None:
    """All of what is asked: a plan has a review of its own."""
    link = desk.link
    first = next(iter(link.state.approvals), "") if link is not None else ""
    is_plan = link is not None and first != "" and first == link.state.plan.request
    if is_plan:
        await _screen_action("cockpit.tui.screens.plan_review", "review_plan")(desk)
    else:
        await _screen_action("cockpit.tui.actions.approvals", "view_approval")(desk)


def _refresh_regions(desk: "SessionController") -> None:
    if desk.link is not None:
        desk.link.state.aspects |= {"bar", "work"}
        desk.changed()


async def _page_up(desk: "SessionController") -> None:
    await scroll_page(desk, -1)


async def _page_down(desk: "SessionController") -> None:
    await scroll_page(desk, 1)


async def _show_all_changes(desk: "SessionController") -> None:
    await show_changes(desk)


_CODE = {
    "symbols": "go_to_symbol",
    "outline": "go_to_symbol_in_file",
    "references": "find_references",
    "callers": "find_callers",
    "problems": "show_problems",
    "rename": "rename_symbol",
    "restart_servers": "restart_servers",
}
VIEW_ACTIONS: dict[str, ViewAction] = {
    **WORK_ACTIONS,
    "trace": focus_trace,
    "composer": focus_composer,
    "expand": toggle_folds,
    "open_entry": toggle_visible_entry,
    "redraw": redraw,
    "suspend": suspend_process,
    "copy": copy_text,
    "editor": edit_draft_externally,
    "leave": quit_app,
    "quit": quit_app,
    "changes": _show_all_changes,
    "trace_pageup": _page_up,
    "trace_pagedown": _page_down,
    "palette": _screen_action("cockpit.tui.actions.palette_and_help", "open_palette"),
    "help": _screen_action("cockpit.tui.actions.palette_and_help", "show_help"),
    "history": _screen_action("cockpit.tui.actions.prompts", "choose_from_history"),
    "theme": _screen_action("cockpit.tui.actions.preferences", "choose_theme"),
    "sessions": _screen_action("cockpit.tui.actions.sessions", "choose_session"),
    "model": _screen_action("cockpit.tui.screens.settings", "choose_model"),
    "connect": _screen_action("cockpit.tui.screens.settings", "connect_provider"),
    "trust": _screen_action("cockpit.tui.actions.preferences", "ask_trust"),
    "rewind": _screen_action("cockpit.tui.screens.rewind", "choose_rewind"),
    "settings": _screen_action("cockpit.tui.screens.settings", "edit_settings"),
    "form": _screen_action("cockpit.tui.screens.form", "fill_form"),
    "view_approval": view_pending_approval,
    "review_plan": review_pending,
    "find": _screen_action("cockpit.tui.screens.dialogs", "search_trace"),
    **{
        name: _screen_action("cockpit.tui.actions.code_navigation", function)
        for name, function in _CODE.items()
    },
    "find_next": find_next,
    "find_previous": find_previous,
}
