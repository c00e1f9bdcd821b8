"""Forms that an MCP server or plugin asks the user to fill in, and pages it asks to open.

A button sends the answer. Left with Esc, the form of a tool call stays open in Work; a form that blocks a
prompt is cancelled, so that the prompt goes on.
"""

import time
import webbrowser
from asyncio import to_thread
from collections.abc import Callable, Collection, Sequence
from typing import Literal
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
from cockpit.protocol.safe_text import clean_output, single_line
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph
from cockpit.tui.render.widgets import ThemedApp, to_strip
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys, list_height, sheet_line, title_line
from cockpit.tui.session_link import SessionLink

FormButton = Literal["accept", "decline", "cancel"]
FormAnswer = tuple[FormButton, dict[str, Json]]
_MAX_FIELD_LINES = 30
"""Lines that the fields may have before they scroll."""
_OPTION_KINDS = frozenset({"yes_no", "choice", "choices"})


def chosen_value(field: FormField, marked: Collection[int]) -> Json:
    """The value of the options `marked` for `field`, None for no value. Raises `FormValueInvalid`."""
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
    """The options that are marked at first, by number."""
    if field.kind == "yes_no":
        return {0 if field.default else 1} if isinstance(field.default, bool) else set()
    defaults = field.default if isinstance(field.default, list) else [field.default]
    return {at for at, option in enumerate(field.options) if option in defaults}


def option_labels(field: FormField) -> tuple[str, ...]:
    """The options as they are shown."""
    if field.kind == "yes_no":
        return ("yes", "no")
    return field.labels if len(field.labels) == len(field.options) else field.options


