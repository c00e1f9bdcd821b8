"""The subagents in Work: which run, which wait, what each does and has used. Enter on one opens it. Pure."""

from collections.abc import Iterable

from cockpit.protocol.agents import AgentRow
from cockpit.protocol.rows import PanelRow
from cockpit.tui import figures
from cockpit.tui.clean import one_line
from cockpit.tui.trace.layout import Piece, shortened, width_of
from cockpit.tui.trace.moment import SPINNER, Moment
from cockpit.tui.work.lines import Row, row, title

MOST = 12
_SIGNS = {
    "queued": ("·", "muted"),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("◌", "faint"),
}
_LIVE = ("running", "queued")


def agents_of(rows: Iterable[PanelRow]) -> list[AgentRow]:
    """The subagents of a panel: those that live first, then the others, the latest before the earlier."""
    known = [one.agent for one in rows if one.agent is not None]
    live = sorted((one for one in known if one.phase in _LIVE), key=lambda one: _LIVE.index(one.phase))
    return [*live, *(one for one in reversed(known) if one.phase not in _LIVE)]


def agents_behind(rows: Iterable[PanelRow]) -> int:
    """How many live that no turn waits for."""
    return sum(one.background and one.phase in _LIVE for one in agents_of(rows))


def agent_rows(rows: Iterable[PanelRow], width: int, moment: Moment) -> list[Row]:
    """A head with the counts, and two lines for each."""
    agents = agents_of(rows)
    if not agents:
        return []
    counts = [(sum(one.phase == phase for one in agents), phase) for phase in ("running", "queued", "failed")]
    told = "  ".join(f"{count} {phase}" for count, phase in counts if count) or f"{len(agents)} done"
    found = [Row(title("AGENTS", told, "machine" if counts[0][0] else "heading"))]
    for one in agents[:MOST]:
        found += _agent(one, width, moment)
    if len(agents) > MOST:
        found.append(Row(row((f"   and {len(agents) - MOST} more: /agents lists them", "muted"))))
    return found


def _agent(agent: AgentRow, width: int, moment: Moment) -> list[Row]:
    sign, key = _SIGNS.get(agent.phase, (SPINNER[moment.step % 10], "machine"))
    name = one_line(agent.id.removeprefix("main/"), 40)
    used: list[Piece] = [(f"{_used(agent, moment)} ", "muted")]
    room = max(6, width - width_of(used[0][0]) - 5)
    pieces: list[Piece] = [(f" {sign} ", key), (shortened(name, room), "body+b")]
    if agent.background and room > width_of(name) + 12:
        pieces.append(("  background", "faint"))
    does = f"agent:{agent.id}"
    text = agent.doing if agent.phase in _LIVE else agent.report
    lines = [Row(row(*pieces, right=used), does)]
    words = one_line(text or agent.task, 200)
    return [*lines, Row(row(("   ", "body"), (shortened(words, max(4, width - 5)), "muted")), does)]


def _used(agent: AgentRow, moment: Moment) -> str:
    """Steps, tokens and time, as much as there is."""
    if agent.phase == "queued":
        return "queued"
    running = agent.phase == "running" and agent.started and moment.now
    seconds = moment.now - agent.started if running else agent.seconds
    parts = [f"{agent.steps} steps" if agent.steps != 1 else "1 step"]
    if agent.tokens:
        parts.append(figures.tokens(agent.tokens))
    if seconds >= 1:
        parts.append(figures.span(seconds))
    return "  ".join(parts)
