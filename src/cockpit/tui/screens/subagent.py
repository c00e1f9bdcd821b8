"""The screen of a subagent: its Trace while it works, a line to steer it, a key to stop it."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol.queries import AgentEventRows, AgentEvents
from cockpit.protocol.rows import AgentRow
from cockpit.protocol.safe_text import single_line
from cockpit.tui.render.layout import Moment, Piece, StyledLine, layout_paragraph
from cockpit.tui.render.number_format import format_tokens
from cockpit.tui.render.widgets import ThemedApp, UnclaimedKey
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, fit_keys, focus_input, sheet_line, title_line
from cockpit.tui.session_link import SessionLink, SubagentFollower
from cockpit.tui.trace.view import TraceView
from cockpit.tui.work.now_tab import sort_agents

_LIVE_PHASES = ("queued", "running")
_WIDE_SHEET = 80
"""Cells from which the name and the figures fit on one line."""
_TASK_LINES = 3
"""Lines of the task that are shown above the Trace."""


class SubagentScreen(ModalScreen[None]):
    """Painted with the cockpit's frames. It sends two ops: `Steer` and `Interrupt` of this subagent."""

    CSS = f"""SubagentScreen {{ {SHEET_CSS}
        & > #sheet {{ width: 94%; height: 92%; border-left: outer $accent; }}
        & TraceView {{ width: 1fr; height: 1fr; margin: 1 0; background: $background; }}
        & Input {{ border: none; background: $panel; height: 1; padding: 0 1; }}
        & Input:focus {{ border: none; }}
    }}"""

    def __init__(self, link: SessionLink, follower: SubagentFollower) -> None:
        super().__init__()
        self._link, self._follower = link, follower

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._head, id="head")
            yield TraceView(id="agent-trace")
            yield Input(placeholder="a message to this agent: Enter sends it, taken at its next step")
            yield LinesView(self._foot, id="foot")

    def on_mount(self) -> None:
        for lines in self.query(LinesView):
            lines.can_focus = False
        focus_input(self.query_one(Input))
        self._link.changed()

    @property
    def _agent(self) -> AgentRow | None:
        agents = sort_agents(self._link.state.panels.get("agents", ()))
        return next((agent for agent in agents if agent.id == self._follower.agent), None)

    def paint(self, moment: Moment) -> None:
        """Paint what changed since the last frame."""
        if not self.is_mounted:
            return
        state = self._follower.state
        touched = sorted(state.touched)
        state.touched.clear()
        if touched:
            self.query_one(TraceView).paint(state.entries, touched, moment)
        for name in ("#head", "#foot"):
            self.query_one(name, LinesView).update()

    def _head(self, width: int) -> list[StyledLine]:
        agent = self._agent
        if agent is None:
            return [title_line(self._follower.agent)]
        facts = [agent.phase, f"{agent.steps} steps", f"{agent.calls} calls"]
        if agent.tokens:
            facts.append(f"{format_tokens(agent.tokens)} tokens")
        if agent.branch:
            facts.append(single_line(agent.branch, 40))
        pieces: list[Piece] = [
            (single_line(agent.id, 60), "heading/surface+b"),
            (f"  {single_line(agent.role, 30)}", "muted/surface"),
        ]
        key = "machine" if agent.phase in _LIVE_PHASES else "muted"
        right: list[Piece] = [("  ".join(facts), f"{key}/surface")]
        text = single_line(agent.task, 600)
        task = layout_paragraph(text, width, key="muted/surface", fill="body/surface")[:_TASK_LINES]
        if width < _WIDE_SHEET:
            return [StyledLine(pieces, "body/surface"), StyledLine(right, "body/surface"), *task]
        return [StyledLine(pieces, "body/surface", right=right), *task]

    def _foot(self, width: int) -> list[StyledLine]:
        agent = self._agent
        keys = ["Enter send", "Ctrl+X stop it", "Esc back", "PgUp PgDn scroll", "Ctrl+O open or fold"]
        if agent is not None and agent.phase not in _LIVE_PHASES:
            keys = ["Enter continues it", *keys[2:]]
        return [sheet_line(fit_keys(keys, width), "faint")]

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if text := event.value.strip():
            event.input.clear()
            await self._link.steer(text, self._follower.agent)

    async def on_key(self, event: events.Key) -> None:
        view = self.query_one(TraceView)
        pages = {"pageup": -1, "pagedown": 1}
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "ctrl+x":
            await self._link.interrupt(self._follower.agent)
        elif event.key in pages:
            step = pages[event.key] * max(1, view.size.height - 2)
            view.scroll_relative(y=step, animate=False, force=True)
        else:
            return
        event.stop()

    def toggle_folds(self) -> None:
        """Open what is folded; when all of it is open, fold it."""
        self._follower.state.toggle_folds()
        self._link.changed()

    def on_trace_view_entry_clicked(self, event: TraceView.EntryClicked) -> None:
        event.stop()
        number = self.query_one(TraceView).entry_at(event.y)
        if number is not None and self._follower.state.toggle_entry(number):
            self._link.changed()

    def on_unclaimed_key(self, event: UnclaimedKey) -> None:
        """A letter typed while the Trace has the focus goes to the input."""
        event.stop()
        field = self.query_one(Input)
        if event.key == "escape":
            self.dismiss(None)
        elif event.character.isprintable() and event.character:
            field.focus()
            field.insert_text_at_cursor(event.character)


async def open_subagent(app: ThemedApp, link: SessionLink, agent: str) -> None:
    """Open the subagent of the path `agent`, and follow it until the screen is left."""
    if any(isinstance(screen, SubagentScreen) for screen in app.screen_stack):
        return
    follower = link.follower = SubagentFollower(agent, link.root)
    try:
        reply = await link.ask(AgentEvents(agent))
        if not isinstance(reply, AgentEventRows):
            app.notify(f"{agent} cannot be opened: this session no longer knows it")
            return
        follower.add_past(reply.rows)
        link.changed()
        await app.push_screen_wait(SubagentScreen(link, follower))
    finally:
        link.follower = None
