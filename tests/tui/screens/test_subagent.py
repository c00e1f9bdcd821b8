"""Subagents in Work: listed, opened, followed while they work, spoken to and stopped."""

from dataclasses import replace

from tests.support.cockpits import Seat, seat, settled
from tests.support.scenes import Scene

from cockpit.protocol import events, ops
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import AssistantMessage, ToolCall, ToolResult
from cockpit.protocol.queries import AgentEventRows, AgentEvents, Query, Reply
from cockpit.protocol.rows import AgentRow, PanelRow
from cockpit.tui.screens.subagent import SubagentScreen

TASK, TOLD = "find the rebate", "all 12 pass"
RUNS = AgentRow("main/explore-1", "explore", TASK, "running", True, "", "search rebate", steps=4, tokens=8100)
WAITS = AgentRow("main/review-2", "review", "review cart.py", "queued")
DONE = AgentRow("main/verify-3", "verify", "run the tests", "completed", report=TOLD, steps=2, seconds=31.0)


def panel(*agents: AgentRow) -> events.PanelChanged:
    return events.PanelChanged("agents", tuple(PanelRow(one.id, one.phase, "", one) for one in agents))


def running() -> Scene:
    return Scene().start().says("look around").step(1).add(panel(RUNS, WAITS, DONE))


def of_agent(seq: int, event: events.Event, agent: str = "main/explore-1") -> Envelope:
    return Envelope(1, seq, 1.0, "s", "t1", agent, "", event)


def past(query: Query) -> Reply | None:
    if not isinstance(query, AgentEvents):
        return None
    call = ToolCall("x1", "search", {"pattern": "rebate"})
    rows = (
        of_agent(2, events.TurnStarted("t1", "", (Text("find the rebate"),))),
        of_agent(3, events.ToolCallStarted(call, "search", "search rebate")),
        of_agent(4, events.ToolCallFinished(ToolResult("x1", "search", "ok", "src/shop/cart.py:19"))),
    )
    return AgentEventRows(rows, 4)


async def opened(s: Seat) -> SubagentScreen:
    await s.press("f5", "enter")
    assert isinstance(s.app.screen, SubagentScreen)
    return s.app.screen


async def test_work_tells_of_each_and_those_that_run_come_first() -> None:
    async with seat(running()) as s:
        lines = s.screen.splitlines()
        assert "1 running  1 queued" in s.screen
        names = ("explore-1", "review-2", "verify-3")
        at = [next(n for n, line in enumerate(lines) if name in line) for name in names]
        assert at == sorted(at)
        assert "search rebate" in s.screen and "4 steps  8.1k" in s.screen
        assert TOLD in s.screen and "background" in s.screen


async def test_an_agent_opens_with_its_past_and_is_followed() -> None:
    scene = running()
    async with seat(scene, replies=past) as s:
        await opened(s)
        assert TASK in s.screen and "search rebate" in s.screen and "1 line" in s.screen
        await s.press("ctrl+o")
        assert "src/shop/cart.py:19" in s.screen
        message = events.MessageFinished("m9", AssistantMessage("It is in `Cart.total`.", (), "", "stop"))
        s.channel.play(replace(scene.envelopes[-1], seq=50, agent="main/explore-1", event=message))
        s.channel.play(replace(scene.envelopes[-1], seq=51, agent="main/other-9", event=message))
        await settled(s.app, s.pilot)
        assert s.screen.count("It is in") == 1


async def test_it_is_spoken_to_and_stopped_by_name() -> None:
    async with seat(running(), replies=past) as s:
        await opened(s)
        await s.type("only in src")
        await s.press("enter", "ctrl+x")
        sent = [op for op in s.ops if isinstance(op, ops.Steer | ops.Interrupt)]
        assert [(type(op), op.agent) for op in sent] == [
            (ops.Steer, "main/explore-1"),
            (ops.Interrupt, "main/explore-1"),
        ]
        await s.press("escape")
        assert not isinstance(s.app.screen, SubagentScreen)


async def test_a_finished_subagent_offers_to_continue() -> None:
    scene = Scene().start().says("x").step(1).add(panel(DONE))
    async with seat(scene, replies=past) as s:
        screen = await opened(s)
        assert "continues it" in s.screen and "stop it" not in s.screen
        assert screen._follower.agent == "main/verify-3"


async def test_an_unknown_subagent_is_reported() -> None:
    async with seat(running()) as s:
        await s.press("f5", "enter")
        assert not isinstance(s.app.screen, SubagentScreen)
        assert "cannot be opened" in s.screen


async def test_escape_twice_stops_background_agents_after_a_hint() -> None:
    scene = Scene().start().says("x").step(1).add(panel(RUNS)).ends()
    async with seat(scene) as s:
        await s.press("escape")
        assert "Esc again stops 1 agent" in s.screen and not s.ops
        await s.press("escape")
        assert [type(op).__name__ for op in s.ops] == ["Interrupt"] and len(s.app.screen_stack) == 1
