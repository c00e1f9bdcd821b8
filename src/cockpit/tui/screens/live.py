"""A list that is asked for anew while a person types: symbols, uses, problems.

A question waits until the typing rests; its answer counts only while nothing newer was asked. While an
answer is incomplete, it is asked for again whenever a server's state changes.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from cockpit.tui.palette import Palette
from cockpit.tui.screens.picker import Choice, ChoiceList
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line, shortened

REST = 0.06
"""Seconds without a key before a question is asked."""


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: `source` names who gave it, `note` why it may get better (then not `complete`), or why
    there is none."""

    choices: Sequence[Choice]
    source: str = ""
    complete: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """`look`: in the viewer rather than in the editor."""

    value: str
    look: bool = False


Ask = Callable[[str], Awaitable[Found]]


class Live(ModalScreen[Chosen | None]):
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
        ask: Ask,
        *,
        placeholder: str = "type to narrow",
        typed: str = "",
        foot: str = "Enter open   Tab look   Esc leave",
    ) -> None:
        super().__init__()
        self._palette, self._heading, self._ask = palette, title, ask
        self._placeholder, self._first, self._foot = placeholder, typed, foot
        self._number = 0  # of the newest question
        self._found: Found | None = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head()], self._palette, id="head")
            yield Input(self._first, placeholder=self._placeholder)
            yield ChoiceList(self._palette)
            yield Lines(lambda width: [self._last(width)], self._palette, id="foot")

    def _head(self) -> Line:
        found = self._found
        right = f"{len(found.choices)}   {found.source} " if found is not None and found.choices else ""
        return Line([(self._heading, "heading/surface+b")], "body/surface", right=[(right, "muted/surface")])

    def _last(self, width: int) -> Line:
        found = self._found
        note = found.note if found is not None and found.choices else ""
        right = shortened(note, max(0, width - len(self._foot) - 3))
        key = "warn/surface" if found is not None and not found.complete else "muted/surface"
        return Line([(self._foot, "faint/surface")], "body/surface", right=[(f"{right} ", key)])

    def on_mount(self) -> None:
        self.rows = self.query_one(ChoiceList)
        self.rows.empty = "asking …"
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._question()

    def repaint(self, palette: Palette) -> None:
        """Other colours, while it is open."""
        for part in (*self.query(Lines), *self.query(ChoiceList)):
            part.palette = palette
            part.refresh()

    def servers_changed(self) -> None:
        """A server may know more than what is shown."""
        if self._found is not None and not self._found.complete:
            self._question()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(REST, self._question)

    def _question(self) -> None:
        self._number += 1
        text = self.query_one(Input).value.strip()
        self.run_worker(self._answer(self._number, text), group="ask", exclusive=True)

    async def _answer(self, number: int, text: str) -> None:
        found = await self._ask(text)
        if number != self._number or not self.is_mounted:
            return
        kept = self.rows.choices[self.rows.at].value if self.rows.choices else ""
        again = self._found is not None and not self._found.complete
        self._found = found
        at = next((n for n, one in enumerate(found.choices) if again and one.value == kept), 0)
        self.rows.empty = found.note or "nothing fits"
        self.rows.show(found.choices, at)
        for part in self.query(Lines):
            part.anew()

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
            self.dismiss(Chosen(self.rows.choices[self.rows.at].value, look))
