"""Readers: laid-out text (a diff, the help, an approval), and a file with one line highlighted.

A file is fetched and highlighted a page at a time, in a thread, so that a file of any size opens at once.
"""

import asyncio
from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.protocol.code import FileText, TextPage
from cockpit.protocol.content import Diff
from cockpit.protocol.queries import Refused
from cockpit.protocol.safe_text import clean, single_line
from cockpit.tui.render import diffs
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten_path
from cockpit.tui.render.syntax import detect_language, highlight
from cockpit.tui.render.widgets import ThemedApp, to_strip
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys, sheet_line, title_line
from cockpit.tui.session_link import SessionLink

PAGE_LINES = 400
"""Lines that are fetched and highlighted together."""
_MAX_LINE_LENGTH = 2000
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}


class TextReader(ModalScreen[str]):
    """Shows lines to scroll through. Returns the key of `keys` it was left with, or "" for Esc."""

    CSS = f"""TextReader {{ {SHEET_CSS}
        & > #sheet {{ width: 94%; max-width: 140; height: auto; max-height: 92%; }}
        & #text {{ margin: 1 0; }}
    }}"""

    def __init__(
        self,
        title: str,
        lay_out: Callable[[int], Sequence[StyledLine]],
        *,
        right: str = "",
        keys: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._heading, self._right = title, right
        self._lay_out, self._keys = lay_out, keys

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [title_line(self._heading, self._right)])
            yield LinesView(self._lay_out, id="text")
            yield LinesView(lambda width: [self._foot(width)])

    def _foot(self, width: int) -> StyledLine:
        own = [f"{key} {label}" for key, label in self._keys]
        text = "   ".join((*own, "Up, Down, PgUp, PgDn move", "Esc close"))
        if cell_width(text) > width:
            text = fit_keys((*own, "Esc close"), width)
        return sheet_line(text, "faint")

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", LinesView).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Make the sheet as high as the text, but never so high that heading and foot are pushed out."""
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
            self._go_to_file(text, 1 if event.key == "n" else -1)

    def _go_to_file(self, text: LinesView, step: int) -> None:
        here = text.scroll_offset.y
        headings = [y for y, line in enumerate(text.lines) if line.right]
        ahead = [y for y in headings if (y > here if step > 0 else y < here)]
        if ahead:
            text.scroll_to(y=ahead[0] if step > 0 else ahead[-1], animate=False, force=True)


def diff_lines(changes: Sequence[Diff]) -> Callable[[int], list[StyledLine]]:
    """All files, one below the other."""

    def lay_out(width: int) -> list[StyledLine]:
        lines: list[StyledLine] = []
        for number, diff in enumerate(changes):
            if number:
                lines.append(StyledLine([], "body"))
            lines += [diffs.diff_heading(diff, width, 0), *diffs.diff_body(diff, width, 0)]
        return [line.on("surface") for line in lines]

    return lay_out


class SourceView(ScrollView, can_focus=True):
    """The numbered lines of a file; `line` is highlighted."""

    DEFAULT_CSS = """
    SourceView { background: $surface; height: 1fr; margin: 1 0; overflow-x: hidden; overflow-y: scroll;
        scrollbar-size: 1 1; scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(self, link: SessionLink, first: TextPage, line: int) -> None:
        super().__init__()
        self._link = link
        self.path, self.total = first.path, first.total
        self.line = max(1, min(line, first.total))
        self._language = detect_language(first.path)
        self._lines: dict[int, list[Piece]] = {}
        self._requested: set[int] = set()  # pages
        self._shift = 0  # cells scrolled out at the left

    def on_mount(self) -> None:
        self._fit()
        self.focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, self.total)
        self.call_after_refresh(self.centre)

    def centre(self) -> None:
        """Scroll the highlighted line to the middle."""
        self.scroll_to(y=max(0, self.line - 1 - self.size.height // 2), animate=False, force=True)
        self._fetch_visible()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._fetch_visible()

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y + 1, self.size.width
        if number > self.total:
            return to_strip(StyledLine([], "body/surface"), width, self)
        ground = "selection" if number == self.line else "surface"
        gutter = f"{number:>{len(str(self.total)) + 1}}  "
        pieces = self._lines.get(number, [])
        head = to_strip(StyledLine([(gutter, f"faint/{ground}")]), len(gutter), self)
        body = [
            (text, f"{key.partition('+')[0]}/{ground}{'+i' if '+i' in key else ''}") for text, key in pieces
        ]
        room = max(1, width - len(gutter))
        strip = to_strip(StyledLine(body, f"body/{ground}"), room + self._shift, self)
        return Strip.join([head, strip.crop(self._shift, self._shift + room)])

    def _fetch_visible(self) -> None:
        top = self.scroll_offset.y
        bottom = min(self.total - 1, top + self.size.height)
        for page in range(top // PAGE_LINES, bottom // PAGE_LINES + 1):
            if page not in self._requested:
                self._requested.add(page)
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
            y = ends.get(event.key, ends.get(event.character or "", 0))
            self.scroll_to(y=y, animate=False, force=True)
        else:
            return
        event.stop()
        event.prevent_default()


def _highlight_page(text: str, language: str) -> list[list[Piece]]:
    lines = [line[:_MAX_LINE_LENGTH].expandtabs(4) for line in clean(text).split("\n")]
    return highlight("\n".join(lines), language)


class FileViewer(ModalScreen[str]):
    """Shows a file. Returns "edit" when the user wants the place in their editor."""

    CSS = f"""FileViewer {{ {SHEET_CSS}
        & > #sheet {{ width: 94%; max-width: 140; height: 92%; max-height: 92%; }}
    }}"""

    def __init__(self, link: SessionLink, first: TextPage, line: int, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys
        self._source = SourceView(link, first, line)

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head(width)])
            yield self._source
            yield LinesView(lambda width: [self._foot(width)])

    def _head(self, width: int) -> StyledLine:
        source = self._source
        right = f"line {source.line} of {source.total} "
        return title_line(shorten_path(single_line(source.path), max(8, width - len(right) - 2)), right)

    def _foot(self, width: int) -> StyledLine:
        return sheet_line(fit_keys(self._keys, width), "faint")

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "e", "enter"):
            event.stop()
            self.dismiss("edit" if event.key in ("e", "enter") else "")


async def view_file(app: ThemedApp, link: SessionLink, path: str, line: int, *, has_editor: bool) -> bool:
    """Show `path` around `line`. Returns whether the user wants the place in their editor."""
    first = await link.ask(FileText(path, max(1, line), max(1, line)))
    if not isinstance(first, TextPage):
        reason = first.reason if isinstance(first, Refused) else f"{path} cannot be shown"
        app.notify(reason, severity="warning")
        return False
    keys = ("e edit", "Esc close") if has_editor else ("Esc close", "set $EDITOR to edit")
    moves = ("Up, Down, PgUp, PgDn, Home, End move",)
    viewer = FileViewer(link, first, line, keys + moves)
    return await app.push_screen_wait(viewer) == "edit" and has_editor
