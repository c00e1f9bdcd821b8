"""Completing the draft: asks what could stand at the cursor, offers it, puts in what is chosen."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from cockpit.protocol.queries import Complete, Completion, Completions, Query, Reply
from cockpit.tui.composer.completion import token_at
from cockpit.tui.composer.editor import Choosing, Editor
from cockpit.tui.composer.popup import Popup
from cockpit.tui.palette import Palette


class Asked(Protocol):
    """Whoever answers queries."""

    def ask(self, query: Query) -> Awaitable[Reply]: ...


class Completing:
    """At most one question is open: a newer draft abandons the older one."""

    def __init__(self, editor: Editor, popup: Popup, whole: Callable[[str], bool]) -> None:
        self._editor = editor
        self._whole = whole  # whether a draft is a command that needs no more words
        self._popup = popup
        self._asking: asyncio.Task[None] | None = None
        self._offered = ""  # the draft that the list is for

    def drafted(self, asked: Asked | None) -> None:
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

    def chose(self, what: Choosing) -> None:
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

    async def _complete(self, query: Complete, asked: Asked) -> None:
        reply = await asked.ask(query)
        rows = reply.rows if isinstance(reply, Completions) else ()
        fresh = (row for row in rows if query.text[row.start : row.end].rstrip() != row.insert.rstrip())
        self._offer(tuple(fresh))
        self._offered = query.text

    def _offer(self, rows: tuple[Completion, ...]) -> None:
        if rows or self._popup.rows:
            self._popup.show(rows, self._editor.outer_size.height + 1)
        self._editor.popup_open = bool(rows)
