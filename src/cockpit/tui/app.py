"""The Textual app: its regions, and the routing of keys and messages to the session controller.

Before the first paint it imports only Textual and the modules that draw an empty cockpit; a thread imports
the rest afterwards.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea

from cockpit.tui.actions.table import ACTIONS
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.bars import Bar, TopBarStatus, hint_line, top_line
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.render.welcome import welcome_lines
from cockpit.tui.render.widgets import WIDE_CELLS, StartOptions, ThemedApp, UnclaimedKey
from cockpit.tui.trace.view import TraceView

if TYPE_CHECKING:
    from cockpit.protocol.channel import Deck
    from cockpit.tui.composer.completion import CompletionPopup
    from cockpit.tui.controller import SessionController
    from cockpit.tui.work.view import WorkView

FIRST_KEYS_SECONDS = 0.03
"""Time to draw what was typed while starting, before imports take half of the processor."""


class Body(Widget):
    """Trace and Work, beside or above each other."""


class Cockpit(ThemedApp):
    """The app. `make_deck` is called after the first paint."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#composer"
    CSS = """
    Screen { layers: default above; background: $background; }
    #body { height: 1fr; layout: horizontal; background: $surface; }
    #trace { width: 62%; height: 1fr; background: $background; }
    #work { width: 38%; height: 1fr; padding: 0 0 0 1; }
    Screen.-wide #work.-shut { display: none; }
    Screen.-wide #trace.-alone { width: 1fr; }
    Screen.-tall PromptEditor { padding: 1 1; }
    Screen.-narrow #body { layout: vertical; }
    Screen.-narrow #trace { width: 1fr; }
    Screen.-narrow #work { width: 1fr; height: 50%; display: none; padding: 0; }
    Screen.-narrow #work.-open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(act.keys), f"do('{act.name}')", act.label, show=False, priority=True, id=act.name)
        for act in ACTIONS
        if act.everywhere
    ]

    def __init__(self, make_deck: "Callable[[], Awaitable[Deck]]", root: str, options: StartOptions) -> None:
        super().__init__(root, options)
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE_CELLS, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-tall")]
        self.controller: SessionController | None = None
        self._make_deck = make_deck
        self._early: list[str] = []  # what was sent before a session was open
        if options.still:
            self.animation_level = "none"

    def get_driver_class(self) -> type[Driver]:
        if self.options.real:
            from cockpit.tui.terminal.driver import driver_class

            return driver_class() or super().get_driver_class()
        return super().get_driver_class()

    def get_default_screen(self) -> Screen[None]:
        """Styled for the terminal's size from the start; otherwise the first paint would be made twice."""
        width, height = shutil.get_terminal_size()
        classes = "-wide" if width >= WIDE_CELLS else "-narrow"
        return Screen[None](id="_default", classes=f"{classes} {'-tall' if height >= 24 else '-short'}")

    def compose(self) -> ComposeResult:
        yield Bar(id="top")
        with Body(id="body"):
            yield TraceView()  # Work follows after the first paint, on the same shade
        yield PromptEditor()
        yield Bar(id="hints")

    def on_mount(self) -> None:
        self.top, self.hints = self.query_one("#top", Bar), self.query_one("#hints", Bar)
        self.trace = self.query_one(TraceView)
        self.editor = self.query_one(PromptEditor)
        self._draw_empty()
        if self.options.real:
            from cockpit.tui.terminal.driver import exit_on_signals

            exit_on_signals(self)
        self.call_after_refresh(self.run_worker, self._start(), exit_on_error=True)

    def _draw_empty(self) -> None:
        width = self.size.width
        self.top.show(top_line(TopBarStatus(self.project, self.root), width))
        self.hints.show(hint_line([], width, "starting "))
        trace_width = width if self.is_narrow else width * 62 // 100
        self.trace.set_lead(welcome_lines(self.project, self.root, max(20, trace_width)))

    async def _start(self) -> None:
        await asyncio.sleep(FIRST_KEYS_SECONDS)
        await asyncio.to_thread(_import_rest)
        from cockpit.tui.controller import SessionController
        from cockpit.tui.painter import Regions
        from cockpit.tui.work.view import WorkView

        self.trace.styles.overflow_y = "scroll"
        self.work = WorkView()
        await self.query_one("#body").mount(self.work)
        regions = Regions(self.top, self.trace, self.work, self.editor, self.hints)
        self.controller = SessionController(self, regions)
        await self.controller.begin(self._make_deck, self._early)

    def on_resize(self, event: events.Resize) -> None:
        if self.controller is not None:
            self.controller.resized()
        elif hasattr(self, "top"):
            self._draw_empty()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self.editor.note_key()
        if self.controller is not None and event.text_area is self.editor:
            self.controller.draft_changed()

    def on_prompt_editor_submitted(self, event: PromptEditor.Submitted) -> None:
        if self.controller is not None and self.controller.is_ready:
            self.run_worker(self.controller.submit(event.text, event.mode, event.purpose))
            return
        self._early.append(event.text)
        width = max(20, self.trace.size.width)
        tail: list[StyledLine] = []
        for text in self._early:
            bar = [(" ", "body"), ("▌ ", "faint")]
            tail += [StyledLine([]), *layout_paragraph(text, width - 2, key="muted", first=bar, rest=bar)]
        self.trace.set_tail(tail)

    def on_prompt_editor_action_key(self, event: PromptEditor.ActionKey) -> None:
        self.action_do(event.action)

    def on_prompt_editor_list_key(self, event: PromptEditor.ListKey) -> None:
        if self.controller is not None and self.controller.completer is not None:
            self.controller.completer.take_key(event.key)

    def on_completion_popup_picked(self, event: "CompletionPopup.Picked") -> None:
        if self.controller is not None and self.controller.completer is not None:
            self.controller.completer.insert(event.completion)

    def on_work_view_row_chosen(self, event: "WorkView.RowChosen") -> None:
        if self.controller is not None:
            self.run_worker(self.controller.choose_row(event.action))

    def on_unclaimed_key(self, event: UnclaimedKey) -> None:
        if self.controller is not None:
            self.controller.key_typed(event)

    def on_trace_view_entry_clicked(self, event: TraceView.EntryClicked) -> None:
        if self.controller is not None:
            self.controller.toggle_row(event.y)

    def action_do(self, name: str) -> None:
        """Carry out the action `name` of the table."""
        if self.controller is not None:
            self.controller.do(name)
        elif name in ("clear_or_quit", "leave", "quit"):
            self.exit(0)

    async def action_quit(self) -> None:
        self.action_do("quit")


def _import_rest() -> None:
    for name in ("cockpit.tui.trace.document", "cockpit.tui.controller"):
        import_module(name)
