"""Something long to read: a diff, the help, a tool's whole output."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from cockpit.protocol import queries
from cockpit.protocol.content import Diff
from cockpit.tui import figures
from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines, keys_that_fit, shaded
from cockpit.tui.state.safe import safe_diff
from cockpit.tui.trace import diffs
from cockpit.tui.trace.layout import Line, width_of

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}


class Reader(ModalScreen[str]):
    """Lines and a way through them; gives the key it was left with, of those in `keys`."""

    CSS = (
        "Reader {"
        + SHEET_CSS
        + """}
    Reader > #sheet { width: 94%; max-width: 140; height: auto; max-height: 92%; }
    Reader #text { margin: 1 0; }
    """
    )

    def __init__(
        self,
        palette: Palette,
        title: str,
        lay: Callable[[int], Sequence[Line]],
        *,
        right: str = "",
        keys: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._palette = palette
        self._heading = title
        self._lay = lay
        self._right = right
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head()], self._palette)
            yield Lines(self._lay, self._palette, id="text")
            yield Lines(lambda width: [self._foot(width)], self._palette)

    def _head(self) -> Line:
        return Line(
            [(self._heading, "heading/surface+b")], "body/surface", right=[(self._right, "muted/surface")]
        )

    def _foot(self, width: int) -> Line:
        own = [f"{key} {label}" for key, label in self._keys]
        text = "   ".join((*own, "Up, Down, PgUp, PgDn move", "Esc leave"))
        if width_of(text) > width:
            text = keys_that_fit((*own, "Esc leave"), width)
        return Line([(text, "faint/surface")], "body/surface")

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", Lines).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """As high as the text, but never so high that head and foot are pushed out."""
        self.query_one("#text", Lines).styles.max_height = max(3, self.app.size.height * 92 // 100 - 6)

    def on_key(self, event: events.Key) -> None:
        text = self.query_one("#text", Lines)
        if event.key in ("escape", "q"):
            event.stop()
            self.dismiss("")
        elif event.character in [key for key, _ in self._keys]:
            event.stop()
            self.dismiss(event.character or "")
        elif event.key in _STEPS:
            event.stop()
            event.prevent_default()
            text.scroll_relative(y=_STEPS[event.key], animate=False, force=True)
        elif event.key in ("n", "N"):
            event.stop()
            self._to_file(text, 1 if event.key == "n" else -1)

    def _to_file(self, text: Lines, step: int) -> None:
        """The next head of a file: a line that carries counts at its right."""
        here = text.scroll_offset.y
        heads = [y for y, line in enumerate(text.lines) if line.right]
        ahead = [y for y in heads if (y > here if step > 0 else y < here)]
        if ahead:
            text.scroll_to(y=ahead[0] if step > 0 else ahead[-1], animate=False, force=True)


def diff_lines(found: Sequence[Diff]) -> Callable[[int], list[Line]]:
    """All files, one below the other."""

    def lay(width: int) -> list[Line]:
        lines: list[Line] = []
        for number, diff in enumerate(found):
            if number:
                lines.append(Line([], "body"))
            lines += [diffs.head(diff, width, 0), *diffs.body(diff, width, 0)]
        return shaded(lines)

    return lay


async def changes(desk: "Desk", path: str = "") -> None:
    """What the session changed, `path` first."""
    link, app = desk.link, desk.app
    if link is None:
        return
    reply = await link.ask(queries.Changes())
    rows = [safe_diff(row) for row in reply.rows] if isinstance(reply, queries.ChangeRows) else []
    if not rows:
        why = reply.reason if isinstance(reply, queries.Refused) else "this session has changed no file"
        app.notify(why)
        return
    rows.sort(key=lambda row: (row.path != path, row.path))
    added, removed = sum(row.added for row in rows), sum(row.removed for row in rows)
    right = f"{figures.count(len(rows), 'file')}   +{added} -{removed}"
    await app.push_screen_wait(Reader(app.palette, "Changed in this session", diff_lines(rows), right=right))
