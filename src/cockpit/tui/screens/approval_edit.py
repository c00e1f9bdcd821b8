"""A hunk of an approval as the person wants it: its new lines in a small editor."""

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from cockpit.protocol.events import ApprovalRequested
from cockpit.tui.clean import clean, one_line
from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line, Piece, shortened_path
from cockpit.tui.work import choosing
from cockpit.tui.work.choosing import Piece as Chosen

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_FOOT = "Esc done (nothing is written yet)   Ctrl+Z undo   Ctrl+R as it was sent"


class HunkEditor(ModalScreen[str]):
    """Gives the text as it was left."""

    CSS = (
        "HunkEditor {"
        + SHEET_CSS
        + """}
    HunkEditor > #sheet { width: 94%; max-width: 120; }
    HunkEditor TextArea { border: none; background: $panel; height: auto; max-height: 24; min-height: 3;
        padding: 0 1; margin: 1 0; }
    HunkEditor TextArea:focus { border: none; }
    """
    )

    def __init__(self, palette: Palette, one: Chosen, text: str, sent: str) -> None:
        super().__init__()
        self._palette, self._one, self._text, self._sent = palette, one, text, sent

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head(width)], self._palette)
            yield TextArea(self._text, show_line_numbers=False)
            yield Lines(lambda width: [Line([(_FOOT, "faint/surface")], "body/surface")], self._palette)

    def _head(self, width: int) -> Line:
        line = self._one.row.line if self._one.row is not None else 1
        right: list[Piece] = [(f"from line {line} ", "muted/surface")]
        name = shortened_path(one_line(self._one.part.title), max(8, width - 30))
        return Line([("Edit  ", "heading/surface+b"), (name, "body/surface+b")], "body/surface", right=right)

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(self.query_one(TextArea).text)
        elif event.key == "ctrl+r":
            event.stop()
            self.query_one(TextArea).load_text(self._sent)
        elif event.key == "tab":
            event.stop()
            event.prevent_default()
            area = self.query_one(TextArea)
            tabs = "\n\t" in f"\n{self._sent}"
            area.insert("\t" if tabs else " " * (4 - area.cursor_location[1] % 4))


def wanted(request: ApprovalRequested, does: str) -> Chosen | None:
    """The hunk under the cursor (what its row does), else the only one that can be edited."""
    found = [one for one in choosing.pieces(request) if one.row is not None and one.row.can_edit]
    under = [one for one in found if does == f"hunk:{one.name}"]
    chosen = under or (found if len(found) == 1 else [])
    return chosen[0] if chosen and not request.whole else None


async def show(desk: "Desk") -> None:
    link, app = desk.link, desk.app
    request = next(iter(link.state.approvals.values()), None) if link is not None else None
    if link is None or request is None or not choosing.can_edit(request):
        return
    one = wanted(request, app.work.chosen)
    if one is None or one.hunk is None:
        app.work.focus()
        app.notify("go to the hunk with Up and Down, then press e")
        return
    sent = choosing.text_of(one, {})
    if clean(sent) != sent:
        # Shown clean they would be lost from the file; shown as they are they would drive the terminal.
        app.notify("this hunk holds control characters; it can be taken or refused, not edited here")
        return
    text = choosing.text_of(one, desk.choice.edits)
    made = await app.push_screen_wait(HunkEditor(app.palette, one, text, sent))
    if desk.chosen_for != request.id:
        return
    edits = {name: old for name, old in desk.choice.edits.items() if name != one.name}
    if made != sent:
        edits[one.name] = made
    desk.choice = replace(desk.choice, edits=edits, out=desk.choice.out - {one.name})
    link.state.aspects.add("work")
    desk.changed()
