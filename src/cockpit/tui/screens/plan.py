"""The review of a plan: read it, change its text, accept it, reject it with a word. It only sends an op."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Mode
from cockpit.tui import figures
from cockpit.tui.clean import clean_output
from cockpit.tui.palette import Palette
from cockpit.tui.screens.plan_edit import PlanEdit
from cockpit.tui.screens.plan_rows import plan_lines
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line, Piece, width_of

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_QUIET = 0.6
"""Seconds in which a screen that opened by itself takes no answer: the key was meant for a draft."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a person decided. `text` is empty where they changed nothing."""

    decision: Literal["approve", "reject"]
    text: str = ""
    note: str = ""
    mode: Mode | None = None


class PlanReview(ModalScreen[Reviewed | None]):
    """Gives the decision, or None when it was left: then the plan still waits."""

    CSS = (
        "PlanReview {"
        + SHEET_CSS
        + """}
    PlanReview > #sheet { width: 94%; max-width: 110; max-height: 92%; border-left: outer $accent; }
    PlanReview #text { margin: 1 0; }
    PlanReview Input {
        display: none; border: none; background: $panel; height: 1; padding: 0 1; margin: 0 0 1 0;
    }
    PlanReview Input:focus { border: none; }
    PlanReview.-why Input { display: block; }
    """
    )

    def __init__(self, palette: Palette, plan: PlanChanged, expires: float = 0.0, quiet: float = 0.0) -> None:
        super().__init__()
        self._palette, self._plan, self._expires = palette, plan, expires
        self._edited = ""
        self._from = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head()], self._palette, id="head")
            yield Lines(lambda width: plan_lines(self._plan, self._edited, width), self._palette, id="text")
            yield Input(placeholder="why not? Enter sends it (empty: no word), Esc goes back")
            yield Lines(self._foot, self._palette, id="foot")

    def _head(self) -> Line:
        pieces: list[Piece] = [
            (" PLAN ", "base/function+b"),
            ("  the model asks to carry this out", "muted/surface"),
        ]
        said = "edited by you" if self._edited else ""
        if self._expires:
            said = f"{said}   " if said else ""
            said += f"no answer within {figures.span(self._expires)} is a no"
        return Line(pieces, "body/surface", right=[(said, "person/surface")])

    def _foot(self, width: int) -> list[Line]:
        ground = "body/surface"
        if self.has_class("-why"):
            return [Line([("Enter rejects the plan   Esc back", "faint/surface")], ground)]
        back = self._plan.mode or "ask"
        keys = [("y", f"accept, mode {back}")]
        if back not in ("auto-edit", "full"):
            keys.append(("a", "accept, mode auto-edit"))
        keys += [("e", "edit"), *([("u", "undo my edit")] if self._edited else []), ("n", "reject")]
        rows: list[list[Piece]] = [[]]
        used = 0
        for key, label in keys:
            need = width_of(key) + width_of(label) + 6
            if used and used + need > width:
                rows.append([])
                used = 0
            rows[-1] += [(f" {key} ", "person/boost+b"), (f" {label}   ", ground)]
            used += need
        hint = "Accepting allows no command by itself: each is still judged. Esc: later (F9, /do)"
        lines = [Line(row, ground) for row in rows]
        return [
            *lines,
            Line([], ground),
            Line([(hint if width_of(hint) <= width else "Esc: later", "faint/surface")], ground),
        ]

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", Lines).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """As high as the text, but never so high that head and keys are pushed out."""
        others = 12 if self.has_class("-why") else 10
        self.query_one("#text", Lines).styles.max_height = max(3, self.app.size.height * 92 // 100 - others)

    def on_key(self, event: events.Key) -> None:
        if self.has_class("-why"):
            if event.key == "escape":
                event.stop()
                self._ask_why(False)
            return
        event.stop()
        if event.key in _STEPS:
            event.prevent_default()
            self.query_one("#text", Lines).scroll_relative(y=_STEPS[event.key], animate=False, force=True)
        elif event.key in ("escape", "q"):
            self.dismiss(None)
        elif time.monotonic() >= self._from:
            self._answer(event.character or "")

    def _answer(self, key: str) -> None:
        if key == "y":
            self.dismiss(Reviewed("approve", self._edited))
        elif key == "a" and (self._plan.mode or "ask") not in ("auto-edit", "full"):
            self.dismiss(Reviewed("approve", self._edited, mode="auto-edit"))
        elif key == "e":
            self.run_worker(self._edit())
        elif key == "u" and self._edited:
            self._use("")
        elif key == "n":
            self._ask_why(True)

    async def _edit(self) -> None:
        before = self._edited or clean_output(self._plan.text)
        text = await self.app.push_screen_wait(PlanEdit(self._palette, before))
        if text.strip() and text != clean_output(self._plan.text):
            self._use(text)

    def _use(self, text: str) -> None:
        self._edited = text
        for one in self.query(Lines):
            one.anew()

    def _ask_why(self, asking: bool) -> None:
        self.set_class(asking, "-why")
        self._fit()
        self.query_one("#foot", Lines).anew()
        field = self.query_one(Input)
        field.cursor_blink = False
        (field if asking else self.query_one("#text", Lines)).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(Reviewed("reject", note=event.value.strip()))


async def offer(desk: "Desk") -> None:
    """The review, opened by itself."""
    await show(desk, _QUIET)


async def show(desk: "Desk", quiet: float = 0.0) -> None:
    """Review the plan that waits."""
    link, app = desk.link, desk.app
    if link is None or any(isinstance(one, PlanReview) for one in app.screen_stack):
        return
    plan = link.state.plan
    if plan.state != "pending":
        app.notify("no plan waits; /plan begins plan mode, /plan show lists the plans")
        return
    waiting = link.state.approvals.get(plan.request)
    screen = PlanReview(app.palette, plan, waiting.expires if waiting is not None else 0.0, quiet)
    reviewed = await app.push_screen_wait(screen)
    if reviewed is None:
        return
    request = plan.request if plan.request in link.state.approvals else ""
    if link.state.plan.state == "pending":
        await link.decide_plan(reviewed.decision, request, reviewed.text, reviewed.note, reviewed.mode)
