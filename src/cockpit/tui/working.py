"""The actions of Work: going there, opening and shutting it, its tabs, a look at what the cursor is on."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cockpit.tui.state.code import TABS, Tab

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

Doing = Callable[["Desk"], Awaitable[None]]


async def work(desk: "Desk") -> None:
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
    _bar(desk)


async def todo(desk: "Desk") -> None:
    """Work, scrolled to the todo list."""
    view = desk.app.work
    view.set_class(True, "-open")
    view.remove_class("-shut")
    desk.app.trace.remove_class("-alone")
    for y, row in enumerate(view.rows):
        if row.line.text.startswith(" TODO"):
            view.scroll_to(y=y, animate=False, force=True)
    _bar(desk)


def _tab(tab: Tab) -> Doing:
    async def show(desk: "Desk") -> None:
        open_tab(desk, tab)

    return show


def _next_tab(step: int) -> Doing:
    async def show(desk: "Desk") -> None:
        if desk.link is not None:
            open_tab(desk, TABS[(TABS.index(desk.link.state.code.tab) + step) % len(TABS)])

    return show


async def redraw(desk: "Desk") -> None:
    desk.app.refresh(repaint=True, layout=True)
    for widget in (desk.app.trace, desk.app.work, desk.app.editor, desk.app.top, desk.app.hints):
        widget.refresh()


def open_tab(desk: "Desk", tab: Tab) -> None:
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
    _bar(desk)


async def look(desk: "Desk") -> None:
    """What the cursor in Work is on, in the viewer."""
    from cockpit.tui import going

    what, _, place = desk.app.work.chosen.partition(":")
    if what == "place":
        await going.go_to(desk, place, viewed=True)


def _bar(desk: "Desk") -> None:
    if desk.link is not None:
        desk.link.state.aspects |= {"bar", "work"}
        desk.changed()


WORKING: dict[str, Doing] = {
    "work": work,
    "todo": todo,
    "tab_now": _tab("now"),
    "tab_outline": _tab("outline"),
    "tab_problems": _tab("problems"),
    "tab_next": _next_tab(1),
    "tab_previous": _next_tab(-1),
    "look": look,
}
