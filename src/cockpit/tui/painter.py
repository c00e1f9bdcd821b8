"""Paints one frame from the state. It decides nothing; `reactions` has run before."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cockpit.tui.actions.table import Keymap, hint_keys
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.bars import Bar, TopBarStatus, hint_line, top_line
from cockpit.tui.render.layout import Moment, Piece, StyledLine, layout_paragraph
from cockpit.tui.render.widgets import ThemedApp, paint_now
from cockpit.tui.state import PendingPrompt, ScreenState
from cockpit.tui.trace.view import TraceView
from cockpit.tui.work.approval_card import DetailCache
from cockpit.tui.work.approval_draft import ApprovalDraft
from cockpit.tui.work.now_tab import work_rows
from cockpit.tui.work.tabs import tab_strip
from cockpit.tui.work.view import WorkView

_PENDING_LABELS = {"prompt": "waits", "steer": "steers at the next step", "follow-up": "queued"}


@runtime_checkable
class AnimatedScreen(Protocol):
    """A screen that shows what grows while it is open."""

    def paint(self, moment: Moment) -> None: ...


@dataclass(frozen=True, slots=True)
class Regions:
    """The widgets of the main screen, from top to bottom."""

    top: Bar
    trace: TraceView
    work: WorkView
    editor: PromptEditor
    hints: Bar


class Painter:
    """Paints what changed since the last frame."""

    def __init__(self, app: ThemedApp, regions: Regions, keymap: Keymap) -> None:
        self.hint = ""  # at the right end of the key hints
        self._app = app
        self._regions = regions
        self._keymap = keymap
        self._details = DetailCache()

    def paint(self, state: ScreenState, draft: ApprovalDraft, moment: Moment) -> None:
        """Paint the entries and regions that the state says were touched, and take note of that there."""
        regions = self._regions
        touched = sorted(state.touched)
        state.touched.clear()
        aspects, state.aspects = state.aspects, set()
        if touched:
            regions.trace.paint(state.entries, touched, moment)
        if state.pending or regions.trace.has_tail:
            regions.trace.set_tail(pending_lines(state.pending, regions.trace.size.width))
        if "work" in aspects or "bar" in aspects:
            self._paint_work(state, draft, moment)
        if "bar" in aspects:
            self._paint_bars(state)
        paint_now(regions.trace, regions.work, regions.top, regions.hints)
        for screen in self._app.screen_stack[1:]:
            if isinstance(screen, AnimatedScreen):
                screen.paint(moment)

    def _paint_work(self, state: ScreenState, draft: ApprovalDraft, moment: Moment) -> None:
        work, total = self._regions.work, self._app.size.width
        width = work.size.width or (total if self._app.is_narrow else total * 38 // 100)
        waited = moment.now - draft.shown_at if moment.now else 0.0
        rows = work_rows(state, max(20, width), moment, draft.choice, waited, self._details)
        work.show(rows, tab_strip(state))

    def _paint_bars(self, state: ScreenState) -> None:
        app, editor = self._app, self._regions.editor
        plan_waits = state.plan.state == "pending" and state.plan.request not in state.approvals
        status = TopBarStatus(
            project=app.project,
            path=app.root,
            title=state.title,
            trusted=state.trusted,
            model=state.model,
            mode=state.mode,
            plan=" waits" if plan_waits else "",
            isolation=state.isolation,
            fullness=state.fullness,
            cost=state.usage.cost,
            spent=state.usage.requests > 0 or state.usage.cost is None,
            waits=len(state.approvals) + len(state.questions),
            branch=state.branch,
        )
        self._regions.top.show(top_line(status, app.size.width))
        keys = hint_keys(
            self._keymap,
            busy=state.busy,
            approval=list(editor.answers.values()) if state.approvals else (),
            question=editor.purpose == "answer",
            region=app.focused.id or "" if app.focused is not None else "",
            purpose=editor.purpose,
            has_draft=bool(editor.text),
        )
        self._regions.hints.show(hint_line(keys, app.size.width, self.hint))


def pending_lines(pending: list[PendingPrompt], width: int) -> list[StyledLine]:
    """What the user sent and the session has not taken up yet."""
    bar: list[Piece] = [(" ", "body"), ("▌ ", "faint")]
    lines: list[StyledLine] = []
    for prompt in pending:
        text = prompt.text.expandtabs(4)
        paragraph = layout_paragraph(text, width - 2, key="muted", first=bar, rest=bar)
        paragraph[0].right = [(f"{_PENDING_LABELS[prompt.kind]} ", "faint+i")]
        lines += [StyledLine([]), *paragraph]
    return lines
