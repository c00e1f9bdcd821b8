"""A plan as lines: what each step would do, how its command is judged, how to check and to go back. Pure.

The text of a plan under a person's hands. Esc is done; what they leave there is what counts.

The review of a plan: read it, change its text, accept it, reject it with a word. It only sends an op.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea

from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Mode
from cockpit.protocol.rows import PlanStep
from cockpit.tui.clean import clean_output, single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.blocks import draw_markdown
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph
from cockpit.tui.render.themes import Palette
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, shade_lines

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


VERDICT_WORDS = {"allow": ("runs unasked", "good"), "ask": ("asks you", "person"), "deny": ("refused", "bad")}
STEP_SIGNS = {"command": "$", "edit": "✎", "note": "·"}
_PLAN_MARGIN = 4


def plan_lines(plan: PlanChanged, edited: str, width: int) -> list[StyledLine]:
    """The plan as it was proposed, or as the person has `edited` it."""
    if edited or not plan.steps:
        return shade_lines(draw_markdown(clean_output(edited or plan.text), width, 0))
    lines = [StyledLine([(single_line(plan.title, 200), "heading+b")])]
    if summary := _summary(plan.text):
        lines += [StyledLine([]), *draw_markdown(clean_output(summary), width, 0)]
    lines.append(StyledLine([]))
    for number, step in enumerate(plan.steps, 1):
        lines += _step_lines(step, number, width)
    for heading, rows in (("Verify", plan.verification), ("Roll back", plan.rollback)):
        if rows:
            lines += [StyledLine([]), StyledLine([(heading, "heading+b")]), *_list_lines(rows, width)]
    return shade_lines(lines)


def _summary(text: str) -> str:
    """What stands between the title and the first heading below it."""
    _, _, rest = text.partition("\n")
    return rest.partition("\n## ")[0].strip()


def _step_lines(step: PlanStep, number: int, width: int) -> list[StyledLine]:
    named = single_line(step.command or step.path, 400)
    word, key = VERDICT_WORDS.get(step.level, ("", "muted"))
    if step.kind == "command" and not word and step.read_only:
        word = "said to read only"
    right: list[Piece] = [(f"{word} ", key)] if word else []
    head: list[Piece] = [(f"{number:>2} ", "faint"), (f"{STEP_SIGNS[step.kind]} ", "machine")]
    room = width - cell_width(word) - 2
    rest: list[Piece] = [(" " * 5, "body")]
    if not named:
        return layout_paragraph(single_line(step.purpose, 1000), width - 1, key="body", first=head, rest=rest)
    lines = layout_paragraph(named, room, key="body+b", first=head, rest=rest)
    lines[0].right = right
    lines += layout_paragraph(single_line(step.purpose, 1000), width - 1, key="muted", first=rest, rest=rest)
    if step.level == "deny" and step.reason:
        lines += layout_paragraph(single_line(step.reason, 400), width - 1, key="bad", first=rest, rest=rest)
    return lines


def _list_lines(rows: tuple[str, ...], width: int) -> list[StyledLine]:
    first: list[Piece] = [("   · ", "faint")]
    rest: list[Piece] = [(" " * 5, "body")]
    return [
        line
        for one in rows
        for line in layout_paragraph(single_line(one, 400), width - 1, key="body", first=first, rest=rest)
    ]


class PlanEditor(ModalScreen[str]):
    """Gives the text as it was left."""

    CSS = (
        "PlanEdit {"
        + SHEET_CSS
        + """}
    PlanEdit > #sheet { width: 94%; max-width: 110; max-height: 92%; border-left: outer $accent; }
    PlanEdit TextArea {
        height: 1fr; min-height: 6; border: none; padding: 0; margin: 1 0; background: $panel;
    }
    PlanEdit TextArea:focus { border: none; }
    PlanEdit > #sheet { height: 92%; }
    """
    )

    def __init__(self, palette: Palette, text: str) -> None:
        super().__init__()
        self._palette, self._text = palette, text

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head()], self._palette)
            area = TextArea(self._text, soft_wrap=True, show_line_numbers=False)
            area.cursor_blink = False
            yield area
            yield LinesView(lambda width: [self._foot()], self._palette)

    def _head(self) -> StyledLine:
        return StyledLine([("Edit the plan", "heading/surface+b")], "body/surface")

    def _foot(self) -> StyledLine:
        text = "Esc done (nothing is approved yet)   Ctrl+Z undo"
        return StyledLine([(text, "faint/surface")], "body/surface")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(self.query_one(TextArea).text)


_SCROLL_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_QUIET_SECONDS = 0.6
"""Seconds in which a screen that opened by itself takes no answer: the key was meant for a draft."""


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """What a person decided. `text` is empty where they changed nothing."""

    decision: Literal["approve", "reject"]
    text: str = ""
    note: str = ""
    mode: Mode | None = None


class PlanReview(ModalScreen[PlanDecision | None]):
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
            yield LinesView(lambda width: [self._head()], self._palette, id="head")
            yield LinesView(
                lambda width: plan_lines(self._plan, self._edited, width), self._palette, id="text"
            )
            yield Input(placeholder="why not? Enter sends it (empty: no word), Esc goes back")
            yield LinesView(self._foot, self._palette, id="foot")

    def _head(self) -> StyledLine:
        pieces: list[Piece] = [
            (" PLAN ", "base/function+b"),
            ("  the model asks to carry this out", "muted/surface"),
        ]
        said = "edited by you" if self._edited else ""
        if self._expires:
            said = f"{said}   " if said else ""
            said += f"no answer within {number_format.format_duration(self._expires)} is a no"
        return StyledLine(pieces, "body/surface", right=[(said, "person/surface")])

    def _foot(self, width: int) -> list[StyledLine]:
        ground = "body/surface"
        if self.has_class("-why"):
            return [StyledLine([("Enter rejects the plan   Esc back", "faint/surface")], ground)]
        back = self._plan.mode or "ask"
        keys = [("y", f"accept, mode {back}")]
        if back not in ("auto-edit", "full"):
            keys.append(("a", "accept, mode auto-edit"))
        keys += [("e", "edit"), *([("u", "undo my edit")] if self._edited else []), ("n", "reject")]
        rows: list[list[Piece]] = [[]]
        used = 0
        for key, label in keys:
            need = cell_width(key) + cell_width(label) + 6
            if used and used + need > width:
                rows.append([])
                used = 0
            rows[-1] += [(f" {key} ", "person/boost+b"), (f" {label}   ", ground)]
            used += need
        hint = "Accepting allows no command by itself: each is still judged. Esc: later (F9, /do)"
        lines = [StyledLine(row, ground) for row in rows]
        return [
            *lines,
            StyledLine([], ground),
            StyledLine([(hint if cell_width(hint) <= width else "Esc: later", "faint/surface")], ground),
        ]

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", LinesView).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """As high as the text, but never so high that head and keys are pushed out."""
        others = 12 if self.has_class("-why") else 10
        self.query_one("#text", LinesView).styles.max_height = max(
            3, self.app.size.height * 92 // 100 - others
        )

    def on_key(self, event: events.Key) -> None:
        if self.has_class("-why"):
            if event.key == "escape":
                event.stop()
                self._ask_why(False)
            return
        event.stop()
        if event.key in _SCROLL_STEPS:
            event.prevent_default()
            self.query_one("#text", LinesView).scroll_relative(
                y=_SCROLL_STEPS[event.key], animate=False, force=True
            )
        elif event.key in ("escape", "q"):
            self.dismiss(None)
        elif time.monotonic() >= self._from:
            self._answer(event.character or "")

    def _answer(self, key: str) -> None:
        if key == "y":
            self.dismiss(PlanDecision("approve", self._edited))
        elif key == "a" and (self._plan.mode or "ask") not in ("auto-edit", "full"):
            self.dismiss(PlanDecision("approve", self._edited, mode="auto-edit"))
        elif key == "e":
            self.run_worker(self._edit())
        elif key == "u" and self._edited:
            self._use("")
        elif key == "n":
            self._ask_why(True)

    async def _edit(self) -> None:
        before = self._edited or clean_output(self._plan.text)
        text = await self.app.push_screen_wait(PlanEditor(self._palette, before))
        if text.strip() and text != clean_output(self._plan.text):
            self._use(text)

    def _use(self, text: str) -> None:
        self._edited = text
        for one in self.query(LinesView):
            one.anew()

    def _ask_why(self, asking: bool) -> None:
        self.set_class(asking, "-why")
        self._fit()
        self.query_one("#foot", LinesView).anew()
        field = self.query_one(Input)
        field.cursor_blink = False
        (field if asking else self.query_one("#text", LinesView)).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(PlanDecision("reject", note=event.value.strip()))


async def offer_plan(desk: "SessionController") -> None:
    """The review, opened by itself."""
    await review_plan(desk, _QUIET_SECONDS)


async def review_plan(desk: "SessionController", quiet: float = 0.0) -> None:
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
