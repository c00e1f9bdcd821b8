"""What lives behind the screen once it is painted: the link to the session, the frame, the draft.

`changed` asks for a frame; a frame draws what the state says was touched, at most thirty a second,
and nothing runs between two of them while nothing happens.
"""

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.tui import painter
from cockpit.tui.actions import preferences, prompts, sessions, table, view
from cockpit.tui.actions.table import ACTIONS, TuiAction, keys_of
from cockpit.tui.clean import single_line
from cockpit.tui.code_queries import CodeQueries
from cockpit.tui.composer.completion import Completer, CompletionPopup
from cockpit.tui.composer.editor import PromptEditor, PromptHistory
from cockpit.tui.render import themes
from cockpit.tui.render.layout import Moment
from cockpit.tui.render.syntax import preload_lexers
from cockpit.tui.render.themes import Palette, theme_colours
from cockpit.tui.render.widgets import UnclaimedKey
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.entries import CallEntry, SubagentEntry, ThoughtEntry
from cockpit.tui.work.approval_card import ApprovalChoice, DetailCache

if TYPE_CHECKING:
    from cockpit.tui.app import Cockpit

FRAME_SECONDS = 1 / 30
TICK_SECONDS = 0.12
MAX_HINT_WIDTH = 60
PRELOAD_DELAY = 1.0
"""Seconds until what the first code block needs is imported: the first keys go before it."""


@runtime_checkable
class Repaintable(Protocol):
    """A screen that can take other colours while it is open."""

    def repaint(self, palette: Palette) -> None: ...


