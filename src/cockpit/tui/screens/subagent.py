"""A subagent, opened: its own Trace while it works, a line to say something to it, a key to stop it."""

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol import ops
from cockpit.protocol.content import Text
from cockpit.protocol.queries import AgentEventRows, AgentEvents
from cockpit.protocol.rows import AgentRow
from cockpit.tui.clean import single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.layout import Moment, Piece, StyledLine, layout_paragraph
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import UnclaimedKey
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys
from cockpit.tui.session_link import ORIGIN, SessionLink, SubagentFollower
from cockpit.tui.state.entries import FOLDABLE
from cockpit.tui.trace.view import TraceView
from cockpit.tui.work.now_tab import sort_agents

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController

_LIVE_PHASES = ("queued", "running")
_WIDE_CELLS = 80
"""Cells from which name and figures have room on one line."""
_TASK_LINES = 3
"""Lines of its task that stand above its Trace."""


class SubagentScreen(ModalScreen[None]):
    """Draws with the cockpit's frames; it sends two ops, `Steer` and `Interrupt` of this subagent."""

    CSS = (
        "AgentScreen {"
        + SHEET_CSS
        + """}
    AgentScreen > #sheet { width: 94%; height: 92%; border-left: outer $accent; }
    AgentScreen TraceView { width: 1fr; height: 1fr; margin: 1 0; background: $background; }
    AgentScreen Input { border: none; background: $panel; height: 1; padding: 0 1; }
    AgentScreen Input:focus { border: none; }
    """
    )

    def __init__(self, palette: Palette, link: SessionLink, followed: SubagentFollower) -> None:
        super().__init__()
        self._palette, self._link, self._followed = palette, link, followed

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._head, self._palette, id="head")
            yield TraceView(self._palette, id="agent-trace")
            yield Input(placeholder="a word to this agent: Enter sends it, taken at its next step")
            yield LinesView(self._foot, self._palette, id="foot")

    def on_mount(self) -> None:
        for lines in self.query(LinesView):
            lines.can_focus = False
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._link.changed()

    @property
    def _agent(self) -> AgentRow | None:
        panel = self._link.state.panels.get("agents", ())
        return next((one for one in sort_agents(panel) if one.id == self._followed.agent), None)

    def frame(self, moment: Moment) -> None:
        """Draw what came since the last frame."""
        if not self.is_mounted:
            return
        state = self._followed.state
        touched = sorted(state.touched)
        state.touched.clear()
        if touched:
            self.query_one(TraceView).frame(state.entries, touched, moment)
        for name in ("#head", "#foot"):
            self.query_one(name, LinesView).anew()

    def _head(self, width: int) -> list[StyledLine]:
        agent = self._agent
        if agent is None:
            return [StyledLine([(self._followed.agent, "heading/surface+b")], "body/surface")]
        facts = [agent.phase, f"{agent.steps} steps", f"{agent.calls} calls"]
        if agent.tokens:
            facts.append(f"{number_format.format_tokens(agent.tokens)} tokens")
        if agent.branch:
            facts.append(single_line(agent.branch, 40))
        pieces: list[Piece] = [
            (single_line(agent.id, 60), "heading/surface+b"),
            (f"  {single_line(agent.role, 30)}", "muted/surface"),
        ]
        key = "machine" if agent.phase in _LIVE_PHASES else "muted"
        right: list[Piece] = [("  ".join(facts), f"{key}/surface")]
        task = layout_paragraph(single_line(agent.task, 600), width, key="muted/surface", fill="body/surface")
        if width < _WIDE_CELLS:
            return [
                StyledLine(pieces, "body/surface"),
                StyledLine(right, "body/surface"),
                *task[:_TASK_LINES],
            ]
        return [StyledLine(pieces, "body/surface", right=right), *task[:_TASK_LINES]]

    def _foot(self, width: int) -> list[StyledLine]:
        agent = self._agent
        keys = ["Enter send", "Ctrl+X stop it", "Esc back", "PgUp PgDn scroll", "Ctrl+O open or fold"]
        if agent is not None and agent.phase not in _LIVE_PHASES:
            keys = ["Enter goes on with it", *keys[2:]]
        return [StyledLine([(fit_keys(keys, width), "faint/surface")], "body/surface")]

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if text := event.value.strip():
            event.input.clear()
            link, agent = self._link, self._followed.agent
            await link.submit(ops.Steer(link.fresh(), ORIGIN, (Text(text),), agent))

    async def on_key(self, event: events.Key) -> None:
        view = self.query_one(TraceView)
        pages = {"pageup": -1, "pagedown": 1}
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "ctrl+x":
            await self._link.submit(ops.Interrupt(self._link.fresh(), ORIGIN, self._followed.agent))
        elif event.key in pages:
            step = pages[event.key] * max(1, view.size.height - 2)
            view.scroll_relative(y=step, animate=False, force=True)
        else:
            return
        event.stop()

    def fold(self) -> None:
        """Open what is folded, or fold all of it."""
        state = self._followed.state
        folding = [(at, one) for at, one in enumerate(state.entries) if isinstance(one, FOLDABLE)]
        opened = not all(one.expanded for _, one in folding)
        for at, one in folding:
            one.expanded = opened or None
            state.touch(at)
        self._link.changed()

    def on_trace_view_opened(self, event: TraceView.Opened) -> None:
        event.stop()
        state, document = self._followed.state, self.query_one(TraceView).document
        if document is None or event.y >= document.height:
            return
        number = document.section_at(event.y)
        entry = state.entries[number]
        if isinstance(entry, FOLDABLE):
            entry.expanded = not entry.expanded
            state.touch(number)
            self._link.changed()

    def on_typed(self, event: UnclaimedKey) -> None:
        """A letter typed while the Trace has the focus belongs to the line."""
        event.stop()
        field = self.query_one(Input)
        if event.key == "escape":
            self.dismiss(None)
        elif event.character.isprintable() and event.character:
            field.focus()
            field.insert_text_at_cursor(event.character)


async def open_subagent(desk: "SessionController", agent: str) -> None:
    """Open the subagent of the path `agent`, and follow it until the screen is left."""
    link, app = desk.link, desk.app
    if link is None or any(isinstance(one, SubagentScreen) for one in app.screen_stack):
        return
    followed = link.looking.into(agent, link.root)
    try:
        reply = await link.ask(AgentEvents(agent))
        if not isinstance(reply, AgentEventRows):
            app.notify(f"{agent} cannot be opened: it is not known to this session any more")
            return
        link.looking.fold(reply.rows)
        desk.changed()
        await app.push_screen_wait(SubagentScreen(app.palette, link, followed))
    finally:
        link.looking.away()
