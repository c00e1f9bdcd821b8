"""Something long to read: a diff, the help, a tool's whole output.

A file to look at, the line somebody came for shaded and in the middle.

It is fetched and coloured a page at a time, in a thread, so that a file of any size opens at once.
Changes nothing; `e` hands over to the editor.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.protocol import queries
from cockpit.protocol.code import FileText, TextPage
from cockpit.protocol.content import Diff
from cockpit.protocol.queries import Refused
from cockpit.tui.actions import open_location
from cockpit.tui.clean import clean, single_line
from cockpit.tui.render import diffs, number_format
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten_path
from cockpit.tui.render.syntax import detect_language, highlight
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys, shade_lines
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.entries import clean_diff
from cockpit.tui.terminal import editors

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}


class TextReader(ModalScreen[str]):
    """Lines and a way through them; gives the key it was left with, of those in `keys`."""

    CSS = (
        "Reader {"
        + SHEET_CSS
        + """}
    Reader > #sheet { width: 94%; max-width: 140; height: auto; max-height: 92%; }
    Reader #text { margin: 1 0; }
    """
    )

    def __init__(
        self,
        palette: Palette,
        title: str,
        lay: Callable[[int], Sequence[StyledLine]],
        *,
        right: str = "",
        keys: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._palette = palette
        self._heading = title
        self._lay = lay
        self._right = right
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head()], self._palette)
            yield LinesView(self._lay, self._palette, id="text")
            yield LinesView(lambda width: [self._foot(width)], self._palette)

    def _head(self) -> StyledLine:
        return StyledLine(
            [(self._heading, "heading/surface+b")], "body/surface", right=[(self._right, "muted/surface")]
        )

    def _foot(self, width: int) -> StyledLine:
        own = [f"{key} {label}" for key, label in self._keys]
        text = "   ".join((*own, "Up, Down, PgUp, PgDn move", "Esc leave"))
        if cell_width(text) > width:
            text = fit_keys((*own, "Esc leave"), width)
        return StyledLine([(text, "faint/surface")], "body/surface")

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", LinesView).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """As high as the text, but never so high that head and foot are pushed out."""
        self.query_one("#text", LinesView).styles.max_height = max(3, self.app.size.height * 92 // 100 - 6)

    def on_key(self, event: events.Key) -> None:
        text = self.query_one("#text", LinesView)
        if event.key in ("escape", "q"):
            event.stop()
            self.dismiss("")
        elif event.character in [key for key, _ in self._keys]:
            event.stop()
            self.dismiss(event.character or "")
        elif event.key in _STEPS:
            event.stop()
            event.prevent_default()
            text.scroll_relative(y=_STEPS[event.key], animate=False, force=True)
        elif event.key in ("n", "N"):
            event.stop()
            self._to_file(text, 1 if event.key == "n" else -1)

    def _to_file(self, text: LinesView, step: int) -> None:
        """The next head of a file: a line that carries counts at its right."""
        here = text.scroll_offset.y
        heads = [y for y, line in enumerate(text.lines) if line.right]
        ahead = [y for y in heads if (y > here if step > 0 else y < here)]
        if ahead:
            text.scroll_to(y=ahead[0] if step > 0 else ahead[-1], animate=False, force=True)


def diff_lines(found: Sequence[Diff]) -> Callable[[int], list[StyledLine]]:
    """All files, one below the other."""

    def lay(width: int) -> list[StyledLine]:
        lines: list[StyledLine] = []
        for number, diff in enumerate(found):
            if number:
                lines.append(StyledLine([], "body"))
            lines += [diffs.diff_heading(diff, width, 0), *diffs.diff_body(diff, width, 0)]
        return shade_lines(lines)

    return lay


async def show_changes(desk: "SessionController", path: str = "") -> None:
    """What the session changed, `path` first."""
    link, app = desk.link, desk.app
    if link is None:
        return
    reply = await link.ask(queries.Changes())
    rows = [clean_diff(row) for row in reply.rows] if isinstance(reply, queries.ChangeRows) else []
    if not rows:
        why = reply.reason if isinstance(reply, queries.Refused) else "this session has changed no file"
        app.notify(why)
        return
    rows.sort(key=lambda row: (row.path != path, row.path))
    added, removed = sum(row.added for row in rows), sum(row.removed for row in rows)
    right = f"{number_format.format_count(len(rows), 'file')}   +{added} -{removed}"
    await app.push_screen_wait(
        TextReader(app.palette, "Changed in this session", diff_lines(rows), right=right)
    )


PAGE_LINES = 400
"""Lines that are fetched and coloured together."""
_MAX_LINE_LENGTH = 2000


class SourceView(ScrollView, can_focus=True):
    """Numbered lines of one file; `line` is shaded."""

    DEFAULT_CSS = """
    Source { background: $surface; height: 1fr; margin: 1 0; overflow-x: hidden; overflow-y: scroll;
        scrollbar-size: 1 1; scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(self, palette: Palette, link: SessionLink, first: TextPage, line: int) -> None:
        super().__init__()
        self.palette, self._link = palette, link
        self.path, self.total = first.path, first.total
        self.line = max(1, min(line, first.total))
        self._language = detect_language(first.path)
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
            return to_strip(StyledLine([], "body/surface"), width, self.palette)
        ground = "selection" if number == self.line else "surface"
        gutter = f"{number:>{len(str(self.total)) + 1}}  "
        pieces = self._lines.get(number)
        if pieces is None:
            self._want(number)
            pieces = []
        head = to_strip(StyledLine([(gutter, f"faint/{ground}")]), len(gutter), self.palette)
        body = [
            (text, f"{key.partition('+')[0]}/{ground}{'+i' if '+i' in key else ''}") for text, key in pieces
        ]
        room = max(1, width - len(gutter))
        strip = to_strip(StyledLine(body, f"body/{ground}"), room + self._shift, self.palette)
        return Strip.join([head, strip.crop(self._shift, self._shift + room)])

    def _want(self, number: int) -> None:
        page = (number - 1) // PAGE_LINES
        if page not in self._asked:
            self._asked.add(page)
            self.run_worker(self._fetch(page))

    async def _fetch(self, page: int) -> None:
        first = page * PAGE_LINES + 1
        reply = await self._link.ask(FileText(self.path, first, first + PAGE_LINES - 1))
        if isinstance(reply, TextPage):
            lines = await asyncio.to_thread(_highlight_page, reply.text, self._language)
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


def _highlight_page(text: str, language: str) -> list[list[Piece]]:
    lines = [line[:_MAX_LINE_LENGTH].expandtabs(4) for line in clean(text).split("\n")]
    return highlight("\n".join(lines), language)


class FileViewer(ModalScreen[str]):
    """Gives `edit` when the place is wanted in the editor."""

    CSS = (
        "Viewer {"
        + SHEET_CSS
        + """}
    Viewer > #sheet { width: 94%; max-width: 140; height: 92%; max-height: 92%; }
    """
    )

    def __init__(
        self, palette: Palette, link: SessionLink, first: TextPage, line: int, keys: Sequence[str]
    ) -> None:
        super().__init__()
        self._palette, self._keys = palette, keys
        self._source = SourceView(palette, link, first, line)

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head(width)], self._palette)
            yield self._source
            yield LinesView(lambda width: [self._foot(width)], self._palette)

    def _head(self, width: int) -> StyledLine:
        source = self._source
        right = f"line {source.line} of {source.total} "
        path = shorten_path(single_line(source.path), max(8, width - len(right) - 2))
        return StyledLine([(path, "heading/surface+b")], "body/surface", right=[(right, "muted/surface")])

    def _foot(self, width: int) -> StyledLine:
        return StyledLine([(fit_keys(self._keys, width), "faint/surface")], "body/surface")

    def repaint(self, palette: Palette) -> None:
        """Other colours, while it is open."""
        self._source.palette = palette
        self._source.refresh()
        for part in self.query(LinesView):
            part.palette = palette
            part.refresh()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "e", "enter"):
            event.stop()
            self.dismiss("edit" if event.key in ("e", "enter") else "")


async def view_file(desk: "SessionController", path: str, line: int, column: int) -> None:
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
    has_editor = bool(editors.configured_editor(os.environ))
    keys = ("e edit", "Esc leave") if has_editor else ("Esc leave", "set $EDITOR to edit")
    moves = ("Up, Down, PgUp, PgDn, Home, End move",)
    screen = FileViewer(app.palette, link, first, line, keys + moves)
    if await app.push_screen_wait(screen) == "edit" and has_editor:
        await open_location.open_in_editor(desk, path, line, column)
