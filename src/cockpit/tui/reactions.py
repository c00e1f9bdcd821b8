"""Side effects of a new state: arms keys, opens Work, offers screens, queries stale facts about code.

`Reactions.react` runs once per frame, after the events of that frame were folded and before painting.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cockpit.protocol.code import ProblemRows, SymbolRows, Symbols
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import Refused
from cockpit.protocol.safe_text import single_line
from cockpit.tui.actions.code_navigation import query_problems
from cockpit.tui.actions.prompts import BoundActions
from cockpit.tui.actions.sessions import offer_local_models
from cockpit.tui.actions.table import BY_NAME, BY_SLASH
from cockpit.tui.actions.view import reveal_work
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.painter import Regions
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state import ScreenState
from cockpit.tui.state.screen_state import FrontendRequest
from cockpit.tui.work.approval_draft import ApprovalDraft, can_edit

QUERY_REST_SECONDS = 0.25
"""Seconds between two queries of a kind, so that a server that reports file by file causes no storm."""
_IDLE_SECONDS = 1.0
"""Seconds without a key after which a screen may open by itself."""
_APPROVAL_KEYS = (
    ("y", "allow_once", "allow_once"),
    ("a", "allow_session", "allow_session"),
    ("p", "allow_always", "allow_always"),
    ("n", "reject_once", "reject"),
)
"""Key, the option that must be offered, and the action of the table."""


@runtime_checkable
class ServerListener(Protocol):
    """A screen that asks again when a server's state changes."""

    def servers_changed(self) -> None: ...


@runtime_checkable
class AnswerListener(Protocol):
    """A screen that waits for the answer to an op."""

    def take_answer(self, request: FrontendRequest) -> None: ...


@dataclass(frozen=True, slots=True)
class OfferedScreens:
    """The screens that may open by themselves."""

    plan: Callable[[], Awaitable[None]]
    form: Callable[[], Awaitable[None]]
    trust: Callable[[], Awaitable[None]]


class Reactions:
    """Reacts to the state, remembering which screens were offered for the session."""

    def __init__(
        self,
        app: ThemedApp,
        regions: Regions,
        link: SessionLink,
        draft: ApprovalDraft,
        actions: BoundActions,
        screens: OfferedScreens,
    ) -> None:
        self.facts_loaded = False  # commands, themes and counts are known
        self.local_models_op = ""  # the op that looks for models on this machine
        self._app, self._regions, self._link, self._draft = app, regions, link, draft
        self._actions = actions
        self._screens = screens
        self._queries = CodeQueries(app, link)
        self._offered = ""  # the plan or form whose screen has opened by itself
        self._trust_asked = False

    def react(self, state: ScreenState) -> None:
        """Do what follows from `state`; called before it is painted."""
        if state.aspects & {"work", "bar"}:
            self._arm_keys(state)
            self._set_purpose(state)
            self._open_work(state)
        if state.code.stale:
            self._queries.refresh()
        requests, state.requests = state.requests, []
        for request in requests:
            self._handle_request(request)
        self._offer_screens(state)

    def _arm_keys(self, state: ScreenState) -> None:
        """Set the keys that answer the first request, and ignore keys meant for a draft."""
        editor = self._regions.editor
        is_typing = editor.idle_seconds < 1.0
        answers: dict[str, str] = {}
        if (request := state.first_approval) is not None:
            offered = ((key, name) for key, option, name in _APPROVAL_KEYS if option in request.options)
            answers.update(offered)
            answers["v"] = "view_approval"
            if can_edit(request):
                answers["e"] = "edit_hunk"
            self._draft.show(request.id, is_typing=is_typing)
        elif (question := state.first_question) is not None:
            answers = {str(n): f"option_{n - 1}" for n in range(1, min(9, len(question.options)) + 1)}
            if answers:
                self._draft.show(question.id, is_typing=is_typing)
        editor.answers = {} if editor.purpose == "note" else answers
        editor.busy = state.busy

    def _set_purpose(self, state: ScreenState) -> None:
        """Use the Composer for the answer to a question while one is open, and for prompts afterwards."""
        editor, question = self._regions.editor, state.first_question
        if editor.purpose == "note" and self._draft.note_for not in state.approvals:
            editor.return_to_prompt()
        takes_words = question is not None and question.takes_words
        if question is not None and takes_words and not state.approvals and editor.purpose == "prompt":
            editor.use_for("answer", f"answer: {single_line(question.question, 60)}")
        elif editor.purpose == "answer" and not takes_words:
            editor.return_to_prompt()
        if editor.purpose == "prompt":
            editor.set_placeholder(_prompt_placeholder(state, editor))

    def _open_work(self, state: ScreenState) -> None:
        """Open Work when a request arrives; on a narrow screen close it afterwards."""
        trace, work = self._regions.trace, self._regions.work
        waits = bool(state.approvals or state.questions)
        if waits == work.has_class("-waits"):
            return
        work.set_class(waits, "-waits")
        if self._app.is_narrow:
            work.set_class(waits, "-open")
        elif waits:
            reveal_work(trace, work)
        if waits:
            work.scroll_to(y=0, animate=False, force=True)

    def _handle_request(self, request: FrontendRequest) -> None:
        """Handle a request of the core: an action, or the answer to a screen's op."""
        editor = self._regions.editor
        if request.kind == "action" and self._link.is_live(request.time):
            self._app.run_worker(self._run_requested_action(request.values))
        elif request.kind == "rewound":
            if self._link.is_live(request.time) and not editor.text:
                editor.put(request.text)
        elif request.op == self.local_models_op:
            offer_local_models(self._link, request)
        else:
            for screen in reversed(self._app.screen_stack):
                if isinstance(screen, AnswerListener):
                    screen.take_answer(request)
                    return

    async def _run_requested_action(self, values: Mapping[str, Json]) -> None:
        """Run an action for a command, with its arguments, and send its prompt if it has one."""
        name = str(values.get("action", "")).replace("select_model", "model")
        action = BY_NAME.get(name) or BY_SLASH.get(name)
        table = values.get("arguments")
        arguments = table if isinstance(table, dict) else {}
        words = [str(arguments[key]) for key in ("text", "model", "preset") if arguments.get(key)]
        if action is None:
            self._link.say("warning", f"unknown action {name}", "a newer cockpit may have it")
        else:
            await self._actions.run(action.name, words[0].strip() if words else "")
        if prompt := arguments.get("prompt"):
            await self._link.prompt(str(prompt), queue=True)

    def _offer_screens(self, state: ScreenState) -> None:
        if state.plan.request and state.plan.request in state.approvals:
            self._offer(state.plan.request, self._screens.plan)
        elif form := state.first_form:
            self._offer(form.id, self._screens.form)
        if self.facts_loaded and state.started and not state.trusted and not self._trust_asked:
            self._trust_asked = True
            self._app.run_worker(self._screens.trust())

    def _offer(self, request: str, screen: Callable[[], Awaitable[None]]) -> None:
        """Open `screen`, unless it was offered before, the user is typing or another screen is open."""
        editor = self._regions.editor
        if request == self._offered or len(self._app.screen_stack) > 1:
            return
        if not editor.text and editor.idle_seconds > _IDLE_SECONDS:
            self._offered = request
            self._app.run_worker(screen())


