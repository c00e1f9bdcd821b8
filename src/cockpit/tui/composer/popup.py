"""The list of completions over the Trace: it draws rows and knows which is chosen."""

from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cockpit.tui.clean import one_line
from cockpit.tui.palette import Palette
from cockpit.tui.trace.layout import Line, Piece, shortened, shortened_path, width_of
from cockpit.tui.trace.strips import to_strip

if TYPE_CHECKING:
    from cockpit.protocol.queries import Completion

MOST = 8


class Popup(Widget):
    """At most eight rows at once; the chosen one is always among them."""

    DEFAULT_CSS = """
    Popup {
        layer: above; dock: bottom; height: auto; width: 1fr; max-width: 90; display: none;
        background: $panel; margin: 0 0 2 0;
        &.-open { display: block; }
    }
    """

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, completion: "Completion") -> None:
            super().__init__()
            self.completion = completion

    def __init__(self, palette: Palette) -> None:
        super().__init__(id="popup")
        self.palette = palette
        self.rows: tuple[Completion, ...] = ()
        self._chosen = 0

    @property
    def chosen(self) -> "Completion | None":
        return self.rows[self._chosen] if self.rows else None

    def show(self, rows: "tuple[Completion, ...]", above: int) -> None:
        """Offer `rows`, `above` lines over the bottom of the screen; none shuts the list."""
        self.rows, self._chosen = rows, 0
        self.set_class(bool(rows), "-open")
        self.styles.margin = (0, 0, above, 1)
        self.refresh(layout=True)

    def move(self, step: int) -> None:
        if self.rows:
            self._chosen = (self._chosen + step) % len(self.rows)
            self.refresh()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(MOST, len(self.rows))

    @property
    def _first(self) -> int:
        return max(0, min(self._chosen - MOST // 2, len(self.rows) - MOST))

    def render_line(self, y: int) -> Strip:
        index = self._first + y
        if index >= len(self.rows):
            return to_strip(Line([], "body/panel"), self.size.width, self.palette)
        chosen = index == self._chosen
        line = _row(self.rows[index], chosen, self.size.width)
        if y == MOST - 1 and index < len(self.rows) - 1:
            line.right = [
                (f"{len(self.rows) - index - 1} more ", f"faint/{'selection' if chosen else 'panel'}")
            ]
        return to_strip(line, self.size.width, self.palette)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if index < len(self.rows):
            self.post_message(self.Picked(self.rows[index]))


def _row(row: "Completion", chosen: bool, width: int) -> Line:
    ground = "selection" if chosen else "panel"
    label = shortened_path(one_line(row.label), max(12, width // 2))
    name = label + " " * max(1, min(26, width // 3) - width_of(label))
    detail = shortened(one_line(row.detail), max(0, width - width_of(name) - 4))
    pieces: list[Piece] = [
        (" ▸ " if chosen else "   ", f"person/{ground}"),
        (name, f"body/{ground}{'+b' if chosen else ''}"),
    ]
    pieces.append((detail, f"muted/{ground}"))
    return Line(pieces, f"body/{ground}")
