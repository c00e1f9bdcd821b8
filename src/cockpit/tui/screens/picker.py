"""A list that is narrowed by typing: palette, sessions, models, themes, history."""

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

from cockpit.fuzzy_match import best_matches
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.widgets import to_strip
from cockpit.tui.screens.dialogs import (
    CLOSE_WITH_ESCAPE,
    INPUT_CSS,
    SHEET_CSS,
    LinesView,
    focus_input,
    list_height,
    sheet_line,
    title_line,
)

MAX_SHOWN = 18
LIST_STEPS = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1, "pageup": -10, "pagedown": 10}
_OTHER_LINES = 6
"""Lines of the sheet beside the list: heading, field, foot, and the empty lines between."""


@dataclass(frozen=True, slots=True)
class PickerChoice:
    """`value` is what the picker returns; `right` is shown at the right edge; `now` marks the current
    choice."""

    value: str
    label: str
    detail: str = ""
    right: str = ""
    now: bool = False


class ChoiceList(ScrollView):
    """The choices that match what was typed, with a cursor."""

    DEFAULT_CSS = """
    ChoiceList { background: $surface; height: auto; max-height: 18; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    class Clicked(Message):
        """A choice was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.choices: Sequence[PickerChoice] = ()
        self.at = 0
        self.empty = "no match"

    def show(self, choices: Sequence[PickerChoice], at: int = 0) -> None:
        self.choices, self.at = choices, at
        self.virtual_size = Size(self.size.width, len(choices))
        self.refresh(layout=True)
        self.call_after_refresh(self._scroll_to_cursor)

    def fit(self, height: int, others: int) -> None:
        """Limit the height to what a screen of `height` leaves beside `others` lines of the sheet."""
        self.styles.max_height = list_height(height, others, MAX_SHOWN)

    def on_resize(self) -> None:
        self.call_after_refresh(self._scroll_to_cursor)

    def move(self, step: int) -> None:
        if self.choices:
            wrap = len(self.choices) if abs(step) == 1 else 0
            at = self.at + step
            self.at = at % wrap if wrap else max(0, min(len(self.choices) - 1, at))
            self._scroll_to_cursor()
            self.refresh()

    def _scroll_to_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.at, 1, 1), animate=False, force=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self.choices))

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.size.width
        if index >= len(self.choices):
            text = shorten(self.empty, width) if not self.choices and y == 0 else ""
            return to_strip(StyledLine([(text, "muted/surface+i")], "body/surface"), width, self)
        return to_strip(_choice_line(self.choices[index], index == self.at, width), width, self)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index < len(self.choices):
            self.at = index
            self.post_message(self.Clicked())


def _choice_line(choice: PickerChoice, chosen: bool, width: int) -> StyledLine:
    ground = "selection" if chosen else "surface"
    # Part of a path always stays visible at the right.
    reserved = min(cell_width(choice.right), width * 2 // 5) + 1 if "/" in choice.right else 0
    label = shorten(choice.label, max(12, width - 8 - reserved))
    right = (shorten_path if reserved else shorten)(choice.right, max(0, width - cell_width(label) - 9))
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
    """Returns the chosen value, or None for Esc. `preview` is called with the value under the cursor;
    `free`: typed text that matches no choice is a value."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = f"Picker {{ {SHEET_CSS} {INPUT_CSS} & #foot {{ margin-top: 1; }} }}"

    def __init__(
        self,
        title: str,
        choices: Sequence[PickerChoice],
        *,
        placeholder: str = "type to narrow",
        preview: Callable[[str], None] | None = None,
        free: bool = False,
        foot: str = "Enter choose   Esc close",
    ) -> None:
        super().__init__()
        self._heading, self._all = title, choices
        self._placeholder, self._foot = placeholder, foot
        self._preview, self._free = preview, free

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            count = f"{len(self._all)} " if len(self._all) > 9 else ""
            yield LinesView(lambda width: [title_line(self._heading, count)], id="head")
            yield Input(placeholder=self._placeholder)
            yield ChoiceList()
            yield LinesView(lambda width: [sheet_line(self._foot, "faint")], id="foot")

    def on_mount(self) -> None:
        self.rows = self.query_one(ChoiceList)
        now = next((n for n, choice in enumerate(self._all) if choice.now), 0)
        self.rows.show(self._all, now)
        self.rows.fit(self.app.size.height, _OTHER_LINES)
        focus_input(self.query_one(Input))

    def on_resize(self) -> None:
        if hasattr(self, "rows"):
            self.rows.fit(self.app.size.height, _OTHER_LINES)

    def on_input_changed(self, event: Input.Changed) -> None:
        text = event.value.strip()
        if not text:
            self.rows.show(self._all)
            return
        self.rows.show(best_matches(text, self._all, lambda choice: f"{choice.label} {choice.detail}"))
        self._show_preview()

    def on_key(self, event: events.Key) -> None:
        if event.key in LIST_STEPS:
            event.stop()
            event.prevent_default()
            self.rows.move(LIST_STEPS[event.key])
            self._show_preview()

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

    def _show_preview(self) -> None:
        if self._preview is not None and self.rows.choices:
            self._preview(self.rows.choices[self.rows.at].value)
