"""The full-screen cockpit: five regions, and the way from a key to an action. It decides nothing:
`state` says what is shown, `desk` draws it, `doing` carries out the actions of the one table.

Before the first paint this imports Textual and the modules that draw an empty cockpit, nothing else.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea

from cockpit.tui.actions.table import ACTIONS
from cockpit.tui.clean import clean
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render import themes
from cockpit.tui.render.bars import Bar, TopBarStatus, hint_line, top_line
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.render.themes import Palette, theme_colours
from cockpit.tui.render.welcome import welcome_lines
from cockpit.tui.render.widgets import UnclaimedKey
from cockpit.tui.trace.view import TraceView

if TYPE_CHECKING:
    from cockpit.protocol.channel import Deck
    from cockpit.tui.composer.completion import CompletionPopup
    from cockpit.tui.controller import SessionController
    from cockpit.tui.work.view import WorkView


FIRST_KEYS = 0.03
"""Seconds in which what was typed while starting is drawn, before imports take half of the processor."""


class Body(Widget):
    """Trace and Work beside or above each other."""


class CockpitOptions(NamedTuple):
    """How the cockpit is to be: `still` (no animation, no blinking, no clock) is for pictures and
    for people who want it; `theme` empty means the last one chosen; `real` owns a real terminal;
    `quiet` are the seconds in which an approval that has just appeared takes no key."""

    resume: str | None = None
    theme: str = ""
    still: bool = False
    prompt: str = ""
    real: bool = False
    quiet: float = 0.4


class Cockpit(App[int]):
    """`make_deck` is called after the first paint; `root` is the folder to work in."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#composer"
    CSS = """
    Screen { layers: default above; background: $background; }
    #body { height: 1fr; layout: horizontal; background: $surface; }
    #trace { width: 62%; height: 1fr; background: $background; }
    #work { width: 38%; height: 1fr; padding: 0 0 0 1; }
    Screen.-wide #work.-shut { display: none; }
    Screen.-wide #trace.-alone { width: 1fr; }
    Screen.-tall Editor { padding: 1 1; }
    Screen.-narrow #body { layout: vertical; }
    Screen.-narrow #trace { width: 1fr; }
    Screen.-narrow #work { width: 1fr; height: 50%; display: none; padding: 0; }
    Screen.-narrow #work.-open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(one.keys), f"do('{one.name}')", one.label, show=False, priority=True, id=one.name)
        for one in ACTIONS
        if one.everywhere
    ]

    def __init__(
        self, make_deck: "Callable[[], Awaitable[Deck]]", root: str, options: CockpitOptions
    ) -> None:
        self.options = options
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-tall")]
        self.make_deck = make_deck
        self.root = root
        self.desk: SessionController | None = None
        self.typed_at = 0.0
        self.early: list[str] = []  # what was sent before there was a session
        if options.still:
            self.animation_level = "none"
        self.register_theme(themes.default_theme())
        self.set_reactive(
            App.theme, themes.DEFAULT_THEME
        )  # quietly: nothing is styled yet that would need it
        self.stylesheet.set_variables(self.get_css_variables())
        self.palette = Palette(theme_colours(self.current_theme))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Say something in passing. Names in it act on no terminal and are no markup."""
        super().notify(clean(message), title=clean(title), severity=severity, timeout=timeout, markup=markup)

    def get_driver_class(self) -> type[Driver]:
        if self.options.real:
            from cockpit.tui.terminal.driver import driver_class

            return driver_class() or super().get_driver_class()
        return super().get_driver_class()

    def get_default_screen(self) -> Screen[None]:
        """Styled for the terminal's size from the start: else the first paint is made twice."""
        width, height = shutil.get_terminal_size()
        classes = "-wide" if width >= 100 else "-narrow"
        return Screen[None](id="_default", classes=f"{classes} {'-tall' if height >= 24 else '-short'}")

    def compose(self) -> ComposeResult:
        yield Bar(self.palette, id="top")
        with Body(id="body"):
            yield TraceView(self.palette)  # Work follows after the first paint, on the same shade
        yield PromptEditor()
        yield Bar(self.palette, id="hints")

    def on_mount(self) -> None:
        self.top, self.hints = self.query_one("#top", Bar), self.query_one("#hints", Bar)
        self.trace = self.query_one(TraceView)
        self.editor = self.query_one(PromptEditor)
        self.project = Path(self.root).name or self.root
        self._draw_empty()
        if self.options.real:
            from cockpit.tui.terminal.driver import exit_on_signals

            exit_on_signals(self)
        self.call_after_refresh(self.run_worker, self._start(), exit_on_error=True)

    def _draw_empty(self) -> None:
        """What stands there while nothing is known yet."""
        self.top.show(top_line(TopBarStatus(self.project, self.root), self.size.width), self.palette)
        self.hints.show(hint_line([], self.size.width, "starting "), self.palette)
        width = max(20, self.size.width * 62 // 100 if self.size.width >= 100 else self.size.width)
        self.trace.lead(welcome_lines(self.project, self.root, width))

    async def _start(self) -> None:
        """After the first paint: import the rest in a thread, open the deck and the session."""
        await asyncio.sleep(FIRST_KEYS)
        desk, work_view = await asyncio.to_thread(_import_rest)
        self.trace.styles.overflow_y = "scroll"
        self.work = work_view(self.palette)
        await self.query_one("#body").mount(self.work)
        self.desk = desk(self)
        await self.desk.begin()

    def on_resize(self, event: events.Resize) -> None:
        if self.desk is not None:
            self.desk.resized()
        elif hasattr(self, "top"):
            self._draw_empty()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self.typed_at = time.monotonic()
        if self.desk is not None and event.text_area is self.editor:
            self.desk.drafted()

    def on_editor_submitted(self, event: PromptEditor.Submitted) -> None:
        if self.desk is not None and self.desk.ready:
            self.run_worker(self.desk.submitted(event))
            return
        self.early.append(event.text)
        width = max(20, self.trace.size.width)
        tail: list[StyledLine] = []
        for text in self.early:
            first = [(" ", "body"), ("▌ ", "faint")]
            tail += [StyledLine([]), *layout_paragraph(text, width - 2, key="muted", first=first, rest=first)]
        self.trace.tail(tail)

    def on_editor_meant(self, event: PromptEditor.Meant) -> None:
        self.action_do(event.action)

    def on_editor_chose(self, event: PromptEditor.Chose) -> None:
        if self.desk is not None and self.desk.completing is not None:
            self.desk.completing.chose(event.what)

    def on_editor_recalled(self, event: PromptEditor.Recalled) -> None:
        if self.desk is not None:
            self.desk.recall(event.step)

    def on_popup_picked(self, event: "CompletionPopup.Picked") -> None:
        if self.desk is not None and self.desk.completing is not None:
            self.desk.completing.put(event.completion)

    def on_work_view_chosen(self, event: "WorkView.Chosen") -> None:
        if self.desk is not None:
            self.desk.choose(event.does)

    def on_typed(self, event: UnclaimedKey) -> None:
        if self.desk is not None:
            self.desk.typed(event)

    def on_trace_view_opened(self, event: TraceView.Opened) -> None:
        if self.desk is not None:
            self.desk.open_row(event.y)

    def action_do(self, name: str) -> None:
        """Carry out the action `name` of the table."""
        if self.desk is not None:
            self.desk.do(name)
        elif name in ("clear_or_quit", "leave", "quit"):
            self.exit(0)

    async def action_quit(self) -> None:
        self.action_do("quit")


def _import_rest() -> "tuple[type[SessionController], type[WorkView]]":
    """All that the first paint did without; run in a thread."""
    import_module("cockpit.tui.trace.document")  # the first frame's
    from cockpit.tui.controller import SessionController
    from cockpit.tui.work.view import WorkView

    return SessionController, WorkView
