"""A list that is asked for anew while a person types: symbols, uses, problems.

A question waits until the typing rests; its answer counts only while nothing newer was asked. While an
answer is incomplete, it is asked for again whenever a server or the index gets on, and a few times by
itself: one at a time, at most twice a second.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten
from cockpit.tui.render.themes import Palette
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys
from cockpit.tui.screens.picker import ChoiceList, PickerChoice

TYPING_REST_SECONDS = 0.06
"""Seconds without a key before a question is asked."""
RETRY_SECONDS = 0.5
"""Seconds between an incomplete answer and the next question by itself."""
_MAX_RETRIES = 4  # without anybody saying that there is more to know
_OTHER_LINES = 5  # lines of the sheet that are neither the list nor the foot


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """An answer: `source` names who gave it, `note` why it may get better (then not `complete`), or why
    there is none."""

    choices: Sequence[PickerChoice]
    source: str = ""
    complete: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class PickedLocation:
    """`look`: in the viewer rather than in the editor."""

    value: str
    look: bool = False


LiveQuery = Callable[[str], Awaitable[LiveAnswer]]


class LivePicker(ModalScreen[PickedLocation | None]):
    """Gives what was chosen, or None."""

    CSS = (
        "Live {"
        + SHEET_CSS
        + """}
    Live > #sheet { width: 110; }
    Live Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }
    Live Input:focus { border: none; }
    Live #foot { margin-top: 1; }
    """
    )

    def __init__(
        self,
        palette: Palette,
        title: str,
        ask: LiveQuery,
        *,
        placeholder: str = "type to narrow",
        typed: str = "",
        foot: str = "Enter open   Tab look   Esc leave",
    ) -> None:
        super().__init__()
        self._palette, self._heading, self._ask = palette, title, ask
        self._placeholder, self._first, self._foot = placeholder, typed, foot
        self._number = 0  # of the newest question
        self._found: LiveAnswer | None = None
        self._answered = ""  # what was typed when `_found` was asked for
        self._timer: Timer | None = None
        self._next: Timer | None = None  # the question that is asked by itself
        self._tries = 0
        self._is_open = False  # a question, until it is answered

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head()], self._palette, id="head")
            yield Input(self._first, placeholder=self._placeholder)
            yield ChoiceList(self._palette)
            yield LinesView(self._last, self._palette, id="foot")

    def _head(self) -> StyledLine:
        found = self._found
        right = f"{len(found.choices)}   {found.source} " if found is not None and found.choices else ""
        return StyledLine(
            [(self._heading, "heading/surface+b")], "body/surface", right=[(right, "muted/surface")]
        )

    def _last(self, width: int) -> list[StyledLine]:
        """The keys, and why the answer may get better: beside them, or above where that is too long."""
        found = self._found
        note = found.note if found is not None and found.choices else ""
        key = "warn/surface" if found is not None and not found.complete else "muted/surface"
        keys: list[Piece] = [(fit_keys(self._foot.split("   "), width), "faint/surface")]
        if cell_width(note) <= width - cell_width(keys[0][0]) - 4:
            return [StyledLine(keys, "body/surface", right=[(f"{note} ", key)])]
        return [StyledLine([(shorten(note, width), key)], "body/surface"), StyledLine(keys, "body/surface")]

    def on_mount(self) -> None:
        self.rows = self.query_one(ChoiceList)
        self.rows.empty = "asking …"
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._fit()
        self._question()

    def on_resize(self) -> None:
        if hasattr(self, "rows"):
            self._fit()

    def _fit(self) -> None:
        foot = self.query_one("#foot", LinesView)
        self.rows.fit(self.app.size.height, _OTHER_LINES + len(self._last(max(10, foot.size.width))))

    def repaint(self, palette: Palette) -> None:
        """Other colours, while it is open."""
        for part in (*self.query(LinesView), *self.query(ChoiceList)):
            part.palette = palette
            part.refresh()

    def servers_changed(self) -> None:
        """A server, or the index, may know more than what is shown."""
        self._tries = 0
        self._ask_again(0.0)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._tries = 0
        self._timer = self.set_timer(TYPING_REST_SECONDS, self._question)

    def _ask_again(self, seconds: float) -> None:
        """In place of the answer that is shown, where that is incomplete and nothing else is asked."""
        if self._found is None or self._found.complete or self._is_open:
            return
        if self._next is None:
            self._next = self.set_timer(max(seconds, TYPING_REST_SECONDS), self._question)

    def _question(self) -> None:
        if self._next is not None:
            self._next.stop()
            self._next = None
        self._is_open = True
        self._number += 1
        text = self.query_one(Input).value.strip()
        self.run_worker(self._answer(self._number, text), group="ask", exclusive=True)

    async def _answer(self, number: int, text: str) -> None:
        found = await self._ask(text)
        if number != self._number or not self.is_mounted:
            return
        kept = self.rows.choices[self.rows.at].value if self.rows.at else ""  # the first is nobody's choice
        again = text == self._answered
        self._is_open = False
        self._found, self._answered = found, text
        at = next((n for n, one in enumerate(found.choices) if again and one.value == kept), 0)
        self.rows.empty = found.note or "nothing fits"
        self.rows.show(found.choices, at)
        for part in self.query(LinesView):
            part.anew()
        self._fit()
        self._tries += 1
        if self._tries <= _MAX_RETRIES:
            self._ask_again(RETRY_SECONDS)

    def on_key(self, event: events.Key) -> None:
        steps = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1, "pageup": -10, "pagedown": 10}
        if event.key in steps:
            event.stop()
            event.prevent_default()
            self.rows.move(steps[event.key])
        elif event.key == "tab":
            event.stop()
            event.prevent_default()
            self._choose(look=True)
        elif event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(look=False)

    def on_choice_list_clicked(self) -> None:
        self._choose(look=False)

    def _choose(self, *, look: bool) -> None:
        if self.rows.choices:
            self.dismiss(PickedLocation(self.rows.choices[self.rows.at].value, look))
