"""What of the draft is being completed: a command at its start, a file after `@`, what a plugin knows after
`#`. Pure.

The list of completions over the Trace: it draws rows and knows which is chosen.

Completing the draft: asks what could stand at the cursor, offers it, puts in what is chosen.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cockpit.protocol.queries import Complete, Completion, Completions, Query, Reply
from cockpit.tui.clean import single_line
from cockpit.tui.composer.editor import PopupKey, PromptEditor
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip

if TYPE_CHECKING:
    from cockpit.protocol.queries import Completion


_MENTION = re.compile(r"(?<![A-Za-z0-9._%+-])@([^\s@]*)$")
# With a letter behind it: a lone `#` begins a heading.
_NUMBER = re.compile(r"(?<![\w.%+#-])#([^\s#]+)$")


class CompletionToken(NamedTuple):
    """The sign that opened it, and the characters it spans."""

    trigger: Literal["/", "@", "#"]
    start: int
    end: int


def token_at(text: str, cursor: int) -> CompletionToken | None:
    """What is completed when the cursor stands at character `cursor` of `text`."""
    before = text[:cursor]
    if before.startswith("/") and not re.search(r"\s", before):
        return CompletionToken("/", 0, cursor)
    if match := _MENTION.search(before):
        return CompletionToken("@", match.start(1) - 1, cursor)
    if match := _NUMBER.search(before):
        return CompletionToken("#", match.start(1) - 1, cursor)
    if before.startswith("/") and "\n" not in before:
        return CompletionToken("/", 0, cursor)
    return None


MAX_ROWS = 8


class CompletionPopup(Widget):
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
        return min(MAX_ROWS, len(self.rows))

    @property
    def _first(self) -> int:
        return max(0, min(self._chosen - MAX_ROWS // 2, len(self.rows) - MAX_ROWS))

    def render_line(self, y: int) -> Strip:
        index = self._first + y
        if index >= len(self.rows):
            return to_strip(StyledLine([], "body/panel"), self.size.width, self.palette)
        chosen = index == self._chosen
        line = _popup_line(self.rows[index], chosen, self.size.width)
        if y == MAX_ROWS - 1 and index < len(self.rows) - 1:
            line.right = [
                (f"{len(self.rows) - index - 1} more ", f"faint/{'selection' if chosen else 'panel'}")
            ]
        return to_strip(line, self.size.width, self.palette)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if index < len(self.rows):
            self.post_message(self.Picked(self.rows[index]))


def _popup_line(row: "Completion", chosen: bool, width: int) -> StyledLine:
    ground = "selection" if chosen else "panel"
    label = shorten_path(single_line(row.label), max(12, width // 2))
    name = label + " " * max(1, min(26, width // 3) - cell_width(label))
    detail = shorten(single_line(row.detail), max(0, width - cell_width(name) - 4))
    pieces: list[Piece] = [
        (" ▸ " if chosen else "   ", f"person/{ground}"),
        (name, f"body/{ground}{'+b' if chosen else ''}"),
    ]
    pieces.append((detail, f"muted/{ground}"))
    return StyledLine(pieces, f"body/{ground}")


class QueryAnswerer(Protocol):
    """Whoever answers queries."""

    def ask(self, query: Query) -> Awaitable[Reply]: ...


class Completer:
    """At most one question is open: a newer draft abandons the older one."""

    def __init__(self, editor: PromptEditor, popup: CompletionPopup, whole: Callable[[str], bool]) -> None:
        self._editor = editor
        self._whole = whole  # whether a draft is a command that needs no more words
        self._popup = popup
        self._asking: asyncio.Task[None] | None = None
        self._offered = ""  # the draft that the list is for

    def drafted(self, asked: QueryAnswerer | None) -> None:
        """The draft changed."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        editor = self._editor
        token = token_at(editor.text, self._cursor()) if editor.purpose == "prompt" else None
        if token is None or asked is None:
            self._offer(())
            return
        query = Complete(token.trigger, editor.text, self._cursor())
        self._asking = asyncio.create_task(self._complete(query, asked))

    def chose(self, what: PopupKey) -> None:
        """A key for the list."""
        if what in ("up", "down"):
            self._popup.move(-1 if what == "up" else 1)
        elif self._editor.text != self._offered:
            # The list is of an older draft: a command is meant as it is typed, a name waits for its list.
            if what == "dismiss" or self._editor.text.startswith("/"):
                self._offer(())
            if what == "run" and self._editor.text.startswith("/"):
                self._editor.send()
        elif what in ("accept", "run") and self._popup.chosen is not None:
            self.put(self._popup.chosen)
            if what == "run" and self._whole(self._editor.text.strip()):
                self._editor.send()
        elif what == "run":
            self._editor.send()  # the list went while the key was under way: there was nothing to add
        else:
            self._offer(())

    def put(self, completion: Completion) -> None:
        """Put `completion` into the draft, the cursor behind it."""
        editor, text = self._editor, self._editor.text
        before = text[: completion.start] + completion.insert
        editor.load_text(before + text[completion.end :])
        editor.move_cursor((before.count("\n"), len(before.rpartition("\n")[2])))
        self._offer(())
        editor.focus()

    def repaint(self, palette: Palette) -> None:
        """Other colours."""
        self._popup.palette = palette
        self._popup.refresh()

    def _cursor(self) -> int:
        row, column = self._editor.cursor_location
        return sum(len(line) + 1 for line in self._editor.document.lines[:row]) + column

    async def _complete(self, query: Complete, asked: QueryAnswerer) -> None:
        reply = await asked.ask(query)
        rows = reply.rows if isinstance(reply, Completions) else ()
        fresh = (row for row in rows if query.text[row.start : row.end].rstrip() != row.insert.rstrip())
        self._offer(tuple(fresh))
        self._offered = query.text

    def _offer(self, rows: tuple[Completion, ...]) -> None:
        if rows or self._popup.rows:
            self._popup.show(rows, self._editor.outer_size.height + 1)
        self._editor.popup_open = bool(rows)