def _prompt_placeholder(state: ScreenState, editor: PromptEditor) -> str:
    if state.approvals:
        *keys, last = [key for key in editor.answers if key in "yapn"] or ["y"]
        offered = f"{', '.join(keys)} or {last}" if keys else last
        return f"{offered} answers; any other text goes to the model"
    if state.busy:
        return "Enter steers, Tab queues, Esc interrupts"
    if state.closed:
        return "this session is closed; /new starts another"
    if editor.tries and len(state.entries) <= 2:
        return f"Ask anything, or Tab: {editor.tries[0]}"
    return ""


class CodeQueries:
    """Queries the outline and the problems when those on screen are stale; one query of a kind at a time."""

    def __init__(self, app: ThemedApp, link: SessionLink) -> None:
        self._app = app
        self._link = link
        self._open: set[str] = set()

    def refresh(self) -> None:
        """Query what is stale and visible."""
        code = self._link.state.code
        if "servers" in code.stale:
            code.stale.discard("servers")
            for screen in self._app.screen_stack:
                if isinstance(screen, ServerListener):
                    screen.servers_changed()
        if "problems" in code.stale and "problems" not in self._open:
            code.stale.discard("problems")
            self._open.add("problems")
            self._app.run_worker(self._ask_problems())
        if "outline" in code.stale and code.tab == "outline" and "outline" not in self._open:
            code.stale.discard("outline")
            if code.current_file:
                self._open.add("outline")
                self._app.run_worker(self._ask_outline(code.current_file))

    async def _ask_problems(self) -> None:
        state = self._link.state
        reply = await query_problems(self._link)
        if isinstance(reply, ProblemRows):
            state.code.problems = reply
            state.aspects.add("work")
        self._rest("problems")

    async def _ask_outline(self, path: str) -> None:
        state = self._link.state
        reply = await self._link.ask(Symbols("", path))
        if path == state.code.current_file:
            if isinstance(reply, SymbolRows):
                state.code.outline = reply
            elif isinstance(reply, Refused):
                state.code.outline = SymbolRows((), True, reply.reason)
            state.aspects.add("work")
        self._rest("outline")

    def _rest(self, kind: str) -> None:
        self._link.changed()

        def allow() -> None:
            self._open.discard(kind)
            if self._link.state.code.stale:
                self._link.changed()

        self._app.set_timer(QUERY_REST_SECONDS, allow)
