"""The options of a form's field: what is marked at first, what that means, and the row to choose from."""

from collections.abc import Collection, Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cockpit.protocol.asking import FormField
from cockpit.protocol.forms import Unfit
from cockpit.protocol.messages import Json
from cockpit.tui.clean import one_line
from cockpit.tui.palette import Palette
from cockpit.tui.trace.layout import Line, Piece, width_of
from cockpit.tui.trace.strips import to_strip

YES_NO = ("yes", "no")


def chosen(field: FormField, marked: Collection[int]) -> Json:
    """The value of the options `marked` for `field`, None for nothing. Raises `Unfit`."""
    if field.kind == "choices":
        if field.required and not marked:
            raise Unfit("choose at least one (Space)")
        return [option for at, option in enumerate(field.options) if at in marked]
    if not marked:
        if field.required:
            raise Unfit("choose one (Left, Right)")
        return None
    at = min(marked)
    return at == 0 if field.kind == "yes_no" else field.options[at]


def preset(field: FormField) -> set[int]:
    """The options that are marked at first."""
    if field.kind == "yes_no":
        return {0 if field.default else 1} if isinstance(field.default, bool) else set()
    wanted = field.default if isinstance(field.default, list) else [field.default]
    return {at for at, option in enumerate(field.options) if option in wanted}


def words_of(field: FormField) -> tuple[str, ...]:
    """The options as people read them."""
    if field.kind == "yes_no":
        return YES_NO
    return field.labels if len(field.labels) == len(field.options) else field.options


class Options(Widget, can_focus=True):
    """Words beside each other. Left and Right choose one; with `several`, Space marks and unmarks."""

    DEFAULT_CSS = "Options { height: auto; background: $surface; }"

    class Taken(Message):
        """Enter on an option, or a click."""

        def __init__(self, options: "Options") -> None:
            super().__init__()
            self.options = options

        @property
        def control(self) -> "Options":
            return self.options

    def __init__(
        self, palette: Palette, words: Sequence[str], marked: set[int], several: bool, *, id: str
    ) -> None:
        super().__init__(id=id)
        self.palette, self.words, self.marked = palette, [one_line(word, 60) for word in words], marked
        self._several = several
        self.at = min(marked, default=0)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._rows(max(10, width)))

    def _rows(self, width: int) -> list[list[int]]:
        """The options of each line."""
        rows: list[list[int]] = [[]]
        used = 0
        for at, word in enumerate(self.words):
            wide = width_of(word) + 4
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
        return to_strip(Line(pieces, "body/surface"), self.size.width, self.palette)

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
            x += width_of(self.words[at]) + 4
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
