"""G11, as far as agents go today: a child's rights are a subset of its parent's, however deep."""

import random
from pathlib import Path
from typing import get_args

import pytest
from tests.support.decks import driving, script

from cockpit.core import planning
from cockpit.core.agent import Agent
from cockpit.core.judgement import Circumstances, judge
from cockpit.core.options import Options
from cockpit.core.rules import parse
from cockpit.core.session import Session
from cockpit.core.subagents.child import child_of
from cockpit.core.view import context_of
from cockpit.errors import CockpitError
from cockpit.plugin.context import PlanRefused
from cockpit.plugin.safety import Decider, Judged, Level, Verdict
from cockpit.plugin.tools import Capability, Done, Tool
from cockpit.plugin.values import Role
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import MODES, Kind, Mode, ToolCall

CASES = 400
DEPTH = 3
LEVELS: tuple[Level, ...] = ("allow", "ask", "deny")
STRICTER: tuple[Mode, ...] = ("full", "auto-edit", "ask", "plan", "deny")
TOOLS = ("read", "edit", "shell", "write", "search", "Bash")


def a_role(chance: random.Random) -> Role:
    tools = tuple(chance.sample(TOOLS, chance.randint(0, 4))) if chance.random() < 0.6 else None
    return Role("r", "", "", tools=tools, mode=chance.choice((None, *MODES)))


def a_tool(chance: random.Random) -> Tool:
    async def run(arguments: object, context: object) -> Done:
        return Done("")

    kind: Kind = chance.choice(get_args(Kind))
    capabilities = frozenset(chance.sample(get_args(Capability), chance.randint(1, 2)))
    return Tool("edit", kind, "", {"type": "object"}, capabilities, run, lambda arguments: "")


def a_verdict(chance: random.Random) -> Verdict:
    return Verdict(
        chance.choice(LEVELS),
        capabilities=frozenset(chance.sample(get_args(Capability), chance.randint(0, 2))),
        sandbox=chance.choice(("read", "build", None)),
        may_remember=chance.random() < 0.7,
        person_only=chance.random() < 0.2,
    )


async def level(agent: Agent, tool: Tool, verdict: Verdict, rules: tuple[Level, ...]) -> Level:
    async def decide(judged: Judged) -> Verdict:
        return verdict

    call = Judged(ToolCall("c", tool.name, {}), tool, None, context_of(agent))
    kept = tuple(parse(one, tool.name, "a test") for one in rules)
    now = Circumstances(agent.mode, is_held=True, is_planning=agent.is_planning)
    return (await judge(call, (Decider("one", decide),), kept, now)).level


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "ok"})))
    return root


@pytest.mark.parametrize("seed", range(3))
async def test_g11_a_childs_rights_are_a_subset_of_its_parents(scripted: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with driving(scripted, options=Options(model="scripted:script")) as driver:
        session = driver.channel
        assert isinstance(session, Session)
        for _ in range(CASES):
            session.host.mode = chance.choice(MODES)
            parent, opened = session.main, session.host.mode
            for depth in range(DEPTH):
                child = child_of(parent, f"{parent.path}/{depth}", a_role(chance))
                await _is_within(chance, parent, child)
                parent = child
            # The session's mode may change while they run: what was opened planning goes on so.
            session.host.mode = chance.choice(MODES)
            assert parent.is_planning or opened != "plan"
            assert STRICTER.index(parent.mode) >= STRICTER.index(session.host.mode)
        session.host.mode = "ask"


async def _is_within(chance: random.Random, parent: Agent, child: Agent) -> None:
    names = {tool.name for tool in parent.toolbox.tools()}
    assert {tool.name for tool in child.toolbox.tools()} <= names
    assert STRICTER.index(child.mode) >= STRICTER.index(parent.mode)
    assert child.is_planning or not parent.is_planning
    tool, verdict = a_tool(chance), a_verdict(chance)
    rules = tuple(chance.choice(LEVELS) for _ in range(chance.randint(0, 2)))
    own, above = await level(child, tool, verdict, rules), await level(parent, tool, verdict, rules)
    facts = (parent.mode, child.mode, tool.kind, tool.capabilities, verdict, rules)
    assert LEVELS.index(own) >= LEVELS.index(above), facts


async def test_a_subagent_proposes_no_plan_and_changes_no_mode(scripted: Path) -> None:
    async with driving(scripted, options=Options(model="scripted:script", mode="plan")) as driver:
        session = driver.channel
        assert isinstance(session, Session)
        child = child_of(session.main, "main/r-1", Role("r", "", ""))
        with pytest.raises(PlanRefused, match="subagent"):
            await planning.propose(child, "c", PlanChanged("go", "pending"))
        with pytest.raises(PlanRefused, match="subagent"):
            planning.enter(child, "")
        assert session.host.plan.state == "planning"


async def test_plan_mode_opens_no_agent_that_it_cannot_hold(scripted: Path) -> None:
    async with driving(scripted, options=Options(model="scripted:script", mode="plan")) as driver:
        session = driver.channel
        assert isinstance(session, Session)
        with pytest.raises(CockpitError, match="plan mode"):
            await session.main.agents.open("", "go", runner="elsewhere")
