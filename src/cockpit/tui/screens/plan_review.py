"""The review of a plan: read it, edit its text, accept it, reject it with a note.

It shows the plan step by step, with the verdicts on its commands, how to verify and how to roll back.
"""

import time
from dataclasses import dataclass
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Mode
from cockpit.protocol.rows import PlanStep
from cockpit.protocol.safe_text import clean_output, single_line
from cockpit.tui.render.blocks import draw_markdown
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph
from cockpit.tui.render.number_format import format_duration
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, TextEditDialog, focus_input, sheet_line
from cockpit.tui.session_link import SessionLink

VERDICT_WORDS = {
    "allow": ("runs without asking", "good"),
    "ask": ("asks you", "person"),
    "deny": ("refused", "bad"),
}
STEP_SIGNS = {"command": "$", "edit": "✎", "note": "·"}
_SCROLL_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
_HANGING: list[Piece] = [(" " * 5, "body")]


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """What the user decided. `text` is empty where they did not edit the plan."""

    decision: Literal["approve", "reject"]
    text: str = ""
    note: str = ""
    mode: Mode | None = None


async def review_plan(app: ThemedApp, link: SessionLink, quiet: float = 0.0) -> None:
    """Review the pending plan; for `quiet` seconds the screen takes no answer."""
    if any(isinstance(screen, PlanReview) for screen in app.screen_stack):
        return
    plan = link.state.plan
    if plan.state != "pending":
        app.notify("no plan is waiting for review; /plan starts plan mode, /plan show lists the plans")
        return
    approval = link.state.approvals.get(plan.request)
    screen = PlanReview(plan, approval.expires if approval is not None else 0.0, quiet)
    decision = await app.push_screen_wait(screen)
    if decision is not None and link.state.plan.state == "pending":
        request = plan.request if plan.request in link.state.approvals else ""
        await link.decide_plan(decision.decision, request, decision.text, decision.note, decision.mode)


