"""A child's rights are a subset of its parent's, at any depth, for any roles, rules and modes."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.decks import driving, script

from cockpit.core.agent import plan_mode
from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.calls.call_permission import verdict_for
from cockpit.core.permission.rules import PermissionRule, parse_rule
from cockpit.core.permission.verdicts import Circumstances
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.core.subagents.child_agent import create_child
from cockpit.core.subagents.opener import AgentOpener
from cockpit.errors import CockpitError
from cockpit.plugin.agents import Quota
from cockpit.plugin.context import PlanRefused
from cockpit.plugin.safety import Decider, Judged, Level, Verdict
from cockpit.plugin.tools import Capability, Preview, Tool
from cockpit.plugin.values import Role
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import MODES, Mode, ToolCall

EXAMPLES = 300
DEPTH = 3
LEVELS: tuple[Level, ...] = ("allow", "ask", "deny")
STRICTER: tuple[Mode, ...] = ("full", "auto-edit", "ask", "plan", "deny")
ENTRIES = (
    "read",
    "Read",
    "edit",
    "Edit",
    "Write",
    "shell",
    "Bash",
    "Bash(git *)",
    "Bash(git diff *)",
    "Edit(src/**)",
    "mcp__*",
    "git",
    "search",
    "delegate",
    "Task(review)",
    "ask_user",
    "propose_plan",
    "Read(src/**)",
)
CALLED = (
    "read",
    "edit",
    "write",
    "shell",
    "git",
    "search",
    "delegate",
    "ask_user",
    "propose_plan",
    "job",
    "todo",
)
LINES = (("git", "diff", "HEAD"), ("git", "push"), ("rm", "-rf", "x"), ("ls",))
FILES = ("src/a.py", "b.py")
RULES = ("Bash(git *)", "Bash", "Edit(src/**)", "Read", "Write(b.py)", "Edit", "delegate")

entries = st.lists(st.sampled_from(ENTRIES), max_size=5).map(tuple)
roles = st.builds(
    lambda **fields: Role("r", "", "", **fields),
    tools=st.none() | entries,
    denied_tools=entries,
    mode=st.none() | st.sampled_from(MODES),
    mcp_servers=st.none() | st.just(("one",)),
    max_steps=st.integers(1, 200),
    quota=st.builds(Quota, tokens=st.none() | st.integers(1, 100)),
)
verdicts = st.builds(
    Verdict,
    st.sampled_from(LEVELS),
    capabilities=st.frozensets(st.sampled_from(get_args(Capability)), max_size=2),
    sandbox=st.sampled_from(("read", "build", None)),
    may_remember=st.booleans(),
    user_only=st.booleans(),
)
rules = st.lists(
    st.builds(
        lambda level, text: parse_rule(level, text, "a test"), st.sampled_from(LEVELS), st.sampled_from(RULES)
    ),
    max_size=3,
)
calls = st.tuples(st.sampled_from(CALLED), st.sampled_from(LINES), st.sampled_from(FILES))


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "ok"})))
    return root


@pytest.fixture
def opened(scripted: Path) -> Iterator[tuple[asyncio.Runner, AgentSession]]:
    """A session on a loop of its own, which the examples share."""
    with asyncio.Runner() as runner:
        deck = LocalDeck(RunOptions(model="scripted:script"))
        session = runner.run(deck.open(str(scripted)))
        assert isinstance(session, AgentSession)
        yield runner, session
        runner.run(deck.close())


def preview(tool: Tool, line: tuple[str, ...], path: str) -> Preview:
    return Preview("x", argv=(line,)) if tool.kind == "execute" else Preview("x", paths=(path,))


async def level(agent: Agent, tool: Tool, shown: Preview, verdict: Verdict) -> Level:
    """What becomes of a call: a tool that it does not have is denied."""
    if agent.toolbox.find(tool.name, {}) is None:
        return "deny"

    async def decide(judged: Judged) -> Verdict:
        return verdict

    judged = Judged(ToolCall("c", tool.name, {}), tool, shown, build_context(agent))
    now = Circumstances(agent.mode, is_held=True, is_planning=agent.is_planning)
    return (await verdict_for(agent, judged, (Decider("one", decide),), now)).level


def test_a_childs_rights_are_a_subset_of_its_parents(
    opened: tuple[asyncio.Runner, AgentSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, session = opened
    monkeypatch.setitem(session.services.settings.values["agents"], "depth", DEPTH)
    every = {tool.name: tool for tool in session.main.toolbox.tools()}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(
        mode=st.sampled_from(MODES),
        later=st.sampled_from(MODES),
        chain=st.lists(roles, min_size=DEPTH, max_size=DEPTH),
        background=st.booleans(),
        kept=rules,
        call=calls,
        verdict=verdicts,
    )
    def holds(
        mode: Mode,
        later: Mode,
        chain: list[Role],
        background: bool,
        kept: list[PermissionRule],
        call: tuple[str, tuple[str, ...], str],
        verdict: Verdict,
    ) -> None:
        session.state.mode, session.state.rules = mode, kept
        name, line, path = call
        tool = every[name]
        shown = preview(tool, line, f"{session.services.root}/{path}")
        agents = [session.main]
        for depth, role in enumerate(chain):
            agents.append(create_child(agents[-1], f"{agents[-1].path}/{depth}", role, background=background))
        for now in (mode, later):
            # The session's mode may change while they run: what was opened planning goes on so.
            session.state.mode = now
            levels = [runner.run(level(one, tool, shown, verdict)) for one in agents]
            for above, below in pairwise(levels):
                assert LEVELS.index(below) >= LEVELS.index(above), (levels, chain, call)
        for parent, child in pairwise(agents):
            _is_within(parent, child, mode)

    holds()
    session.state.mode, session.state.rules = "ask", []


def _is_within(parent: Agent, child: Agent, mode: Mode) -> None:
    names = {tool.name for tool in parent.toolbox.tools()}
    assert {tool.name for tool in child.toolbox.tools()} <= names
    assert "propose_plan" not in {tool.name for tool in child.toolbox.tools()}
    assert STRICTER.index(child.mode) >= STRICTER.index(parent.mode)
    assert child.is_planning or not parent.is_planning
    assert child.is_planning or mode != "plan"
    left, above = child.budget.left(), parent.budget.left()
    assert all(left[name] <= above[name] + 0.001 for name in above)


@pytest.mark.parametrize(
    ("fields", "called", "line", "expected"),
    [
        ({"tools": ("Bash(git diff *)",)}, "shell", ("git", "diff"), "allow"),
        ({"tools": ("Bash(git diff *)",)}, "shell", ("git", "push"), "deny"),
        ({"tools": ("Bash(git diff *)", "Bash")}, "shell", ("git", "push"), "allow"),
        ({"denied_tools": ("Bash(git push *)",)}, "shell", ("git", "push", "-f"), "deny"),
        ({"denied_tools": ("Bash(git push *)",)}, "shell", ("ls",), "allow"),
        ({"denied_tools": ("Edit",)}, "write", (), "deny"),
        ({"tools": ("Edit",)}, "write", (), "deny"),
        ({"tools": ("Read(src/**)",)}, "read", (), "deny"),
    ],
)
async def test_a_list_may_mean_some_calls_of_a_tool(
    scripted: Path,
    fields: dict[str, tuple[str, ...]],
    called: str,
    line: tuple[str, ...],
    expected: Level,
) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        child = create_child(session.main, "main/r-1", Role("r", "", "", **fields))
        tool = next(one for one in session.main.toolbox.tools() if one.name == called)
        shown = preview(tool, line, f"{scripted}/b.py")
        assert await level(child, tool, shown, Verdict("allow")) == expected
        assert await level(session.main, tool, shown, Verdict("allow")) == "allow"


async def test_a_file_a_role_must_not_read_is_hidden_from_all_its_tools(scripted: Path) -> None:
    (scripted / "secret.txt").write_text("the word is zebra\n", encoding="utf-8")
    async with driving(scripted, options=RunOptions(model="scripted:script")) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        child = create_child(session.main, "main/r-1", Role("r", "", "", denied_tools=("Read(secret.txt)",)))
        with pytest.raises(CockpitError, match="denies it"):
            await build_context(child).workspace.files.read("secret.txt")
        assert b"zebra" in await build_context(session.main).workspace.files.read("secret.txt")


async def test_a_list_of_agents_limits_which_roles_can_be_opened(
    scripted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script")) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        monkeypatch.setitem(session.services.settings.values["agents"], "depth", DEPTH)
        child = create_child(session.main, "main/r-1", Role("r", "", "", tools=("Task(explore)", "Read")))
        agents = AgentOpener(child, session.pool)
        assert [one.name for one in agents.roles()] == ["explore"]
        with pytest.raises(CockpitError, match="may open only explore"):
            await agents.open("implement", "go")
        opened = await agents.open("Explore", "look")
        grandchild = session.pool.find(opened.id).agent
        assert grandchild is not None and {one.name for one in grandchild.toolbox.tools()} == {
            "read",
            "read_result",
        }


async def test_a_subagent_proposes_no_plan_and_changes_no_mode(scripted: Path) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="plan")) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        child = create_child(session.main, "main/r-1", Role("r", "", ""))
        with pytest.raises(PlanRefused, match="subagent"):
            await plan_mode.AgentPlans(child).propose(PlanChanged("go", "pending"), "c")
        with pytest.raises(PlanRefused, match="subagent"):
            plan_mode.AgentPlans(child).enter("")
        assert session.state.plan.state == "planning"


@pytest.mark.parametrize("how", [{"runner": "elsewhere"}, {"isolation": "worktree"}])
async def test_plan_mode_opens_no_agent_that_it_cannot_restrict(scripted: Path, how: dict[str, str]) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="plan")) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        open_: Callable[..., object] = session.main.agents.open
        with pytest.raises(CockpitError, match="plan mode"):
            await open_("", "go", **how)
