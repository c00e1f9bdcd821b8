"""The options of a form's field: what is marked at first, what that means, and the row to choose from.

A form that somebody asks a person to fill in (an MCP server, above all), or a page to open.

It gives an answer when a person presses a button. Left with Esc, the form of a tool call still waits in
Work; one that holds up a prompt is cancelled, and the prompt goes on.
"""

import time
import webbrowser
from asyncio import to_thread
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from cockpit.protocol.events import FormField, QuestionAsked
from cockpit.protocol.forms import FormValueInvalid, parse_value
from cockpit.protocol.messages import Json
from cockpit.tui.clean import clean_output, single_line
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys, list_height

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


YES_NO = ("yes", "no")


def chosen_value(field: FormField, marked: Collection[int]) -> Json:
    """The value of the options `marked` for `field`, None for nothing. Raises `Unfit`."""
    if field.kind == "choices":
        if field.required and not marked:
            raise FormValueInvalid("choose at least one (Space)")
        return [option for at, option in enumerate(field.options) if at in marked]
    if not marked:
        if field.required:
            raise FormValueInvalid("choose one (Left, Right)")
        return None
    at = min(marked)
    return at == 0 if field.kind == "yes_no" else field.options[at]


def default_marks(field: FormField) -> set[int]:
    """The options that are marked at first."""
    if field.kind == "yes_no":
        return {0 if field.default else 1} if isinstance(field.default, bool) else set()
    wanted = field.default if isinstance(field.default, list) else [field.default]
    return {at for at, option in enumerate(field.options) if option in wanted}


def option_labels(field: FormField) -> tuple[str, ...]:
    """The options as people read them."""
    if field.kind == "yes_no":
        return YES_NO
    return field.labels if len(field.labels) == len(field.options) else field.options


class OptionRow(Widget, can_focus=True):
    """Words beside each other. Left and Right choose one; with `several`, Space marks and unmarks."""

    DEFAULT_CSS = "Options { height: auto; background: $surface; }"

    class Taken(Message):
        """Enter on an option, or a click."""

        def __init__(self, options: "OptionRow") -> None:
            super().__init__()
            self.options = options

        @property
        def control(self) -> "OptionRow":
            return self.options

    def __init__(
        self, palette: Palette, words: Sequence[str], marked: set[int], several: bool, *, id: str
    ) -> None:
        super().__init__(id=id)
        self.palette, self.words, self.marked = palette, [single_line(word, 60) for word in words], marked
        self._several = several
        self.at = min(marked, default=0)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._rows(max(10, width)))

    def _rows(self, width: int) -> list[list[int]]:
        """The options of each line."""
        rows: list[list[int]] = [[]]
        used = 0
        for at, word in enumerate(self.words):
            wide = cell_width(word) + 4
            if rows[-1] and used + wide > width:
                rows.append([])
                used = 0
            rows[-1].append(at)
            used += wide
        return rows

    def render_line(self, y: int) -> Strip:
        rows = self._rows(max(10, self.size.width))
        pieces: list[Piece] = []
        for at in rows[y] if y < len(rows) else ():
            ground = "selection" if self.has_focus and at == self.at else "surface"
            sign = ("◼" if at in self.marked else "◻") if self._several else "●" if at in self.marked else "○"
            pieces += [(f" {sign} ", f"person/{ground}" if at in self.marked else f"faint/{ground}")]
            pieces += [(f"{self.words[at]} ", f"body/{ground}")]
        return to_strip(StyledLine(pieces, "body/surface"), self.size.width, self.palette)

    def on_key(self, event: events.Key) -> None:
        step = {"left": -1, "right": 1}.get(event.key, 0)
        if step and self.words:
            self.at = (self.at + step) % len(self.words)
            if not self._several:
                self.marked = {self.at}
        elif event.key == "space" and self.words:
            self.marked = self.marked ^ {self.at} if self._several else {self.at}
        elif event.key == "enter":
            if self.words and not self._several:
                self.marked = {self.at}
            self.post_message(self.Taken(self))
        else:
            return
        event.stop()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        rows = self._rows(max(10, self.size.width))
        x = 0
        for at in rows[event.y] if event.y < len(rows) else ():
            x += cell_width(self.words[at]) + 4
            if event.x < x:
                self.at = at
                self.marked = self.marked ^ {at} if self._several else {at}
                self.refresh()
                self.post_message(self.Taken(self))
                return

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


FormButton = Literal["accept", "decline", "cancel"]
FormAnswer = tuple[FormButton, dict[str, Json]]
_QUIET_SECONDS = 0.6
"""Seconds in which a form that opened by itself takes no key: it was meant for something else."""
_MAX_FIELD_LINES = 30
"""Lines the fields may have before they scroll."""
_OPTION_KINDS = frozenset({"yes_no", "choice", "choices"})