class OptionRow(Widget, can_focus=True):
    """Options beside each other. Left and Right choose one; with `several`, Space marks and unmarks."""

    DEFAULT_CSS = "OptionRow { height: auto; background: $surface; }"

    class OptionAccepted(Message):
        """Enter or a click on an option."""

        def __init__(self, options: "OptionRow") -> None:
            super().__init__()
            self.options = options

    def __init__(self, words: Sequence[str], marked: set[int], several: bool, *, id: str) -> None:
        super().__init__(id=id)
        self.words, self.marked = [single_line(word, 60) for word in words], marked
        self._several = several
        self.at = min(marked, default=0)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._rows(max(10, width)))

    def _rows(self, width: int) -> list[list[int]]:
        rows: list[list[int]] = [[]]
        used = 0
        for at, word in enumerate(self.words):
            size = cell_width(word) + 4
            if rows[-1] and used + size > width:
                rows.append([])
                used = 0
            rows[-1].append(at)
            used += size
        return rows

    def render_line(self, y: int) -> Strip:
        rows = self._rows(max(10, self.size.width))
        pieces: list[Piece] = []
        for at in rows[y] if y < len(rows) else ():
            ground = "selection" if self.has_focus and at == self.at else "surface"
            sign = ("◼" if at in self.marked else "◻") if self._several else "●" if at in self.marked else "○"
            pieces += [(f" {sign} ", f"person/{ground}" if at in self.marked else f"faint/{ground}")]
            pieces += [(f"{self.words[at]} ", f"body/{ground}")]
        return to_strip(StyledLine(pieces, "body/surface"), self.size.width, self)

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
            self.post_message(self.OptionAccepted(self))
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
                self.post_message(self.OptionAccepted(self))
                return

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class FormDialog(ModalScreen[FormAnswer | None]):
    """Returns the button and the values, or None for Esc. For `quiet` seconds a form that opened by itself
    takes no key: it was meant for something else."""

    CSS = f"""FormDialog {{ {SHEET_CSS}
        & VerticalScroll {{ height: auto; background: $surface; scrollbar-size: 1 1; }}
        & Input {{ border: none; background: $panel; height: 1; padding: 0 1; margin: 0 0 1 0; }}
        & Input:focus {{ border: none; }}
        & .options {{ margin: 0 0 1 0; }}
        & #buttons {{ margin: 1 0 0 0; }}
    }}"""

    def __init__(self, question: QuestionAsked, quiet: float = 0.0) -> None:
        super().__init__()
        self._question = question
        self._problems: dict[int, str] = {}
        self._quiet_until = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._head, id="head")
            with VerticalScroll(can_focus=False):
                for at, field in enumerate(self._question.fields):
                    yield LinesView(self._labels(at, field), id=f"label-{at}")
                    yield self._widget(at, field)
            send = "open in the browser" if self._question.url else "send"
            yield OptionRow((send, "decline", "cancel"), {0}, False, id="buttons")
            yield LinesView(self._foot, id="foot")

    def _widget(self, at: int, field: FormField) -> Widget:
        if field.kind in _OPTION_KINDS:
            several = field.kind == "choices"
            options = OptionRow(option_labels(field), default_marks(field), several, id=f"field-{at}")
            options.add_class("options")
            return options
        default = "" if field.default is None else str(field.default)
        return Input(default, id=f"field-{at}", select_on_focus=False)

    def _head(self, width: int) -> list[StyledLine]:
        source = single_line(self._question.source or "the model", 60)
        text = clean_output(self._question.question)
        lines = [title_line(f"{source} asks")]
        lines += layout_paragraph(text, width, key="body/surface", fill="body/surface")
        if self._question.url:
            host = single_line(urlsplit(self._question.url).hostname or "an address without a host")
            url = single_line(self._question.url)
            lines += layout_paragraph(url, width, key="machine/surface", fill="body/surface")
            lines.append(StyledLine([("host  ", "muted"), (host, "person+b")]).on("surface"))
        return [*lines, sheet_line("")]

    def _labels(self, at: int, field: FormField) -> Callable[[int], list[StyledLine]]:
        def lay_out(width: int) -> list[StyledLine]:
            pieces: list[Piece] = [(single_line(field.label or field.name, 80), "body/surface+b")]
            if field.required:
                pieces.append((" required", "faint/surface"))
            lines = [StyledLine(pieces, "body/surface")]
            if field.note:
                note = clean_output(field.note)
                lines += layout_paragraph(note, width, key="muted/surface", fill="body/surface")
            if problem := self._problems.get(at):
                lines.append(StyledLine([("✗ ", "bad/surface"), (problem, "bad/surface")], "body/surface"))
            return lines

        return lay_out

    def _foot(self, width: int) -> list[StyledLine]:
        keys = ("Enter next", "Esc later", "Left Right Space choose", "Tab any field")
        warning = "Do not enter passwords or keys here: the sender of the form can read them."
        return [
            *layout_paragraph(warning, width, key="muted/surface", fill="body/surface"),
            sheet_line(fit_keys(keys, width), "faint"),
        ]

    def on_resize(self) -> None:
        """Let the fields scroll where the screen is low, so that the buttons stay visible."""
        width = min(84, self.size.width * 94 // 100) - 5
        others = len(self._head(width)) + len(self._foot(width)) + 2
        height = list_height(self.size.height, others, _MAX_FIELD_LINES)
        self.query_one(VerticalScroll).styles.max_height = height

    def on_mount(self) -> None:
        for lines in self.query(LinesView):
            lines.can_focus = False
        for field in self.query(Input):
            field.cursor_blink = False
        first = "#field-0" if self._question.fields else "#buttons"
        self.query_one(first).focus()

    def on_key(self, event: events.Key) -> None:
        if time.monotonic() < self._quiet_until:
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

    def on_option_row_option_accepted(self, event: OptionRow.OptionAccepted) -> None:
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
        """What was entered; None, with the problems shown, where a value is invalid."""
        values: dict[str, Json] = {}
        self._problems.clear()
        for at, field in enumerate(self._question.fields):
            try:
                value = self._value(at, field)
            except FormValueInvalid as error:
                self._problems[at] = str(error)
                continue
            if value is not None:
                values[field.name] = value
        for at in range(len(self._question.fields)):
            self.query_one(f"#label-{at}", LinesView).update()
        if self._problems:
            self.query_one(f"#field-{min(self._problems)}").focus()
            return None
        return values

    def _value(self, at: int, field: FormField) -> Json:
        widget = self.query_one(f"#field-{at}")
        if isinstance(widget, OptionRow):
            return chosen_value(field, widget.marked)
        return parse_value(field, widget.value) if isinstance(widget, Input) else None


async def fill_form(app: ThemedApp, link: SessionLink, quiet: float = 0.0) -> None:
    """Fill in the form that waits; for `quiet` seconds it takes no key."""
    if any(isinstance(screen, FormDialog) for screen in app.screen_stack):
        return
    question = link.state.first_form
    if question is None:
        app.notify("no form is waiting for you")
        return
    answer = await app.push_screen_wait(FormDialog(question, quiet))
    if question.id not in link.state.questions:
        return
    if answer is None:
        # A tool call goes on waiting for its form; a prompt does not.
        if not link.state.request_calls.get(question.id):
            await link.answer(question.id, "", "cancel")
        return
    button, values = answer
    if question.url and button == "accept":
        await to_thread(webbrowser.open, question.url)
    await link.answer(question.id, "", button, values)
