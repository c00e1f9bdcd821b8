"""How well a typed text fits a label: letters in order, whole words and beginnings first. Pure.

A list that is narrowed by typing: the palette, sessions, models, themes, history are all this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, list_height


def match_score(typed: str, label: str) -> float:
    """0 when `typed` does not fit; more is better."""
    wanted, text = typed.casefold(), label.casefold()
    if (at := text.find(wanted)) != -1:
        start = at == 0 or not text[at - 1].isalnum()
        return 100 + 20 * start - at / 100
    total = 0.0
    for word in wanted.split():
        points = _letter_score(word, text)
        if not points:
            return 0.0
        total += points
    return total


def _letter_score(word: str, text: str) -> float:
    """Letters of `word` in order in `text`; letters that begin a word count more."""
    if word in text:
        return 30.0
    position, points = -1, 0.0
    for letter in word:
        begin = _next_word_start(letter, text, position + 1)
        found = begin if begin != -1 and begin - position < 24 else text.find(letter, position + 1)
        if found == -1:
            return 0.0
        points += 4 if found == begin else 2 if found == position + 1 else 0.5
        position = found
    return points


def _next_word_start(letter: str, text: str, start: int) -> int:
    at = text.find(letter, start)
    while at != -1 and at > 0 and text[at - 1].isalnum():
        at = text.find(letter, at + 1)
    return at


MAX_SHOWN = 18
_OTHER_LINES = 6
"""Lines of the sheet that are none of the list: head, field and foot, and the empty ones between."""


@dataclass(frozen=True, slots=True)
class PickerChoice:
    """`value` is given back; `right` stands at the right edge; `now` marks what is in force."""

    value: str
    label: str
    detail: str = ""
    right: str = ""
    now: bool = False


class ChoiceList(ScrollView):
    """The choices that fit what was typed."""

    DEFAULT_CSS = """
    ChoiceList { background: $surface; height: auto; max-height: 18; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    class Clicked(Message):
        """A choice was clicked."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self.palette = palette
        self.choices: Sequence[PickerChoice] = ()
        self.at = 0
        self.empty = "nothing fits"

    def show(self, choices: Sequence[PickerChoice], at: int = 0) -> None:
        self.choices, self.at = choices, at
        self.virtual_size = Size(self.size.width, len(choices))
        self.refresh(layout=True)
        self.call_after_refresh(self._in_sight)

    def fit(self, height: int, others: int) -> None:
        """Take what a screen of `height` leaves beside `others` lines of the sheet."""
        self.styles.max_height = list_height(height, others, MAX_SHOWN)

    def on_resize(self) -> None:
        self.call_after_refresh(self._in_sight)

    def move(self, step: int) -> None:
        if self.choices:
            wrap = len(self.choices) if abs(step) == 1 else 0
            at = self.at + step
            self.at = at % wrap if wrap else max(0, min(len(self.choices) - 1, at))
            self._in_sight()
            self.refresh()

    def _in_sight(self) -> None:
        self.scroll_to_region(Region(0, self.at, 1, 1), animate=False, force=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self.choices))

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.size.width
        if index >= len(self.choices):
            text = shorten(self.empty, width) if not self.choices and y == 0 else ""
            return to_strip(StyledLine([(text, "muted/surface+i")], "body/surface"), width, self.palette)
        return to_strip(_choice_line(self.choices[index], index == self.at, width), width, self.palette)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index < len(self.choices):
            self.at = index
            self.post_message(self.Clicked())


def _choice_line(choice: PickerChoice, chosen: bool, width: int) -> StyledLine:
    ground = "selection" if chosen else "surface"
    kept = (
        min(cell_width(choice.right), width * 2 // 5) + 1 if "/" in choice.right else 0
    )  # a place stays in sight
    label = shorten(choice.label, max(12, width - 8 - kept))
    cut = shorten_path if kept else shorten
    right = cut(choice.right, max(0, width - cell_width(label) - 9))
    pieces: list[Piece] = [
        ("▸ " if chosen else "  ", f"person/{ground}"),
        ("● " if choice.now else "", f"good/{ground}"),
        (label, f"body/{ground}{'+b' if chosen else ''}"),
    ]
    room = width - cell_width(label) - cell_width(right) - 8
    if choice.detail and room > 8:
        pieces.append((f"  {shorten(choice.detail, room)}", f"muted/{ground}"))
    return StyledLine(pieces, f"body/{ground}", right=[(f"{right} ", f"muted/{ground}")] if right else ())


class Picker(ModalScreen[str | None]):
    """Gives the value chosen, or None. `seen` is told what the cursor is on (a preview)."""

    CSS = (
        "Picker {"
        + SHEET_CSS
        + """}
    Picker Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }
    Picker Input:focus { border: none; }
    Picker #foot { margin-top: 1; }
    """
    )

    def __init__(
        self,
        palette: Palette,
        title: str,
        choices: Sequence[PickerChoice],
        *,
        placeholder: str = "type to narrow",
        seen: Callable[[str], None] | None = None,
        free: bool = False,
        foot: str = "Enter choose   Esc leave",
    ) -> None:
        super().__init__()
        self._palette = palette
        self._heading = title
        self._all = choices
        self._placeholder = placeholder
        self._seen = seen
        self._free = free
        self._foot = foot

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head(width)], self._palette, id="head")
            yield Input(placeholder=self._placeholder)
            yield ChoiceList(self._palette)
            yield LinesView(
                lambda width: [StyledLine([(self._foot, "faint/surface")], "body/surface")],
                self._palette,
                id="foot",
            )

    def _head(self, width: int) -> StyledLine:
        count = f"{len(self._all)} " if len(self._all) > 9 else ""
        return StyledLine(
            [(self._heading, "heading/surface+b")], "body/surface", right=[(count, "muted/surface")]
        )

    def on_mount(self) -> None:
        self.rows = self.query_one(ChoiceList)
        now = next((n for n, choice in enumerate(self._all) if choice.now), 0)
        self.rows.show(self._all, now)
        self.rows.fit(self.app.size.height, _OTHER_LINES)
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def on_resize(self) -> None:
        if hasattr(self, "rows"):
            self.rows.fit(self.app.size.height, _OTHER_LINES)

    def repaint(self, palette: Palette) -> None:
        """Other colours, while it is open."""
        for part in (*self.query(LinesView), *self.query(ChoiceList)):
            part.palette = palette
            part.refresh()

    def on_input_changed(self, event: Input.Changed) -> None:
        text = event.value.strip()
        if not text:
            self.rows.show(self._all)
            return
        scored = [(match_score(text, f"{one.label} {one.detail}"), n, one) for n, one in enumerate(self._all)]
        fits = sorted((-points, n, one) for points, n, one in scored if points > 0) if scored else []
        self.rows.show([one for _, _, one in fits])
        self._look()

    def on_key(self, event: events.Key) -> None:
        steps = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1, "pageup": -10, "pagedown": 10}
        if event.key in steps:
            event.stop()
            event.prevent_default()
            self.rows.move(steps[event.key])
            self._look()
        elif event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(event.value.strip())

    def on_choice_list_clicked(self) -> None:
        self._choose("")

    def _choose(self, typed: str) -> None:
        if self.rows.choices:
            self.dismiss(self.rows.choices[self.rows.at].value)
        elif self._free and typed:
            self.dismiss(typed)

    def _look(self) -> None:
        if self._seen is not None and self.rows.choices:
            self._seen(self.rows.choices[self.rows.at].value)
