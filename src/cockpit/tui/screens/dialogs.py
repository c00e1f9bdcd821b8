"""The sheet that screens are laid out on, a scrollable view of lines, and the small dialogs."""

import time
from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, TextArea

from cockpit.protocol.messages import Json
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph, shorten_path
from cockpit.tui.render.widgets import to_strip
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.screen_state import FrontendRequest

WAIT_SECONDS = 30.0
SHEET_CSS = """
    align: center middle; background: $background 55%;
    & > #sheet { width: 84; max-width: 94%; height: auto; max-height: 86%; background: $surface; padding: 1 2;
        border-left: outer $primary; }
"""
INPUT_CSS = """
    & Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }
    & Input:focus { border: none; }
"""
CLOSE_WITH_ESCAPE: list[BindingType] = [("escape", "dismiss", "close")]
_SHEET_PERCENT = 86  # of the screen's height, as above
_SHEET_PADDING = 2  # the sheet's own empty lines


def list_height(height: int, others: int, most: int) -> int:
    """How many lines a list may have on a sheet beside `others`, on a screen of `height`: more would push the
    last lines of the sheet off the screen."""
    return max(1, min(most, height * _SHEET_PERCENT // 100 - _SHEET_PADDING - others))


def sheet_line(text: str, key: str = "body") -> StyledLine:
    """A line on a sheet's background."""
    return StyledLine([(text, key)]).on("surface")


def title_line(title: str, right: str | None = None) -> StyledLine:
    """The heading of a sheet."""
    pieces: list[Piece] = [(right, "muted")] if right is not None else []
    return StyledLine([(title, "heading+b")], right=pieces).on("surface")


def fit_keys(keys: Sequence[str], width: int) -> str:
    """As many key hints as fit into one line; the first ones matter most."""
    text = ""
    for key in keys:
        longer = f"{text}   {key}" if text else key
        if text and cell_width(longer) > width:
            break
        text = longer
    return text


class LinesView(ScrollView, can_focus=True):
    """Lines made by `lay_out(width)`, again when the width changes."""

    DEFAULT_CSS = """
    LinesView { background: $surface; height: auto; max-height: 100%; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(self, lay_out: Callable[[int], Sequence[StyledLine]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lay_out = lay_out
        self.lines: Sequence[StyledLine] = ()
        self._width = 0

    def _make(self, width: int) -> None:
        if width > 0 and width != self._width:
            self._width = width
            self.lines = self.lay_out(width)
            self.virtual_size = Size(width, len(self.lines))

    def on_resize(self) -> None:
        self._make(self.size.width)

    def update(self) -> None:
        """Lay the lines out again, because what they show has changed."""
        width, self._width, before = self._width, 0, len(self.lines)
        self._make(width)
        self.refresh(layout=len(self.lines) != before)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lay_out(max(10, width)))

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        line = self.lines[row] if row < len(self.lines) else StyledLine([], "body/surface")
        return to_strip(line, self.size.width, self)


class TextDialog(ModalScreen[str | None]):
    """Asks for one line. Returns it, or None for Esc."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = f"TextDialog {{ {SHEET_CSS} {INPUT_CSS} }}"

    def __init__(self, title: str, detail: str, text: str, foot: str) -> None:
        super().__init__()
        self._heading, self._detail = title, detail
        self._text, self._foot = text, foot

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [title_line(self._heading, f"{self._detail} ")])
            yield Input(self._text)
            yield LinesView(lambda width: [sheet_line(self._foot, "faint")])

    def on_mount(self) -> None:
        focus_input(self.query_one(Input))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())


def focus_input(field: Input) -> None:
    """Focus a field; its cursor does not blink, which would wake the program twice a second."""
    field.cursor_blink = False
    field.focus()


