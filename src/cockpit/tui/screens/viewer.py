"""A file to look at, the line somebody came for shaded and in the middle.

It is fetched and coloured a page at a time, in a thread, so that a file of any size opens at once.
Changes nothing; `e` hands over to the editor.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.protocol.code import FileText, TextPage
from cockpit.protocol.queries import Refused
from cockpit.tui import editors, going
from cockpit.tui.clean import clean, one_line
from cockpit.tui.link import Link
from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines, keys_that_fit
from cockpit.tui.trace.code import coloured, language_of
from cockpit.tui.trace.layout import Line, Piece, shortened_path
from cockpit.tui.trace.strips import to_strip

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

PAGE = 400
"""Lines that are fetched and coloured together."""
_LONGEST = 2000


class Source(ScrollView, can_focus=True):
    """Numbered lines of one file; `line` is shaded."""

    DEFAULT_CSS = """
    Source { background: $surface; height: 1fr; margin: 1 0; overflow-x: hidden; overflow-y: scroll;
        scrollbar-size: 1 1; scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(self, palette: Palette, link: Link, first: TextPage, line: int) -> None:
        super().__init__()
        self.palette, self._link = palette, link
        self.path, self.total = first.path, first.total
        self.line = max(1, min(line, first.total))
        self._language = language_of(first.path)
        self._lines: dict[int, list[Piece]] = {}
        self._asked: set[int] = set()
        self._shift = 0  # cells that are out of sight at the left

    def on_mount(self) -> None:
        self._fit()
        self.focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, self.total)
        self.call_after_refresh(self.centre)

    def centre(self) -> None:
        """The line they came for in the middle."""
        self.scroll_to(y=max(0, self.line - 1 - self.size.height // 2), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y + 1, self.size.width
        if number > self.total:
            return to_strip(Line([], "body/surface"), width, self.palette)
        ground = "selection" if number == self.line else "surface"
        gutter = f"{number:>{len(str(self.total)) + 1}}  "
        pieces = self._lines.get(number)
        if pieces is None:
            self._want(number)
            pieces = []
        head = to_strip(Line([(gutter, f"faint/{ground}")]), len(gutter), self.palette)
        body = [
            (text, f"{key.partition('+')[0]}/{ground}{'+i' if '+i' in key else ''}") for text, key in pieces
        ]
        room = max(1, width - len(gutter))
        strip = to_strip(Line(body, f"body/{ground}"), room + self._shift, self.palette)
        return Strip.join([head, strip.crop(self._shift, self._shift + room)])

    def _want(self, number: int) -> None:
        page = (number - 1) // PAGE
        if page not in self._asked:
            self._asked.add(page)
            self.run_worker(self._fetch(page))

    async def _fetch(self, page: int) -> None:
        first = page * PAGE + 1
        reply = await self._link.ask(FileText(self.path, first, first + PAGE - 1))
        if isinstance(reply, TextPage):
            lines = await asyncio.to_thread(_coloured, reply.text, self._language)
            self._lines.update(enumerate(lines, first))
            self.refresh()

    def on_key(self, event: events.Key) -> None:
        page = max(1, self.size.height - 2)
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "pagedown": page, "space": page}
        ends = {"home": 0, "g": 0, "end": self.total, "G": self.total}
        if event.key in ("left", "right"):
            self._shift = max(0, self._shift + (8 if event.key == "right" else -8))
            self.refresh()
        elif event.key in steps:
            self.scroll_relative(y=steps[event.key], animate=False, force=True)
        elif (event.character or event.key) in ends or event.key in ends:
            self.scroll_to(
                y=ends.get(event.key, ends.get(event.character or "", 0)), animate=False, force=True
            )
        else:
            return
        event.stop()
        event.prevent_default()


def _coloured(text: str, language: str) -> list[list[Piece]]:
    lines = [line[:_LONGEST].expandtabs(4) for line in clean(text).split("\n")]
    return coloured("\n".join(lines), language)


class Viewer(ModalScreen[str]):
    """Gives `edit` when the place is wanted in the editor."""

    CSS = (
        "Viewer {"
        + SHEET_CSS
        + """}
    Viewer > #sheet { width: 94%; max-width: 140; height: 92%; max-height: 92%; }
    """
    )

    def __init__(self, palette: Palette, link: Link, first: TextPage, line: int, keys: Sequence[str]) -> None:
        super().__init__()
        self._palette, self._keys = palette, keys
        self._source = Source(palette, link, first, line)

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head(width)], self._palette)
            yield self._source
            yield Lines(lambda width: [self._foot(width)], self._palette)

    def _head(self, width: int) -> Line:
        source = self._source
        right = f"line {source.line} of {source.total} "
        path = shortened_path(one_line(source.path), max(8, width - len(right) - 2))
        return Line([(path, "heading/surface+b")], "body/surface", right=[(right, "muted/surface")])

    def _foot(self, width: int) -> Line:
        return Line([(keys_that_fit(self._keys, width), "faint/surface")], "body/surface")

    def repaint(self, palette: Palette) -> None:
        """Other colours, while it is open."""
        self._source.palette = palette
        self._source.refresh()
        for part in self.query(Lines):
            part.palette = palette
            part.refresh()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "e", "enter"):
            event.stop()
            self.dismiss("edit" if event.key in ("e", "enter") else "")


async def show(desk: "Desk", path: str, line: int, column: int) -> None:
    """Look at `path` around `line`; a file that cannot be shown is told in a word."""
    link, app = desk.link, desk.app
    if link is None:
        return
    first = await link.ask(FileText(path, max(1, line), max(1, line)))
    if not isinstance(first, TextPage):
        app.notify(
            first.reason if isinstance(first, Refused) else f"{path} cannot be shown", severity="warning"
        )
        return
    has_editor = bool(editors.editor_of(os.environ))
    keys = ("e edit", "Esc leave") if has_editor else ("Esc leave", "set $EDITOR to edit")
    moves = ("Up, Down, PgUp, PgDn, Home, End move",)
    screen = Viewer(app.palette, link, first, line, keys + moves)
    if await app.push_screen_wait(screen) == "edit" and has_editor:
        await going.go(desk, path, line, column)
