"""The widget of Work: a fixed line of tabs above rows, with a cursor on rows that can be chosen."""

from collections.abc import Sequence

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.tui.render.layout import StyledLine
from cockpit.tui.render.widgets import UnclaimedKey, set_scroll_height, to_strip
from cockpit.tui.work.tabs import TabStrip, WorkRow

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_EMPTY = StyledLine([], "body/surface")


class WorkView(ScrollView, can_focus=True):
    """Draws rows. Up and Down move over those with an action, Enter chooses one."""

    DEFAULT_CSS = """
    WorkView {
        background: $surface; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
        padding: 0;
    }
    """

    class RowChosen(Message):
        """The user chose a row or a tab."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self) -> None:
        super().__init__(id="work")
        self.rows: Sequence[WorkRow] = ()
        self.cursor = -1
        self.tabs: TabStrip | None = None

    @property
    def selected(self) -> str:
        """The action of the row under the cursor, or ""."""
        return self._action_at(self.cursor)

    def show(self, rows: Sequence[WorkRow], tabs: TabStrip) -> None:
        """Show other rows, painting only the lines that differ."""
        old, self.rows = self.rows, rows
        if self.tabs is None or self.tabs.line.pieces != tabs.line.pieces:
            self.refresh(Region(0, 0, self.size.width, 1))
        self.tabs = tabs
        self._keep_cursor()
        set_scroll_height(self, len(rows) + 1)
        top, height = self.scroll_offset.y, self.size.height
        for y in range(1, height):
            row = y + top - 1
            before = old[row].line if row < len(old) else _EMPTY
            now = rows[row].line if row < len(rows) else _EMPTY
            if before.pieces != now.pieces or before.right != now.right or row == self.cursor or not old:
                self.refresh(Region(0, y, self.size.width, 1))

    def _keep_cursor(self) -> None:
        if not self.has_focus:
            self.cursor = -1
        elif not (0 <= self.cursor < len(self.rows) and self.rows[self.cursor].action):
            self.cursor = self._next(-1, 1)

    def _next(self, start: int, step: int) -> int:
        """The next row from `start` with another action; `start` itself where there is none."""
        row = start + step
        while 0 <= row < len(self.rows):
            if self.rows[row].action and self.rows[row].action != self._action_at(start):
                return row
            row += step
        return start

    def _action_at(self, row: int) -> str:
        return self.rows[row].action if 0 <= row < len(self.rows) else ""

    def render_line(self, y: int) -> Strip:
        if y == 0:
            line = self.tabs.line if self.tabs is not None else _EMPTY
            return to_strip(line, self.size.width, self)
        row = y + self.scroll_offset.y - 1
        line = self.rows[row].line if row < len(self.rows) else _EMPTY
        marks = [(0, -2, "selection")] if row == self.cursor else []
        return to_strip(line, self.size.width, self, marks)

    def on_focus(self) -> None:
        self.cursor = self._next(-1, 1)
        self.refresh()

    def on_blur(self) -> None:
        self.cursor = -1
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        step = _STEPS.get(event.key, 0)
        if event.key in ("j", "k") and not self.selected.startswith(("hunk:", "part:")):
            step = 0  # a letter begins a prompt
        if step and self._move(step):
            event.stop()
        elif event.key in ("enter", "space") and self.selected:
            event.stop()
            self.post_message(self.RowChosen(self.selected))
        elif event.character or event.key == "escape":
            event.stop()
            self.post_message(UnclaimedKey("work", event.key, event.character or ""))

    def _move(self, step: int) -> bool:
        row = self._next(self.cursor, step)
        if row == self.cursor:
            return False
        self.cursor = row
        self._scroll_into_view(row)
        self.refresh()
        return True

    def _scroll_into_view(self, row: int) -> None:
        """The first line of the view is that of the tabs, so `row` is shown at `row + 1 - scroll`."""
        top, height = self.scroll_offset.y, self.size.height
        if row < top:
            self.scroll_to(y=row, animate=False, force=True)
        elif row > top + height - 2:
            self.scroll_to(y=row - height + 2, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and at.y == 0:
            if self.tabs is not None and (tab := self.tabs.tab_at(at.x)):
                self.post_message(self.RowChosen(f"tab:{tab}"))
        elif at is not None and (action := self._action_at(at.y + self.scroll_offset.y - 1)):
            self.post_message(self.RowChosen(action))
