"""Completion of the draft: commands at its start, files and symbols after `@`, plugins' references after `#`.

`Completer` queries the completions at the cursor, the popup lists them, the chosen one is inserted.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple, Protocol

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cockpit.protocol.queries import Complete, Completion, Completions, Query, Reply
from cockpit.protocol.safe_text import single_line
from cockpit.tui.composer.editor import PopupKey, PromptEditor
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.widgets import to_strip

MAX_ROWS = 8
_MENTION = re.compile(r"(?<![A-Za-z0-9._%+-])@([^\s@]*)$")
# Only with a letter behind it: a `#` alone begins a heading.
_NUMBER = re.compile(r"(?<![\w.%+#-])#([^\s#]+)$")


class CompletionToken(NamedTuple):
    """The text being completed: the sign that opened it, and the characters it spans."""

    trigger: Literal["/", "@", "#"]
    start: int
    end: int


def token_at(text: str, cursor: int) -> CompletionToken | None:
    """Find what is completed when the cursor is at character `cursor` of `text`."""
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


class CompletionPopup(Widget):
    """A list over the Trace that shows at most eight rows at once, the chosen row among them."""

    DEFAULT_CSS = """
    CompletionPopup {
        layer: above; dock: bottom; height: auto; width: 1fr; max-width: 90; display: none;
        background: $panel; margin: 0 0 2 0;
        &.-open { display: block; }
    }
    """

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, completion: Completion) -> None:
            super().__init__()
            self.completion = completion

    def __init__(self) -> None:
        super().__init__(id="popup")
        self.rows: tuple[Completion, ...] = ()
        self._chosen = 0

    @property
    def chosen(self) -> Completion | None:
        return self.rows[self._chosen] if self.rows else None

    def show(self, rows: tuple[Completion, ...], above: int) -> None:
        """Offer `rows`, `above` lines over the bottom of the screen; no rows close the list."""
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
            return to_strip(StyledLine([], "body/panel"), self.size.width, self)
        chosen = index == self._chosen
        line = _popup_line(self.rows[index], chosen, self.size.width)
        if y == MAX_ROWS - 1 and index < len(self.rows) - 1:
            line.right = [
                (f"{len(self.rows) - index - 1} more ", f"faint/{'selection' if chosen else 'panel'}")
            ]
        return to_strip(line, self.size.width, self)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if index < len(self.rows):
            self.post_message(self.Picked(self.rows[index]))


def _popup_line(row: Completion, chosen: bool, width: int) -> StyledLine:
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
    """What answers queries: the session link."""

    def ask(self, query: Query) -> Awaitable[Reply]: ...


class Completer:
    """Offers completions for the draft; a newer draft abandons the query of an older one. `is_complete` says
    whether a text is a command that needs no more words."""

    def __init__(
        self, editor: PromptEditor, popup: CompletionPopup, is_complete: Callable[[str], bool]
    ) -> None:
        self._editor = editor
        self._popup = popup
        self._is_complete = is_complete
        self._query: asyncio.Task[None] | None = None
        self._offered_for = ""  # the draft that the list belongs to

    def draft_changed(self, answerer: QueryAnswerer | None) -> None:
        """Ask for the completions of the draft; without an `answerer` there are none."""
        if self._query is not None:
            self._query.cancel()
            self._query = None
        editor = self._editor
        token = token_at(editor.text, self._cursor()) if editor.purpose == "prompt" else None
        if token is None or answerer is None:
            self._offer(())
            return
        query = Complete(token.trigger, editor.text, self._cursor())
        self._query = asyncio.create_task(self._complete(query, answerer))

    def take_key(self, key: PopupKey) -> None:
        """Take a key that was pressed while the list was open."""
        text = self._editor.text
        if key in ("up", "down"):
            self._popup.move(-1 if key == "up" else 1)
        elif text != self._offered_for:
            # The list belongs to an older draft: a command is sent as typed, a name waits for its list.
            if key == "dismiss" or text.startswith("/"):
                self._offer(())
            if key == "run" and text.startswith("/"):
                self._editor.send()
        elif key in ("accept", "run") and self._popup.chosen is not None:
            self.insert(self._popup.chosen)
            if key == "run" and self._is_complete(self._editor.text.strip()):
                self._editor.send()
        elif key == "run":
            self._editor.send()  # the list closed while the key was on its way
        else:
            self._offer(())

    def insert(self, completion: Completion) -> None:
        """Put `completion` into the draft, with the cursor behind it."""
        editor, text = self._editor, self._editor.text
        before = text[: completion.start] + completion.insert
        editor.load_text(before + text[completion.end :])
        editor.move_cursor((before.count("\n"), len(before.rpartition("\n")[2])))
        self._offer(())
        editor.focus()

    def _cursor(self) -> int:
        row, column = self._editor.cursor_location
        return sum(len(line) + 1 for line in self._editor.document.lines[:row]) + column

    async def _complete(self, query: Complete, answerer: QueryAnswerer) -> None:
        reply = await answerer.ask(query)
        rows = reply.rows if isinstance(reply, Completions) else ()
        new = (row for row in rows if query.text[row.start : row.end].rstrip() != row.insert.rstrip())
        self._offer(tuple(new))
        self._offered_for = query.text

    def _offer(self, rows: tuple[Completion, ...]) -> None:
        if rows or self._popup.rows:
            self._popup.show(rows, self._editor.outer_size.height + 1)
        self._editor.popup_open = bool(rows)