class SessionController:
    """The cockpit's life after the first paint."""

    def __init__(self, app: "Cockpit") -> None:
        self.app = app
        self.memory = preferences.load_preferences()
        self.keymap, problems = table.load_keymap(paths.config())
        self.history = PromptHistory(None if app.options.still else paths.state() / "history.jsonl")
        self.link: SessionLink | None = None
        self.completing: Completer | None = None
        self.asking = CodeQueries(self)
        self.ready = False
        self.learned = False
        self.trust_asked = False
        self.offered = ""  # the plan or form whose screen was opened by itself
        self.choice = ApprovalChoice()  # what of the shown approval is left out, and what the person wrote
        self.laid = DetailCache()
        self.chosen_for = ""  # the approval it belongs to
        self.asked_at = 0.0  # when that was first shown
        self.draft = ""
        self.local_op = ""  # the op that looks for models on this machine
        self.quiet_until = 0.0  # approval keys before this moment were typed for something else
        self.noting_for = ""  # the approval that a word of rejection is written for
        self.hurried_for = ""  # the approval whose key came too soon, and was told so
        self.answered_at = 0.0  # when a person last answered an approval
        self.pressed_at: dict[str, float] = {}
        self.hint = ""
        self._told = ""  # what of it is a command's own hint
        self._problems = problems
        self.theme_due = ""  # the theme that was asked for and is not there yet
        self._step = 2
        self.frame_due = False
        self._drawn = 0.0
        self._ticking = False

    async def begin(self) -> None:
        """Themes, keys, the deck and the session, in this order."""
        app = self.app
        self._use_themes()
        self._use_keys()
        popup = CompletionPopup(app.palette)
        await app.mount(popup)
        self.completing = Completer(app.editor, popup, self._whole)
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        try:
            deck = await app.make_deck()
            self.link = SessionLink(deck, app.root, self.changed, self.typing)
            await self.link.open(app.options.resume, sessions.welcome_entry(self))
        except CockpitError as error:
            app.exit(1, 1, f"cockpit: {error}")
            return
        self.ready = True
        for problem in self._problems:
            self.link.say("warning", problem)
        early, app.early = [*app.early, *([app.options.prompt] if app.options.prompt else [])], []
        for text in early:
            await prompts.send_text(self, text, queue=True)
        app.trace.tail(())
        self.changed()
        await sessions.load_session_facts(self)
        await asyncio.sleep(0 if app.options.still else PRELOAD_DELAY)
        await asyncio.to_thread(preload_lexers)

    def _use_themes(self) -> None:
        found, problems = themes.find_themes()
        self._problems = [*self._problems, *problems]
        for theme in found:
            if theme != self.app.available_themes.get(theme.name):  # else all would be styled anew
                self.app.register_theme(theme)
        wanted = self.app.options.theme or self.memory.theme
        if wanted and wanted in self.app.available_themes:
            self.set_theme(wanted)
        else:
            self.theme_due = wanted  # a plugin may bring it

    def _whole(self, text: str) -> bool:
        """Whether `text` is a command that takes no further words."""
        row = self.link.commands.get(text[1:]) if self.link is not None and text.startswith("/") else None
        return row is not None and not row.hint

    def set_theme(self, name: str) -> None:
        """Other colours, everywhere."""
        if self.app.theme != name:
            self.app.theme = name
        palette = Palette(theme_colours(self.app.current_theme))
        self.app.palette = palette
        self.app.trace.repaint(palette)
        if self.completing is not None:
            self.completing.repaint(palette)
        for screen in self.app.screen_stack[1:]:
            if isinstance(screen, Repaintable):
                screen.repaint(palette)
        if self.link is not None:
            self.link.state.aspects |= {"work", "bar"}
            self.changed()

    def _use_keys(self) -> None:
        everywhere = {one.name: ",".join(self.keymap[one.name]) for one in ACTIONS if one.name in self.keymap}
        if everywhere:
            self.app.set_keymap(everywhere)
        self.app.editor.bound = {
            key: one.name
            for one in ACTIONS
            if one.group == "prompt" and not one.everywhere
            for key in keys_of(one.name, self.keymap)
        }

    def typing(self) -> bool:
        """Whether a person is at the keys right now."""
        return time.monotonic() - self.app.typed_at < 0.3

    def changed(self) -> None:
        """Something is different: draw it with the next frame."""
        if self.frame_due:
            return
        self.frame_due = True
        wait = FRAME_SECONDS - (time.monotonic() - self._drawn)
        asyncio.get_running_loop().call_later(max(0.0, wait), self._frame)

    def _frame(self) -> None:
        self.frame_due = False
        if not self.app.is_running or self.link is None:
            return
        self._drawn = time.monotonic()
        painter.paint_frame(self, Moment(0.0 if self.app.options.still else time.time(), self._step))
        self._keep_time()
        self._drawn = time.monotonic()

    def _keep_time(self) -> None:
        """Tick while something runs, and only then."""
        assert self.link is not None
        if self.link.state.is_working and not self._ticking and not self.app.options.still:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._ticking = False
        if self.link is None or not self.app.is_running or not self.link.state.is_working:
            return
        self._step += 1
        state = self.link.state
        numbers = [*state.running.values(), *state.thoughts.values(), *state.agents.values()]
        for number in numbers:
            entry = state.entries[number]
            done = entry.done if isinstance(entry, ThoughtEntry | SubagentEntry) else False
            if isinstance(entry, CallEntry | ThoughtEntry | SubagentEntry) and not done:
                state.touch(number)
        state.aspects.add("work")
        self.changed()

    def resized(self) -> None:
        if self.link is not None:
            self.link.state.aspects |= {"work", "bar"}
            self.changed()

    def do(self, name: str) -> None:
        """Carry out an action of the table."""
        self.app.run_worker(prompts.run_action(self, name))

    async def submitted(self, event: PromptEditor.Submitted) -> None:
        await prompts.submit_composer(self, event.text, event.how, event.purpose)

    def drafted(self) -> None:
        """The draft changed: colour the bar, show other hints, offer completions."""
        editor = self.app.editor
        editor.set_class(editor.text.startswith("!") and editor.purpose == "prompt", "-shell")
        if self.link is not None:
            self.link.state.aspects.add("bar")
            if self.completing is not None:
                self.completing.drafted(self.link if self.ready else None)
        takes = _command_hint(self.link, editor.text) if editor.purpose == "prompt" else ""
        if self.hint in ("", self._told):
            self.hint = self._told = takes
        self.changed()

    def recall(self, step: int) -> None:
        text = self.history.step(step, self.app.editor.text)
        if text is not None:
            self.app.editor.put(text)

    def choose(self, does: str) -> None:
        """Enter, or a click, on a row of Work."""
        self.app.run_worker(prompts.choose_row(self, does))

    def typed(self, event: UnclaimedKey) -> None:
        """A key outside the Composer: the Trace's own, an answer, or the start of a prompt."""
        own = {key: one.name for one in ACTIONS if one.group == event.place for key in self._keys(one)}
        name = own.get(event.character) or own.get(event.key)
        if event.key == "escape":
            self.do("composer")
        elif event.place == "trace" and name:
            self.do(name)
        elif event.character in self.app.editor.answers:
            self.do(self.app.editor.answers[event.character])
        elif name and not (name == "look" and not self.app.work.chosen.startswith("place:")):
            self.do(name)
        elif event.character.isprintable() and event.character:
            self.app.editor.focus()
            self.app.editor.insert(event.character)

    def _keys(self, action: TuiAction) -> tuple[str, ...]:
        return () if action.everywhere else keys_of(action.name, self.keymap)

    def open_row(self, y: int) -> None:
        view.toggle_entry_at(self, y)


def _command_hint(link: SessionLink | None, text: str) -> str:
    """What the command in `text` takes, as its file says, once words for it are being typed."""
    name, blank, _ = text.partition(" ")
    known = link.commands if link is not None and blank and text.startswith("/") else {}
    row = known.get(name[1:])
    return f"{name} {single_line(row.hint, MAX_HINT_WIDTH)} " if row is not None and row.hint else ""
