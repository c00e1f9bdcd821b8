"""A list that is queried again while the user types: symbols, references, problems.

A query waits for a pause in typing; only the answer to the newest query counts. While an answer is
incomplete, the query is repeated when a server or the index reports progress, and a few times without that:
one at a time, at most twice a second.
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
from cockpit.tui.screens.dialogs import (
    CLOSE_WITH_ESCAPE,
    INPUT_CSS,
    SHEET_CSS,
    LinesView,
    fit_keys,
    focus_input,
    title_line,
)
from cockpit.tui.screens.picker import LIST_STEPS, ChoiceList, PickerChoice

TYPING_REST_SECONDS = 0.06
"""Seconds without a key before a query is sent."""
RETRY_SECONDS = 0.5
"""Seconds between an incomplete answer and the next query."""
_MAX_RETRIES = 4  # without a report of progress
_OTHER_LINES = 5  # lines of the sheet that are neither the list nor the foot


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """`source` names who answered; `note` says why the answer may improve (then it is not `complete`), or
    why there is none."""

    choices: Sequence[PickerChoice]
    source: str = ""
    complete: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class PickedLocation:
    """`view`: in the viewer rather than in the editor."""

    value: str
    view: bool = False


LiveQuery = Callable[[str], Awaitable[LiveAnswer]]


class LivePicker(ModalScreen[PickedLocation | None]):
    """Returns what was picked, or None for Esc."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = f"""LivePicker {{ {SHEET_CSS} {INPUT_CSS}
        & > #sheet {{ width: 110; }}
        & #foot {{ margin-top: 1; }}
    }}"""

    def __init__(
        self,
        title: str,
        ask: LiveQuery,
        *,
        placeholder: str = "type to narrow",
        typed: str = "",
        foot: str = "Enter open   Tab preview   Esc close",
    ) -> None:
        super().__init__()
        self._heading, self._ask = title, ask
        self._placeholder, self._typed, self._foot = placeholder, typed, foot
        self._number = 0  # of the newest query
        self._answer: LiveAnswer | None = None
        self._answered_text = ""  # what was typed for `_answer`
        self._typing_timer: Timer | None = None
        self._retry_timer: Timer | None = None
        self._retries = 0
        self._is_asking = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head()], id="head")
            yield Input(self._typed, placeholder=self._placeholder)
            yield ChoiceList()
            yield LinesView(self._foot_lines, id="foot")

    def _head(self) -> StyledLine:
        answer = self._answer
        right = f"{len(answer.choices)}   {answer.source} " if answer is not None and answer.choices else ""
        return title_line(self._heading, right)

    def _foot_lines(self, width: int) -> list[StyledLine]:
        """The keys, and why the answer may improve: beside them, or above where that is too long."""
        answer = self._answer
        note = answer.note if answer is not None and answer.choices else ""
        key = "warn/surface" if answer is not None and not answer.complete else "muted/surface"
        keys: list[Piece] = [(fit_keys(self._foot.split("   "), width), "faint/surface")]
        if cell_width(note) <= width - cell_width(keys[0][0]) - 4:
            return [StyledLine(keys, "body/surface", right=[(f"{note} ", key)])]
        return [StyledLine([(shorten(note, width), key)], "body/surface"), StyledLine(keys, "body/surface")]

    def on_mount(self) -> None:
        self.rows = self.query_one(ChoiceList)
        self.rows.empty = "asking …"
        focus_input(self.query_one(Input))
        self._fit()
        self._send_query()

    def on_resize(self) -> None:
        if hasattr(self, "rows"):
            self._fit()

    def _fit(self) -> None:
        foot = self.query_one("#foot", LinesView)
        self.rows.fit(self.app.size.height, _OTHER_LINES + len(self._foot_lines(max(10, foot.size.width))))

    def servers_changed(self) -> None:
        """A server, or the index, may know more than what is shown."""
        self._retries = 0
        self._schedule_retry(0.0)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typing_timer is not None:
            self._typing_timer.stop()
        self._retries = 0
        self._typing_timer = self.set_timer(TYPING_REST_SECONDS, self._send_query)

    def _schedule_retry(self, seconds: float) -> None:
        """Query again where the answer on screen is incomplete and no other query is under way."""
        if self._answer is None or self._answer.complete or self._is_asking:
            return
        if self._retry_timer is None:
            self._retry_timer = self.set_timer(max(seconds, TYPING_REST_SECONDS), self._send_query)

    def _send_query(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.stop()
            self._retry_timer = None
        self._is_asking = True
        self._number += 1
        text = self.query_one(Input).value.strip()
        self.run_worker(self._show_answer(self._number, text), group="ask", exclusive=True)

    async def _show_answer(self, number: int, text: str) -> None:
        answer = await self._ask(text)
        if number != self._number or not self.is_mounted:
            return
        self._is_asking = False
        # The cursor keeps its choice, unless it is on the first, where it starts.
        selected = (
            self.rows.choices[self.rows.at].value if self.rows.at and text == self._answered_text else None
        )
        at = next((n for n, choice in enumerate(answer.choices) if choice.value == selected), 0)
        self._answer, self._answered_text = answer, text
        self.rows.empty = answer.note or "no match"
        self.rows.show(answer.choices, at)
        for part in self.query(LinesView):
            part.update()
        self._fit()
        self._retries += 1
        if self._retries <= _MAX_RETRIES:
            self._schedule_retry(RETRY_SECONDS)

    def on_key(self, event: events.Key) -> None:
        if event.key in LIST_STEPS:
            self.rows.move(LIST_STEPS[event.key])
        elif event.key == "tab":
            self._pick(view=True)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._pick(view=False)

    def on_choice_list_clicked(self) -> None:
        self._pick(view=False)

    def _pick(self, *, view: bool) -> None:
        if self.rows.choices:
            self.dismiss(PickedLocation(self.rows.choices[self.rows.at].value, view))
