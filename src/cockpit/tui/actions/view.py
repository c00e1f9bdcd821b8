"""Actions that change only what is shown: focus, folding, tabs of Work, search, copying."""

import asyncio
import os
import sys
from typing import Protocol, runtime_checkable

from textual.app import SuspendNotSupported

from cockpit.protocol import queries
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.number_format import format_count
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import FindBar
from cockpit.tui.screens.reader import TextReader, diff_lines
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state import ScreenState
from cockpit.tui.state.entries import AnswerEntry, PromptEntry, clean_diff
from cockpit.tui.state.screen_state import TABS, Tab
from cockpit.tui.terminal import clipboard, editors
from cockpit.tui.trace.view import TraceView
from cockpit.tui.work.view import WorkView


@runtime_checkable
class FoldableScreen(Protocol):
    """A screen that has its own Trace."""

    def toggle_folds(self) -> None: ...


def toggle_folds(app: ThemedApp, link: SessionLink) -> None:
    """Open the folded entries since the last prompt; if all are open, fold them."""
    if isinstance(app.screen, FoldableScreen):
        app.screen.toggle_folds()
        return
    entries = link.state.entries
    start = max((n for n, entry in enumerate(entries) if isinstance(entry, PromptEntry)), default=0)
    link.state.toggle_folds(start)
    link.changed()


def toggle_entry_at(link: SessionLink, trace: TraceView, y: int) -> None:
    """Open or fold the entry at row `y` of the Trace."""
    number = trace.entry_at(y)
    if number is not None and link.state.toggle_entry(number):
        link.changed()


def toggle_visible_entry(link: SessionLink, trace: TraceView) -> None:
    """Open or fold the entry a third down the screen."""
    toggle_entry_at(link, trace, trace.scroll_offset.y + trace.size.height // 3)


def focus_trace(link: SessionLink, trace: TraceView) -> None:
    trace.focus()
    link.redraw("bar", "work")


def focus_editor(link: SessionLink, editor: PromptEditor) -> None:
    editor.focus()
    link.redraw("bar", "work")


def focus_work(
    app: ThemedApp, link: SessionLink, trace: TraceView, work: WorkView, editor: PromptEditor
) -> None:
    """On a wide screen: go to Work, and from it close it; on a narrow one: open or close the drawer."""
    if app.is_narrow:
        # The first key focuses a drawer that opened by itself; the second closes it.
        opens = not work.has_class("-open") or (work.has_class("-waits") and not work.has_focus)
        work.set_class(opens, "-open")
        (work if opens else editor).focus()
    elif work.has_focus:
        work.add_class("-shut")
        trace.add_class("-alone")
        editor.focus()
    else:
        reveal_work(trace, work)
        work.focus()
    link.redraw("bar", "work")


def reveal_work(trace: TraceView, work: WorkView) -> None:
    """Show Work beside the Trace again, on a wide screen."""
    work.remove_class("-shut")
    trace.remove_class("-alone")


def show_todo(link: SessionLink, trace: TraceView, work: WorkView) -> None:
    """Scroll Work to the todo list."""
    work.add_class("-open")
    reveal_work(trace, work)
    for y, row in enumerate(work.rows):
        if row.line.text.startswith(" TODO"):
            work.scroll_to(y=y, animate=False, force=True)
    link.redraw("bar", "work")


def open_tab(app: ThemedApp, link: SessionLink, trace: TraceView, work: WorkView, tab: Tab) -> None:
    """Show a tab of Work, opening Work where it is closed."""
    if app.is_narrow and not work.has_class("-open"):
        work.add_class("-open")
        # Rows painted between the new class and its layout would otherwise stay on screen.
        app.call_after_refresh(redraw_all, app)
    reveal_work(trace, work)
    code = link.state.code
    if tab != code.tab:
        work.scroll_to(y=0, animate=False, force=True)
    code.tab = tab
    if tab != "now":
        code.stale.add(tab)
    link.redraw("bar", "work")


def open_next_tab(app: ThemedApp, link: SessionLink, trace: TraceView, work: WorkView, step: int) -> None:
    """Show the tab after (1) or before (-1) the current one."""
    number = TABS.index(link.state.code.tab) + step
    open_tab(app, link, trace, work, TABS[number % len(TABS)])


def redraw_all(app: ThemedApp) -> None:
    """Paint every region again."""
    app.refresh(repaint=True, layout=True)
    for widget in app.screen_stack[0].walk_children():
        widget.refresh()


def scroll_page(trace: TraceView, direction: int) -> None:
    distance = direction * max(1, trace.size.height - 2)
    trace.scroll_relative(y=distance, animate=False, force=True)


async def search_trace(app: ThemedApp, trace: TraceView) -> None:
    """Ask for a text, mark it in the Trace and go to its last occurrence."""
    text = await app.push_screen_wait(FindBar(trace.needle))
    if text is None:
        return
    trace.needle = text.casefold().strip()
    trace.focus()
    if trace.needle and not trace.find(-1, restart=True):
        app.notify(f"not in the Trace: {text}")
    trace.refresh()


def find_again(app: ThemedApp, trace: TraceView, step: int) -> None:
    """Go to the next (1) or previous (-1) occurrence of the text that was searched for."""
    if not trace.find(step):
        app.notify("no more matches; / starts another search" if trace.needle else "/ searches")


async def copy_text(app: ThemedApp, state: ScreenState, editor: PromptEditor) -> None:
    """Copy the selection or the source of the last answer, and report how."""
    text, what = editor.selected_text or app.screen.get_selected_text() or "", "the selection"
    if not text:
        answers = (entry.text for entry in reversed(state.entries) if isinstance(entry, AnswerEntry))
        text, what = next(answers, ""), "the last answer"
    if not text:
        app.notify("nothing to copy yet: select with the mouse, or wait for an answer")
        return
    app.copy_to_clipboard(text)
    command = clipboard.find_clipboard_tool(sys.platform, os.environ)
    copied = bool(command) and await asyncio.to_thread(clipboard.copy_with_tool, command, text)
    in_tmux = "TMUX" in os.environ
    app.notify(clipboard.describe_copy(what, len(text), command, copied, in_tmux), timeout=4)


def edit_draft_externally(app: ThemedApp, editor: PromptEditor) -> None:
    """Edit the draft in `$VISUAL` or `$EDITOR`. The event loop stops while the editor has the terminal."""
    command = editors.configured_editor(os.environ) or ("notepad" if os.name == "nt" else "vi")
    try:
        with app.suspend():  # an exception inside would leave the terminal suspended
            text, problem = editors.edit_text(command, editor.text)
    except SuspendNotSupported:
        text, problem = editor.text, "this terminal cannot be suspended for an editor"
    if problem:
        app.notify(problem, severity="warning")
    else:
        editor.put(text)
    app.refresh(layout=True)


async def show_changes(app: ThemedApp, link: SessionLink, path: str = "") -> None:
    """Show what the session changed, `path` first."""
    reply = await link.ask(queries.Changes())
    diffs = [clean_diff(diff) for diff in reply.rows] if isinstance(reply, queries.ChangeRows) else []
    if not diffs:
        reason = reply.reason if isinstance(reply, queries.Refused) else "this session has changed no file"
        app.notify(reason)
        return
    diffs.sort(key=lambda diff: (diff.path != path, diff.path))
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    right = f"{format_count(len(diffs), 'file')}   +{added} -{removed}"
    title = "Changed in this session"
    await app.push_screen_wait(TextReader(title, diff_lines(diffs), right=right))
