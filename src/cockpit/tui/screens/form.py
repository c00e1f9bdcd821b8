"""A form that somebody asks a person to fill in (an MCP server, above all), or a page to open.

It gives an answer when a person presses a button. Left with Esc, the form of a tool call still waits in
Work; one that holds up a prompt is cancelled, and the prompt goes on.
"""

import time
import webbrowser
from asyncio import to_thread
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from cockpit.protocol.asking import FormField
from cockpit.protocol.events import QuestionAsked
from cockpit.protocol.forms import Unfit, value_of
from cockpit.protocol.messages import Json
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.palette import Palette
from cockpit.tui.screens.form_fields import Options, chosen, preset, words_of
from cockpit.tui.screens.sheet import SHEET_CSS, Lines, keys_that_fit, room_for_list
from cockpit.tui.trace.layout import Line, Piece, paragraph

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

Button = Literal["accept", "decline", "cancel"]
Filled = tuple[Button, dict[str, Json]]
_QUIET = 0.6
"""Seconds in which a form that opened by itself takes no key: it was meant for something else."""
_FIELDS = 30
"""Lines the fields may have before they scroll."""
_CHOSEN = frozenset({"yes_no", "choice", "choices"})


class Form(ModalScreen[Filled | None]):
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
            yield Lines(self._head, self._palette, id="head")
            with VerticalScroll(can_focus=False):
                for at, field in enumerate(self._asked.fields):
                    yield Lines(self._labels(at, field), self._palette, id=f"label-{at}")
                    yield self._widget(at, field)
            send = "open in the browser" if self._asked.url else "send"
            yield Options(self._palette, (send, "decline", "cancel"), {0}, False, id="buttons")
            yield Lines(self._foot, self._palette, id="foot")

    def _widget(self, at: int, field: FormField) -> Widget:
        if field.kind in _CHOSEN:
            several = field.kind == "choices"
            options = Options(self._palette, words_of(field), preset(field), several, id=f"field-{at}")
            options.add_class("options")
            return options
        default = "" if field.default is None else str(field.default)
        return Input(default, id=f"field-{at}", select_on_focus=False)

    def _head(self, width: int) -> list[Line]:
        source = one_line(self._asked.source or "the model", 60)
        lines = [Line([(f"{source} asks", "heading/surface+b")], "body/surface")]
        lines += paragraph(clean_output(self._asked.question), width, key="body/surface", fill="body/surface")
        if self._asked.url:
            host = one_line(urlsplit(self._asked.url).hostname or "an address without a host")
            lines += paragraph(one_line(self._asked.url), width, key="machine/surface", fill="body/surface")
            lines.append(Line([("host  ", "muted/surface"), (host, "person/surface+b")], "body/surface"))
        return [*lines, Line([], "body/surface")]

    def _labels(self, at: int, field: FormField) -> Callable[[int], list[Line]]:
        def lay(width: int) -> list[Line]:
            pieces: list[Piece] = [(one_line(field.label or field.name, 80), "body/surface+b")]
            if field.required:
                pieces.append((" needed", "faint/surface"))
            lines = [Line(pieces, "body/surface")]
            if field.note:
                note = clean_output(field.note)
                lines += paragraph(note, width, key="muted/surface", fill="body/surface")
            if fault := self._faults.get(at):
                lines.append(Line([("✗ ", "bad/surface"), (fault, "bad/surface")], "body/surface"))
            return lines

        return lay

    def _foot(self, width: int) -> list[Line]:
        keys = ("Enter next", "Esc later", "Left Right Space choose", "Tab any field")
        secret = "Give no password or key here: whoever asks reads what you send."
        return [
            *paragraph(secret, width, key="muted/surface", fill="body/surface"),
            Line([(keys_that_fit(keys, width), "faint/surface")], "body/surface"),
        ]

    def on_resize(self) -> None:
        """The fields scroll where the screen is low, so that the buttons stay in sight."""
        width = min(84, self.size.width * 94 // 100) - 5
        others = len(self._head(width)) + len(self._foot(width)) + 2
        self.query_one(VerticalScroll).styles.max_height = room_for_list(self.size.height, others, _FIELDS)

    def on_mount(self) -> None:
        for lines in self.query(Lines):
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

    def on_options_taken(self, event: Options.Taken) -> None:
        event.stop()
        if event.options.id != "buttons":
            self.focus_next()
            return
        buttons: tuple[Button, ...] = ("accept", "decline", "cancel")
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
            except Unfit as error:
                self._faults[at] = str(error)
                continue
            if value is not None:
                values[field.name] = value
        for at in range(len(self._asked.fields)):
            self.query_one(f"#label-{at}", Lines).anew()
        if self._faults:
            self.query_one(f"#field-{min(self._faults)}").focus()
            return None
        return values

    def _value(self, at: int, field: FormField) -> Json:
        widget = self.query_one(f"#field-{at}")
        if isinstance(widget, Options):
            return chosen(field, widget.marked)
        return value_of(field, widget.value) if isinstance(widget, Input) else None


async def offer(desk: "Desk") -> None:
    """The form, opened by itself."""
    await show(desk, _QUIET)


async def show(desk: "Desk", quiet: float = 0.0) -> None:
    """Fill in the form that waits."""
    link, app = desk.link, desk.app
    if link is None or any(isinstance(one, Form) for one in app.screen_stack):
        return
    asked = next((one for one in link.state.questions.values() if one.fields or one.url), None)
    if asked is None:
        app.notify("no form waits any more")
        return
    filled = await app.push_screen_wait(Form(app.palette, asked, quiet))
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
