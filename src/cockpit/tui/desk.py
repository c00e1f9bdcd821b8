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
from cockpit.tui import doing, drawing, keymap, memory, opening, showing, themes
from cockpit.tui.actions import ACTIONS, Action, keys_of
from cockpit.tui.asking import Asking
from cockpit.tui.clean import one_line
from cockpit.tui.composer.completing import Completing
from cockpit.tui.composer.editor import Editor
from cockpit.tui.composer.history import History
from cockpit.tui.composer.popup import Popup
from cockpit.tui.link import Link
from cockpit.tui.messages import Typed
from cockpit.tui.palette import Palette, colours_of
from cockpit.tui.state.entries import Called, Delegated, Thought
from cockpit.tui.trace.code import warm
from cockpit.tui.trace.moment import Moment
from cockpit.tui.work.approval import Laid
from cockpit.tui.work.approval_parts import Choice

if TYPE_CHECKING:
    from cockpit.tui.app import Cockpit

FRAME = 1 / 30
TICK = 0.12
WIDEST_HINT = 60
WARM_AFTER = 1.0
"""Seconds until what the first code block needs is imported: the first keys go before it."""


@runtime_checkable
class Repainted(Protocol):
    """A screen that can take other colours while it is open."""

    def repaint(self, palette: Palette) -> None: ...


class Desk:
    """The cockpit's life after the first paint."""

    def __init__(self, app: "Cockpit") -> None:
        self.app = app
        self.memory = memory.load()
        self.keymap, problems = keymap.load(paths.config())
        self.history = History(None if app.options.still else paths.state() / "history.jsonl")
        self.link: Link | None = None
        self.completing: Completing | None = None
        self.asking = Asking(self)
        self.ready = False
        self.learned = False
        self.trust_asked = False
        self.offered = ""  # the plan or form whose screen was opened by itself
        self.choice = Choice()  # what of the shown approval is left out, and what the person wrote
        self.laid = Laid()
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
        popup = Popup(app.palette)
        await app.mount(popup)
        self.completing = Completing(app.editor, popup, self._whole)
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()
        try:
            deck = await app.make_deck()
            self.link = Link(deck, app.root, self.changed, self.typing)
            await self.link.open(app.options.resume, opening.welcomed(self))
        except CockpitError as error:
            app.exit(1, 1, f"cockpit: {error}")
            return
        self.ready = True
        for problem in self._problems:
            self.link.say("warning", problem)
        early, app.early = [*app.early, *([app.options.prompt] if app.options.prompt else [])], []
        for text in early:
            await doing.send(self, text, queue=True)
        app.trace.tail(())
        self.changed()
        await opening.learn(self)
        await asyncio.sleep(0 if app.options.still else WARM_AFTER)
        await asyncio.to_thread(warm)

    def _use_themes(self) -> None:
        found, problems = themes.found()
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
        palette = Palette(colours_of(self.app.current_theme))
        self.app.palette = palette
        self.app.trace.repaint(palette)
        if self.completing is not None:
            self.completing.repaint(palette)
        for screen in self.app.screen_stack[1:]:
            if isinstance(screen, Repainted):
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
        wait = FRAME - (time.monotonic() - self._drawn)
        asyncio.get_running_loop().call_later(max(0.0, wait), self._frame)

    def _frame(self) -> None:
        self.frame_due = False
        if not self.app.is_running or self.link is None:
            return
        self._drawn = time.monotonic()
        drawing.frame(self, Moment(0.0 if self.app.options.still else time.time(), self._step))
        self._keep_time()
        self._drawn = time.monotonic()

    def _keep_time(self) -> None:
        """Tick while something runs, and only then."""
        assert self.link is not None
        if self.link.state.is_working and not self._ticking and not self.app.options.still:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK, self._tick)

    def _tick(self) -> None:
        self._ticking = False
        if self.link is None or not self.app.is_running or not self.link.state.is_working:
            return
        self._step += 1
        state = self.link.state
        numbers = [*state.running.values(), *state.thoughts.values(), *state.agents.values()]
        for number in numbers:
            entry = state.entries[number]
            done = entry.done if isinstance(entry, Thought | Delegated) else False
            if isinstance(entry, Called | Thought | Delegated) and not done:
                state.touch(number)
        state.aspects.add("work")
        self.changed()

    def resized(self) -> None:
        if self.link is not None:
            self.link.state.aspects |= {"work", "bar"}
            self.changed()

    def do(self, name: str) -> None:
        """Carry out an action of the table."""
        self.app.run_worker(doing.do(self, name))

    async def submitted(self, event: Editor.Submitted) -> None:
        await doing.submitted(self, event.text, event.how, event.purpose)

    def drafted(self) -> None:
        """The draft changed: colour the bar, show other hints, offer completions."""
        editor = self.app.editor
        editor.set_class(editor.text.startswith("!") and editor.purpose == "prompt", "-shell")
        if self.link is not None:
            self.link.state.aspects.add("bar")
            if self.completing is not None:
                self.completing.drafted(self.link if self.ready else None)
        takes = _takes(self.link, editor.text) if editor.purpose == "prompt" else ""
        if self.hint in ("", self._told):
            self.hint = self._told = takes
        self.changed()

    def recall(self, step: int) -> None:
        text = self.history.step(step, self.app.editor.text)
        if text is not None:
            self.app.editor.put(text)

    def choose(self, does: str) -> None:
        """Enter, or a click, on a row of Work."""
        self.app.run_worker(doing.choose(self, does))

    def typed(self, event: Typed) -> None:
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

    def _keys(self, action: Action) -> tuple[str, ...]:
        return () if action.everywhere else keys_of(action.name, self.keymap)

    def open_row(self, y: int) -> None:
        showing.toggle_at(self, y)


def _takes(link: Link | None, text: str) -> str:
    """What the command in `text` takes, as its file says, once words for it are being typed."""
    name, blank, _ = text.partition(" ")
    known = link.commands if link is not None and blank and text.startswith("/") else {}
    row = known.get(name[1:])
    return f"{name} {one_line(row.hint, WIDEST_HINT)} " if row is not None and row.hint else ""
