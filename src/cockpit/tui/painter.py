"""One frame: from the state to the widgets. Called by `Desk`, at most thirty times a second."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cockpit.tui.actions import approvals, prompts, view
from cockpit.tui.actions.table import hint_keys
from cockpit.tui.clean import single_line
from cockpit.tui.render.bars import TopBarStatus, hint_line, top_line
from cockpit.tui.render.layout import Moment, Piece, StyledLine, layout_paragraph
from cockpit.tui.render.widgets import paint_now
from cockpit.tui.state.screen_state import PendingPrompt, ScreenState
from cockpit.tui.work import approval_draft
from cockpit.tui.work.approval_card import ApprovalChoice
from cockpit.tui.work.now_tab import work_rows
from cockpit.tui.work.tabs import tab_strip

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


@runtime_checkable
class AnimatedScreen(Protocol):
    """A screen that draws what grows while it is open."""

    def frame(self, moment: Moment) -> None: ...


_TYPING_GUARD_SECONDS = 0.6
_IDLE_SECONDS = 1.0


def paint_frame(desk: "SessionController", moment: Moment) -> None:
    """Draw what changed since the frame before."""
    assert desk.link is not None
    app, state = desk.app, desk.link.state
    touched = sorted(state.touched)
    state.touched.clear()
    aspects, state.aspects = state.aspects, set()
    if touched:
        app.trace.frame(state.entries, touched, moment)
    if state.waiting or app.trace._tail:
        app.trace.tail(_waiting_lines(state.waiting, app.trace.size.width))
    if "work" in aspects or "bar" in aspects:
        _arm_answer_keys(desk, state)
        _paint_work(desk, state, moment)
    if "bar" in aspects:
        _paint_bars(desk, state)
    paint_now(app.trace, app.work, app.top, app.hints)
    for screen in app.screen_stack[1:]:
        if isinstance(screen, AnimatedScreen):
            screen.frame(moment)
    if state.code.stale:
        desk.asking.refresh()
    if state.requests:
        prompts.handle_requests(desk)
    if state.plan.request and state.plan.request in state.approvals:
        _open_when_idle(desk, state.plan.request, view.open_plan_review)
    elif form := next((one.id for one in state.questions.values() if one.fields or one.url), ""):
        _open_when_idle(desk, form, view.open_form)
    if desk.learned and state.started and not state.trusted and not desk.trust_asked:
        desk.trust_asked = True
        app.run_worker(view.open_trust_dialog(desk))


def _open_when_idle(desk: "SessionController", request: str, screen: view.ViewAction) -> None:
    """Open the screen of a new plan or form once, unless a hand is on the keys or something else is open."""
    app = desk.app
    if desk.offered == request or len(app.screen_stack) > 1:
        return
    if not app.editor.text and time.monotonic() - app.typed_at > _IDLE_SECONDS:
        desk.offered = request
        app.run_worker(screen(desk))


def _waiting_lines(waiting: list[PendingPrompt], width: int) -> list[StyledLine]:
    """What was said and is not taken up yet."""
    words = {"prompt": "waits", "steer": "steers at the next step", "follow-up": "queued"}
    lines: list[StyledLine] = []
    for one in waiting:
        bar: list[Piece] = [(" ", "body"), ("▌ ", "faint")]
        text = layout_paragraph(one.text.expandtabs(4), width - 2, key="muted", first=bar, rest=bar)
        text[0].right = [(f"{words[one.kind]} ", "faint+i")]
        lines += [StyledLine([]), *text]
    return lines


def _arm_answer_keys(desk: "SessionController", state: ScreenState) -> None:
    """Which keys answer what waits, and a guard against a key that was meant for a draft."""
    editor = desk.app.editor
    answers: dict[str, str] = {}
    if state.approvals:
        request = next(iter(state.approvals.values()))
        keys = {"y": "allow_once", "a": "allow_session", "p": "allow_always", "n": "reject"}
        for key, action in keys.items():
            option = "reject_once" if action == "reject" else action
            if option in request.options:
                answers[key] = action
        answers["v"] = "view_approval"
        if approval_draft.can_edit(request):
            answers["e"] = "edit_hunk"
        _guard_new_request(desk, request.id)
    elif state.questions:
        question = next(iter(state.questions.values()))
        if question.options:
            _guard_new_request(desk, question.id)
        answers = {str(n): f"option_{n - 1}" for n in range(1, min(9, len(question.options)) + 1)}
    if editor.purpose == "note":
        answers = {}
    editor.answers = answers
    editor.busy = state.busy
    _set_composer_purpose(desk, state)


def _guard_new_request(desk: "SessionController", request: str) -> None:
    """A question that was not there before is not answered by the key that was on its way."""
    if desk.chosen_for == request:
        return
    desk.choice, desk.chosen_for, desk.asked_at = ApprovalChoice(), request, time.time()
    typing = time.monotonic() - desk.app.typed_at < 1.0
    quiet = max(_TYPING_GUARD_SECONDS if typing else 0.0, desk.app.options.quiet)
    desk.quiet_until = time.monotonic() + quiet


def _set_composer_purpose(desk: "SessionController", state: ScreenState) -> None:
    """The Composer answers a question while one is open, and is a Composer again afterwards."""
    editor = desk.app.editor
    if editor.purpose == "note" and desk.noting_for not in state.approvals:
        approvals.return_to_prompt(desk)
    question = next(iter(state.questions.values()), None)
    takes_words = question is not None and question.takes_words
    if question is not None and takes_words and not state.approvals and editor.purpose == "prompt":
        approvals.use_composer_for(desk, "answer", f"answer: {single_line(question.question, 60)}")
    elif editor.purpose == "answer" and not takes_words:
        approvals.return_to_prompt(desk)
    if editor.purpose == "prompt":
        editor.ask("prompt", _placeholder(state, editor.answers, editor.tries))


def _placeholder(state: ScreenState, answers: Iterable[str], tries: tuple[str, ...]) -> str:
    if state.approvals:
        *keys, last = [key for key in answers if key in "yapn"] or ["y"]
        offered = f"{', '.join(keys)} or {last}" if keys else last
        return f"{offered} answers; anything else is a word to the model"
    if state.busy:
        return "Enter steers, Tab queues, Esc interrupts"
    if state.closed:
        return "this session is closed; /new starts another"
    if tries and len(state.entries) <= 2:
        return f"Ask anything, or Tab: {tries[0]}"
    return ""


def _paint_work(desk: "SessionController", state: ScreenState, moment: Moment) -> None:
    work, narrow = desk.app.work, desk.app.size.width < 100
    waits = bool(state.approvals or state.questions)
    if waits != work.has_class("-waits"):
        work.set_class(waits, "-waits")
        if narrow:
            work.set_class(waits, "-open")
        elif waits:
            work.remove_class("-shut")
            desk.app.trace.remove_class("-alone")
        if waits:
            work.scroll_to(y=0, animate=False, force=True)
    width = work.size.width or (desk.app.size.width if narrow else desk.app.size.width * 38 // 100)
    waited = moment.now - desk.asked_at if moment.now else 0.0
    made = work_rows(state, max(20, width), moment, desk.choice, waited, desk.laid)
    work.show(made, desk.app.palette, tab_strip(state))


def _paint_bars(desk: "SessionController", state: ScreenState) -> None:
    app = desk.app
    width = app.size.width
    standing = TopBarStatus(
        project=app.project,
        path=app.root,
        title=state.title,
        trusted=state.trusted,
        model=state.model,
        mode=state.mode,
        plan=" waits" if state.plan.state == "pending" and state.plan.request not in state.approvals else "",
        isolation=state.isolation,
        fullness=state.fullness,
        cost=state.usage.cost,
        spent=state.usage.requests > 0 or state.usage.cost is None,
        waits=len(state.approvals) + len(state.questions),
        branch=state.branch,
    )
    app.top.show(top_line(standing, width), app.palette)
    place = app.focused.id if app.focused is not None and app.focused.id else ""
    keys = hint_keys(
        desk.keymap,
        busy=state.busy,
        approval=list(app.editor.answers.values()) if state.approvals else (),
        question=app.editor.purpose == "answer",
        place=place,
        purpose=app.editor.purpose,
        draft=bool(app.editor.text),
    )
    app.hints.show(hint_line(keys, width, desk.hint), app.palette)