class PlanReview(ModalScreen[PlanDecision | None]):
    """Returns the decision, or None when the plan is left pending. For `quiet` seconds a screen that
    opened by itself takes no answer: the key was meant for a draft."""

    CSS = f"""PlanReview {{ {SHEET_CSS}
        & > #sheet {{ width: 94%; max-width: 110; max-height: 92%; border-left: outer $accent; }}
        & #text {{ margin: 1 0; }}
        & Input {{
            display: none; border: none; background: $panel; height: 1; padding: 0 1; margin: 0 0 1 0;
        }}
        & Input:focus {{ border: none; }}
        &.-why Input {{ display: block; }}
    }}"""

    def __init__(self, plan: PlanChanged, expires: float = 0.0, quiet: float = 0.0) -> None:
        super().__init__()
        self._plan, self._expires = plan, expires
        self._edited = ""
        self._quiet_until = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(lambda width: [self._head()], id="head")
            yield LinesView(lambda width: plan_lines(self._plan, self._edited, width), id="text")
            yield Input(placeholder="why not? Enter sends it (empty: no note), Esc goes back")
            yield LinesView(self._foot, id="foot")

    def _head(self) -> StyledLine:
        pieces: list[Piece] = [
            (" PLAN ", "base/function+b"),
            ("  the model asks for your approval", "muted/surface"),
        ]
        facts = ["edited by you"] if self._edited else []
        if self._expires:
            facts.append(f"rejected without an answer within {format_duration(self._expires)}")
        return StyledLine(pieces, "body/surface", right=[("   ".join(facts), "person/surface")])

    def _foot(self, width: int) -> list[StyledLine]:
        if self.has_class("-why"):
            return [sheet_line("Enter rejects the plan   Esc back", "faint")]
        mode = self._plan.mode or "ask"
        keys = [("y", f"accept, mode {mode}")]
        if mode not in ("auto-edit", "full"):
            keys.append(("a", "accept, mode auto-edit"))
        keys += [("e", "edit"), *([("u", "undo my edit")] if self._edited else []), ("n", "reject")]
        rows: list[list[Piece]] = [[]]
        used = 0
        for key, label in keys:
            need = cell_width(key) + cell_width(label) + 6
            if used and used + need > width:
                rows.append([])
                used = 0
            rows[-1] += [(f" {key} ", "person/boost+b"), (f" {label}   ", "body/surface")]
            used += need
        hint = "Accepting allows no command: each is still checked. Esc: later (F9, /do)"
        lines = [StyledLine(row, "body/surface") for row in rows]
        return [
            *lines,
            sheet_line(""),
            sheet_line(hint if cell_width(hint) <= width else "Esc: later", "faint"),
        ]

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#text", LinesView).focus()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Make the plan as high as its text, but never so high that heading and keys are pushed out."""
        others = 12 if self.has_class("-why") else 10
        height = max(3, self.app.size.height * 92 // 100 - others)
        self.query_one("#text", LinesView).styles.max_height = height

    def on_key(self, event: events.Key) -> None:
        if self.has_class("-why"):
            if event.key == "escape":
                event.stop()
                self._ask_why(False)
            return
        event.stop()
        if event.key in _SCROLL_STEPS:
            event.prevent_default()
            text = self.query_one("#text", LinesView)
            text.scroll_relative(y=_SCROLL_STEPS[event.key], animate=False, force=True)
        elif event.key in ("escape", "q"):
            self.dismiss(None)
        elif time.monotonic() >= self._quiet_until:
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
        text = self._edited or clean_output(self._plan.text)
        foot = "Esc done (nothing is approved yet)   Ctrl+Z undo"
        text = await self.app.push_screen_wait(TextEditDialog("Edit the plan", text, foot))
        if text.strip() and text != clean_output(self._plan.text):
            self._use(text)

    def _use(self, text: str) -> None:
        self._edited = text
        for view in self.query(LinesView):
            view.update()

    def _ask_why(self, asking: bool) -> None:
        self.set_class(asking, "-why")
        self._fit()
        self.query_one("#foot", LinesView).update()
        if asking:
            focus_input(self.query_one(Input))
        else:
            self.query_one("#text", LinesView).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(PlanDecision("reject", note=event.value.strip()))


def plan_lines(plan: PlanChanged, edited: str, width: int) -> list[StyledLine]:
    """The plan as it was proposed, or the text the user has `edited`."""
    if edited or not plan.steps:
        return [line.on("surface") for line in draw_markdown(clean_output(edited or plan.text), width, 0)]
    lines = [StyledLine([(single_line(plan.title, 200), "heading+b")])]
    # The text between the title and the next heading.
    summary = plan.text.partition("\n")[2].partition("\n## ")[0].strip()
    if summary:
        lines += [StyledLine([]), *draw_markdown(clean_output(summary), width, 0)]
    lines.append(StyledLine([]))
    for number, step in enumerate(plan.steps, 1):
        lines += _step_lines(step, number, width)
    for heading, rows in (("Verify", plan.verification), ("Roll back", plan.rollback)):
        if rows:
            lines += [StyledLine([]), StyledLine([(heading, "heading+b")])]
        for row in rows:
            first: list[Piece] = [("   · ", "faint")]
            lines += layout_paragraph(single_line(row, 400), width - 1, first=first, rest=_HANGING)
    return [line.on("surface") for line in lines]


def _step_lines(step: PlanStep, number: int, width: int) -> list[StyledLine]:
    target = single_line(step.command or step.path, 400)
    purpose = single_line(step.purpose, 1000)
    verdict, key = VERDICT_WORDS.get(step.level, ("", "muted"))
    if step.kind == "command" and not verdict and step.read_only:
        verdict = "claims to read only"
    head: list[Piece] = [(f"{number:>2} ", "faint"), (f"{STEP_SIGNS[step.kind]} ", "machine")]
    if not target:
        return layout_paragraph(purpose, width - 1, first=head, rest=_HANGING)
    lines = layout_paragraph(target, width - cell_width(verdict) - 2, key="body+b", first=head, rest=_HANGING)
    if verdict:
        lines[0].right = [(f"{verdict} ", key)]
    lines += layout_paragraph(purpose, width - 1, key="muted", first=_HANGING, rest=_HANGING)
    if step.level == "deny" and step.reason:
        reason = single_line(step.reason, 400)
        lines += layout_paragraph(reason, width - 1, key="bad", first=_HANGING, rest=_HANGING)
    return lines
