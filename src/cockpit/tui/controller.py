"""Controls the session on screen and owns the parts that live after the first paint.

Events change the state (`session_link`), `reactions` handles the consequences, `painter` draws it, and
`frame_clock` decides when.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.protocol.channel import Deck
from cockpit.protocol.safe_text import single_line
from cockpit.tui.action_bindings import ActionBindings
from cockpit.tui.actions import approvals, preferences, prompts, sessions, view
from cockpit.tui.actions.open_location import open_location
from cockpit.tui.actions.table import ACTIONS, keys_of, load_keymap
from cockpit.tui.composer.completion import Completer, CompletionPopup
from cockpit.tui.composer.editor import ComposerPurpose, PromptHistory, SendMode
from cockpit.tui.frame_clock import FrameClock
from cockpit.tui.painter import Painter, Regions
from cockpit.tui.reactions import Reactions
from cockpit.tui.render.layout import Moment
from cockpit.tui.render.syntax import preload_lexers
from cockpit.tui.render.widgets import ThemedApp, UnclaimedKey
from cockpit.tui.screens.subagent import open_subagent
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.entries import WelcomeEntry
from cockpit.tui.work.approval_draft import ApprovalDraft

MAX_HINT_WIDTH = 60
TYPING_SECONDS = 0.3
"""How long after a key the user counts as typing."""
PRELOAD_DELAY = 1.0
"""Seconds until the lexers are imported, so that the first keys are handled before."""


class SessionController:
    """The session on screen, from the first paint until the cockpit is left."""

    def __init__(self, app: ThemedApp, regions: Regions) -> None:
        editor = regions.editor
        self.app, self.regions = app, regions
        self.keymap, self._keymap_problems = load_keymap(paths.config())
        self.clock = FrameClock(self._draw, self._advance, still=app.options.still)
        self.link = SessionLink(app.root, self.clock.request, lambda: editor.idle_seconds < TYPING_SECONDS)
        self.draft = ApprovalDraft(app.options.quiet)
        self.preferences = preferences.load_preferences()
        self.themes = preferences.ThemeSelection(app, self.preferences)
        bindings = ActionBindings(
            self, app, regions, self.link, self.draft, self.themes, self.preferences, self.keymap
        )
        self.actions = bindings.bound
        offers = bindings.screens_to_offer()
        self.reactions = Reactions(app, regions, self.link, self.draft, self.actions, offers)
        self.painter = Painter(app, regions, self.keymap)
        self.completer: Completer | None = None
        self.is_ready = False  # a session is open
        self._command_hint = ""
        editor.prompts = PromptHistory(None if app.options.still else paths.state() / "history.jsonl")

    async def begin(self, make_deck: Callable[[], Awaitable[Deck]], early: list[str]) -> None:
        """Load themes and keys, open the deck and the session, send what was typed `early`."""
        problems = [*self._keymap_problems, *self.themes.load_files()]
        self._apply_keymap()
        popup = CompletionPopup()
        await self.app.mount(popup)
        self.completer = Completer(self.regions.editor, popup, self._is_complete_command)
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        try:
            self.link.deck = await make_deck()
            await self.link.open(self.app.options.resume, self.welcome())
        except CockpitError as error:
            self.app.exit(1, 1, f"cockpit: {error}")
            return
        self.is_ready = True
        for problem in problems:
            self.link.say("warning", problem)
        if self.app.options.prompt:
            early.append(self.app.options.prompt)
        while early:
            await self.send(early.pop(0), queue=True)
        self.regions.trace.set_tail(())
        self.clock.request()
        await self.load_facts()
        await asyncio.sleep(0 if self.app.options.still else PRELOAD_DELAY)
        await asyncio.to_thread(preload_lexers)

    def _apply_keymap(self) -> None:
        own = {name: ",".join(keys) for name, keys in self.keymap.items()}
        if own:
            self.app.set_keymap(own)
        self.regions.editor.bound = {
            key: action.name
            for action in ACTIONS
            if action.group == "prompt" and not action.everywhere
            for key in keys_of(action.name, self.keymap)
        }

    def _is_complete_command(self, text: str) -> bool:
        row = self.link.commands.get(text[1:]) if text.startswith("/") else None
        return row is not None and not row.hint

    def welcome(self) -> WelcomeEntry:
        welcome = sessions.welcome_entry(self.app.root, self.app.project)
        self.regions.editor.tries = welcome.tries
        return welcome

    async def load_facts(self) -> None:
        """Load commands, themes, panels and counts of the session; then look for local models."""
        await sessions.load_session_facts(self.link, self.themes)
        self.reactions.facts_loaded = True
        self.link.redraw("bar")
        self.app.run_worker(self._find_local_models())

    async def _find_local_models(self) -> None:
        self.reactions.local_models_op = await sessions.find_local_models(self.link)

    # -- input passed on by the app --------------------------------------------------------------------

    def do(self, name: str) -> None:
        """Carry out an action of the table."""
        self.app.run_worker(self.actions.run(name))

    async def submit(self, text: str, mode: SendMode, purpose: ComposerPurpose) -> None:
        """Take what was sent from the Composer: a prompt, a rejection note or an answer."""
        editor = self.regions.editor
        if purpose == "prompt":
            editor.prompts.add(text)
            await self.send(text, queue=mode == "queue")
            return
        editor.return_to_prompt()
        if purpose == "note":
            self.link.redraw("work", "bar")
            await approvals.reject(self.app, self.link, self.draft, text)
        else:
            await self.link.answer(next(iter(self.link.state.questions), ""), text)

    async def send(self, text: str, *, queue: bool = False) -> None:
        """Send a prompt, run a `/command` or a `!command`."""
        self.regions.trace.to_end()
        await prompts.send_text(self.link, self.actions, text, queue=queue)

    def resized(self) -> None:
        self.link.redraw("work", "bar")

    def draft_changed(self) -> None:
        """Colour the Composer, show other hints, offer completions."""
        editor = self.regions.editor
        is_prompt = editor.purpose == "prompt"
        editor.set_class(editor.text.startswith("!") and is_prompt, "-shell")
        if self.completer is not None:
            self.completer.draft_changed(self.link if self.is_ready else None)
        hint = self._hint_of_command(editor.text) if is_prompt else ""
        if self.painter.hint in ("", self._command_hint):
            self.painter.hint = self._command_hint = hint
        self.link.redraw("bar")

    def _hint_of_command(self, text: str) -> str:
        """The arguments of the command in `text`, once they are being typed."""
        name, blank, _ = text.partition(" ")
        row = self.link.commands.get(name[1:]) if blank and text.startswith("/") else None
        return f"{name} {single_line(row.hint, MAX_HINT_WIDTH)} " if row is not None and row.hint else ""

    def key_typed(self, event: UnclaimedKey) -> None:
        """Take a key from the Trace or Work: an action there, an answer, or the start of a prompt."""
        editor, work = self.regions.editor, self.regions.work
        own = {
            key: action.name
            for action in ACTIONS
            if action.group == event.region and not action.everywhere
            for key in keys_of(action.name, self.keymap)
        }
        name = own.get(event.character) or own.get(event.key)
        if event.key == "escape":
            self.do("composer")
        elif event.region == "trace" and name:
            self.do(name)
        elif event.character in editor.answers:
            self.do(editor.answers[event.character])
        elif name and (name != "look" or work.selected.startswith("place:")):
            self.do(name)
        elif event.character.isprintable() and event.character:
            editor.focus()
            editor.insert(event.character)

    def toggle_row(self, y: int) -> None:
        """Open or fold the entry at row `y` of the Trace."""
        view.toggle_entry_at(self.link, self.regions.trace, y)

    async def choose_row(self, action: str) -> None:
        """Do what a row of Work offers."""
        app, link = self.app, self.link
        kind, _, value = action.partition(":")
        if kind == "panel" and value.startswith("open "):
            kind, value = "place", value.removeprefix("open ")
        match kind:
            case "diff":
                await view.show_changes(app, link, value)
            case "place":
                await open_location(app, link, value)
            case "plan":
                await self.actions.run("review_plan")
            case "tab":
                await self.actions.run(f"tab_{value}")
            case "panel":
                plugin, _, name = value.partition("/")
                await link.invoke(name, {}, plugin)
            case "agent":
                await open_subagent(app, link, value)
            case "form":
                await self.actions.run("form")
            case "option":
                await approvals.choose_option(app, link, self.regions.editor, self.draft, int(value))
            case "part" | "hunk":
                approvals.toggle_piece(link, self.draft, value)

    # -- frames ----------------------------------------------------------------------------------------

    def _draw(self, moment: Moment) -> bool:
        if not self.app.is_running or self.link.deck is None:
            return False
        state = self.link.state
        self.reactions.react(state)
        self.painter.paint(state, self.draft, moment)
        return state.is_working

    def _advance(self) -> bool:
        if not self.app.is_running or not self.link.state.is_working:
            return False
        self.link.state.touch_running()
        return True

    def show_hint(self, text: str) -> None:
        """Show a hint for a moment."""
        self.painter.hint = text
        self.link.redraw("bar")

        def forget() -> None:
            if self.painter.hint == text:
                self.painter.hint = ""
                self.link.redraw("bar")

        self.app.set_timer(prompts.DOUBLE_PRESS_SECONDS, forget)