class TextEditDialog(ModalScreen[str]):
    """Edits several lines. Returns the text as it was left with Esc. With an `original`, the text is code:
    Ctrl+R restores the original and Tab indents."""

    CSS = f"""TextEditDialog {{ {SHEET_CSS}
        & > #sheet {{ width: 94%; max-width: 120; }}
        & TextArea {{ border: none; background: $panel; height: auto; max-height: 24; min-height: 3;
            padding: 0 1; margin: 1 0; }}
        & TextArea:focus {{ border: none; }}
        &.-document > #sheet {{ max-width: 110; height: 92%; max-height: 92%; border-left: outer $accent; }}
        &.-document TextArea {{ height: 1fr; max-height: 100%; min-height: 6; padding: 0; }}
    }}"""

    def __init__(
        self,
        title: str,
        text: str,
        foot: str,
        *,
        path: str = "",
        detail: str = "",
        original: str | None = None,
    ) -> None:
        super().__init__(classes="" if original is not None else "-document")
        self._heading, self._text, self._foot = title, text, foot
        self._path, self._detail, self._original = path, detail, original

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head(width)])
            yield TextArea(self._text, show_line_numbers=False)
            yield LinesView(lambda width: [sheet_line(self._foot, "faint")])

    def _head(self, width: int) -> StyledLine:
        if not self._path:
            return title_line(self._heading)
        path = shorten_path(self._path, max(8, width - 30))
        pieces: list[Piece] = [(f"{self._heading}  ", "heading+b"), (path, "body+b")]
        return StyledLine(pieces, right=[(self._detail, "muted")]).on("surface")

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.focus()

    def on_key(self, event: events.Key) -> None:
        area = self.query_one(TextArea)
        if event.key == "escape":
            self.dismiss(area.text)
        elif event.key == "ctrl+r" and self._original is not None:
            area.load_text(self._original)
        elif event.key == "tab" and self._original is not None:
            event.prevent_default()
            tabs = "\n\t" in f"\n{self._original}"
            area.insert("\t" if tabs else " " * (4 - area.cursor_location[1] % 4))
        else:
            return
        event.stop()


class ConfirmDialog(ModalScreen[str]):
    """Asks a question with a key for each answer. Returns the key, or "" for Esc.

    A dialog that opens by itself must not take a key meant for something else: for `quiet` seconds, and as
    long again after each key in that time, keys answer nothing and what is typed goes to `early`.
    """

    CSS = f"ConfirmDialog {{ {SHEET_CSS} & > #sheet {{ width: 72; }} }}"

    def __init__(
        self,
        title: str,
        lines: Sequence[str],
        keys: Sequence[tuple[str, str]],
        *,
        quiet: float = 0.0,
        early: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__()
        self._heading, self._lines, self._keys = title, lines, keys
        self._quiet, self._early = quiet, early
        self._quiet_until = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._lay_out)

    def _lay_out(self, width: int) -> list[StyledLine]:
        lines = [title_line(self._heading), sheet_line("")]
        for text in self._lines:
            lines += layout_paragraph(text, width, key="body/surface", fill="body/surface")
        pieces: list[Piece] = []
        for key, label in self._keys:
            pieces += [(f" {key} ", "person/boost+b"), (f" {label}    ", "body/surface")]
        return [*lines, sheet_line(""), StyledLine(pieces, "body/surface")]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if not self.is_current:  # a key typed while the dialog closes
            return
        if event.key == "escape":
            self.dismiss("")
        elif time.monotonic() < self._quiet_until:
            self._quiet_until = time.monotonic() + self._quiet
            if self._early is not None and event.is_printable and event.character:
                self._early(event.character)
        elif event.character in [key for key, _ in self._keys]:
            self.dismiss(event.character or "")


class FindBar(ModalScreen[str | None]):
    """Asks what to search for, in one line at the bottom. Returns it, or None for Esc."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = """
    FindBar { align: center bottom; background: $background 0%; }
    FindBar Input {
        border: none; border-left: outer $accent; background: $panel; height: 1; width: 100%; padding: 0 1;
    }
    FindBar Input:focus { border: none; border-left: outer $accent; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Input(self._text, placeholder="search the Trace; then n and N go on")

    def on_mount(self) -> None:
        focus_input(self.query_one(Input))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class WaitDialog(ModalScreen[FrontendRequest | None]):
    """Runs a command of the core and waits for its answer. Returns the answer, or None for Esc or when
    none came in time."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = f"WaitDialog {{ {SHEET_CSS} & > #sheet {{ width: 60; }} }}"

    def __init__(self, text: str, link: SessionLink, action: str, arguments: dict[str, Json]) -> None:
        super().__init__()
        self._text = text
        self._link, self._action, self._arguments = link, action, arguments
        self._op = ""

    def compose(self) -> ComposeResult:
        lines = [sheet_line(self._text), sheet_line("Esc cancels", "faint")]
        with Vertical(id="sheet"):
            yield LinesView(lambda width: lines)

    async def on_mount(self) -> None:
        self._op = await self._link.invoke(self._action, self._arguments, captured=True)
        self.set_timer(WAIT_SECONDS, lambda: self.dismiss(None))

    def take_answer(self, request: FrontendRequest) -> None:
        """Take the core's answer."""
        if request.op == self._op and self.is_current:
            self.dismiss(request)