class FormDialog(ModalScreen[FormAnswer | None]):
    """Gives the button and the values, or None when it was left."""

    CSS = (
        "Form {"
        + SHEET_CSS
        + """}
    Form VerticalScroll { height: auto; background: $surface; scrollbar-size: 1 1; }
    Form Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 0 0 1 0; }
    Form Input:focus { border: none; }
    Form .options { margin: 0 0 1 0; }
    Form #buttons { margin: 1 0 0 0; }
    """
    )

    def __init__(self, palette: Palette, asked: QuestionAsked, quiet: float = 0.0) -> None:
        super().__init__()
        self._palette, self._asked = palette, asked
        self._faults: dict[int, str] = {}
        self._from = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._head, self._palette, id="head")
            with VerticalScroll(can_focus=False):
                for at, field in enumerate(self._asked.fields):
                    yield LinesView(self._labels(at, field), self._palette, id=f"label-{at}")
                    yield self._widget(at, field)
            send = "open in the browser" if self._asked.url else "send"
            yield OptionRow(self._palette, (send, "decline", "cancel"), {0}, False, id="buttons")
            yield LinesView(self._foot, self._palette, id="foot")

    def _widget(self, at: int, field: FormField) -> Widget:
        if field.kind in _OPTION_KINDS:
            several = field.kind == "choices"
            options = OptionRow(
                self._palette, option_labels(field), default_marks(field), several, id=f"field-{at}"
            )
            options.add_class("options")
            return options
        default = "" if field.default is None else str(field.default)
        return Input(default, id=f"field-{at}", select_on_focus=False)

    def _head(self, width: int) -> list[StyledLine]:
        source = single_line(self._asked.source or "the model", 60)
        lines = [StyledLine([(f"{source} asks", "heading/surface+b")], "body/surface")]
        lines += layout_paragraph(
            clean_output(self._asked.question), width, key="body/surface", fill="body/surface"
        )
        if self._asked.url:
            host = single_line(urlsplit(self._asked.url).hostname or "an address without a host")
            lines += layout_paragraph(
                single_line(self._asked.url), width, key="machine/surface", fill="body/surface"
            )
            lines.append(
                StyledLine([("host  ", "muted/surface"), (host, "person/surface+b")], "body/surface")
            )
        return [*lines, StyledLine([], "body/surface")]

    def _labels(self, at: int, field: FormField) -> Callable[[int], list[StyledLine]]:
        def lay(width: int) -> list[StyledLine]:
            pieces: list[Piece] = [(single_line(field.label or field.name, 80), "body/surface+b")]
            if field.required:
                pieces.append((" needed", "faint/surface"))
            lines = [StyledLine(pieces, "body/surface")]
            if field.note:
                note = clean_output(field.note)
                lines += layout_paragraph(note, width, key="muted/surface", fill="body/surface")
            if fault := self._faults.get(at):
                lines.append(StyledLine([("✗ ", "bad/surface"), (fault, "bad/surface")], "body/surface"))
            return lines

        return lay

    def _foot(self, width: int) -> list[StyledLine]:
        keys = ("Enter next", "Esc later", "Left Right Space choose", "Tab any field")
        secret = "Give no password or key here: whoever asks reads what you send."
        return [
            *layout_paragraph(secret, width, key="muted/surface", fill="body/surface"),
            StyledLine([(fit_keys(keys, width), "faint/surface")], "body/surface"),
        ]

    def on_resize(self) -> None:
        """The fields scroll where the screen is low, so that the buttons stay in sight."""
        width = min(84, self.size.width * 94 // 100) - 5
        others = len(self._head(width)) + len(self._foot(width)) + 2
        self.query_one(VerticalScroll).styles.max_height = list_height(
            self.size.height, others, _MAX_FIELD_LINES
        )

    def on_mount(self) -> None:
        for lines in self.query(LinesView):
            lines.can_focus = False
        for field in self.query(Input):
            field.cursor_blink = False
        first = "#field-0" if self._asked.fields else "#buttons"
        self.query_one(first).focus()

    def on_key(self, event: events.Key) -> None:
        if time.monotonic() < self._from:
            event.stop()
            event.prevent_default()
        elif event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif event.key in ("up", "down"):
            event.stop()
            (self.focus_next if event.key == "down" else self.focus_previous)()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()

    def on_options_taken(self, event: OptionRow.Taken) -> None:
        event.stop()
        if event.options.id != "buttons":
            self.focus_next()
            return
        buttons: tuple[FormButton, ...] = ("accept", "decline", "cancel")
        button = buttons[event.options.at]
        if button != "accept":
            self.dismiss((button, {}))
        elif (values := self._values()) is not None:
            self.dismiss((button, values))

    def _values(self) -> dict[str, Json] | None:
        """What was entered, None (and the faults in sight) where something does not fit."""
        values: dict[str, Json] = {}
        self._faults.clear()
        for at, field in enumerate(self._asked.fields):
            try:
                value = self._value(at, field)
            except FormValueInvalid as error:
                self._faults[at] = str(error)
                continue
            if value is not None:
                values[field.name] = value
        for at in range(len(self._asked.fields)):
            self.query_one(f"#label-{at}", LinesView).anew()
        if self._faults:
            self.query_one(f"#field-{min(self._faults)}").focus()
            return None
        return values

    def _value(self, at: int, field: FormField) -> Json:
        widget = self.query_one(f"#field-{at}")
        if isinstance(widget, OptionRow):
            return chosen_value(field, widget.marked)
        return parse_value(field, widget.value) if isinstance(widget, Input) else None


async def offer_form(desk: "SessionController") -> None:
    """The form, opened by itself."""
    await fill_form(desk, _QUIET_SECONDS)


async def fill_form(desk: "SessionController", quiet: float = 0.0) -> None:
    """Fill in the form that waits."""
    link, app = desk.link, desk.app
    if link is None or any(isinstance(one, FormDialog) for one in app.screen_stack):
        return
    asked = next((one for one in link.state.questions.values() if one.fields or one.url), None)
    if asked is None:
        app.notify("no form waits any more")
        return
    filled = await app.push_screen_wait(FormDialog(app.palette, asked, quiet))
    if asked.id not in link.state.questions:
        return
    if filled is None:
        # A call goes on waiting for its form; what a prompt was held up for is for another time.
        if not link.state.asked_in.get(asked.id):
            await link.answer(asked.id, "", "cancel")
        return
    button, values = filled
    if asked.url and button == "accept":
        await to_thread(webbrowser.open, asked.url)
    await link.answer(asked.id, "", button, values)
