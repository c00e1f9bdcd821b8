"""Subagents in a session: their rights, depth, queue, cancellation, waiting, reports and limits."""

import json
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, distribution, driving, script
from tests.support.survivors import running

from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.errors import CockpitError
from cockpit.plugin.agents import Quota, Role
from cockpit.protocol.content import Text
from cockpit.protocol.events import (
    ApprovalRequested,
    MessageFinished,
    Noticed,
    PanelChanged,
    ToolCallFinished,
    ToolCallProgressed,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from cockpit.protocol.messages import AssistantMessage, Json, UserMessage
from cockpit.protocol.ops import Interrupt, Steer
from cockpit.protocol.queries import AgentEventRows, AgentEvents, Complete, Completions
from cockpit.protocol.rows import AgentChanged

EAR = """
import json
from cockpit.plugin import hookimpl
from cockpit.plugin.models import *
from cockpit.protocol.content import plain_text
from cockpit.protocol.messages import AssistantMessage, UserMessage

@hookimpl
def register_models(register, scope):
    async def stream(request):
        texts = [plain_text(one.content) if isinstance(one, UserMessage) else type(one).__name__
                 for one in request.messages]
        names = [one.name for one in request.tools]
        row = {"system": request.system, "messages": texts, "tools": names, "reminder": request.reminder,
               "bytes": json.dumps([[t.name, t.description, dict(t.parameters)] for t in request.tools])}
        with open({LOG!r}, "a") as log:
            log.write(json.dumps(row) + "\\n")
        if texts[0].startswith("go") and len(texts) == 1:
            yield CallPart(0, "c1", "delegate", json.dumps({"role": "scout", "task": "find the answer"}))
            yield FinishPart("tool_calls")
        else:
            yield TextPart("SUMMARY: " + "x" * 5000)
            yield FinishPart("stop")
    async def models():
        return ("ear",)
    register(Model("ear", stream, models, facts=lambda id: ModelFacts({WINDOW}), default="ear", priced=False))
"""


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.py").write_text("one = 1\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def settings(home: Path, text: str) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    from cockpit import paths

    paths.config().mkdir(parents=True, exist_ok=True)
    (paths.config() / "settings.toml").write_text(text, encoding="utf-8")


def role(root: Path, name: str, fields: str = "", body: str = "You scout.") -> None:
    folder = root / ".cockpit" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: For {name}.\n{fields}---\n{body}\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


TRUSTING = RunOptions(model="scripted:script", trust=True)


async def became(driver: Driver, name: str, phase: str) -> None:
    await driver.until(
        lambda one: (
            isinstance(one.event, AgentChanged)
            and one.event.agent.id.endswith(name)
            and one.event.agent.phase == phase
        )
    )


def results(driver: Driver, agent: str = "main") -> list[str]:
    return [
        one.event.result.text
        for one in driver.seen
        if one.agent == agent and isinstance(one.event, ToolCallFinished)
    ]


def answers(driver: Driver, agent: str = "main") -> list[str]:
    return [
        one.event.message.text
        for one in driver.seen
        if one.agent == agent
        and isinstance(one.event, MessageFinished)
        and isinstance(one.event.message, AssistantMessage)
    ]


def phases(driver: Driver, id: str) -> list[str]:
    return [one.agent.phase for one in driver.all(AgentChanged) if one.agent.id == id]


def ear(plugins: Path, log: Path, window: int = 128_000) -> None:
    distribution(plugins, "ear", EAR.replace("{LOG!r}", repr(str(log))).replace("{WINDOW}", str(window)))


async def test_a_child_is_sent_its_system_message_and_its_task_alone(root: Path, plugins: Path) -> None:
    log = root.parent / "requests"
    ear(plugins, log)
    role(root, "scout", "tools: Read, Grep\n")
    async with driving(root, options=RunOptions(model="ear:ear", trust=True)) as driver:
        await driver.prompt("go and see")
    main, child, *_ = [json.loads(line) for line in log.read_text().splitlines()]
    assert child["messages"] == ["find the answer"] and child["reminder"] == ""
    assert "You scout." in child["system"] and "go and see" not in json.dumps(child)
    assert child["tools"] == ["read", "read_result", "search"]
    assert "scout: For scout." in main["reminder"] and "scout" not in main["bytes"]


async def test_a_small_window_caps_the_body_the_report_and_the_instructions(
    root: Path, plugins: Path
) -> None:
    log = root.parent / "requests"
    ear(plugins, log, window=16_000)
    role(root, "scout", "tools: Read\nmaxTurns: 60\n", "Word. " * 1_000)
    async with driving(root, options=RunOptions(model="ear:ear", trust=True)) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        await driver.prompt("go")
        agent = session.pool.agents()[0]
        assert agent.max_history == min(8_000, int(0.3 * 16_000)) and agent.budget.limits.steps == 15
        assert agent.role is not None and len(agent.role.instructions) < 1_800
    told = results(driver)[0]
    assert len(told) < 2_000 and "read_result" in told


async def test_a_tool_that_is_not_listed_is_not_run_and_the_denial_is_in_the_childs_transcript(
    scripted: Path,
) -> None:
    role(scripted, "scout", "tools: [Read]\n")
    script(
        scripted.parent,
        {"calls": [call("delegate", role="scout", task="try it")]},
        {"text": "over"},
        **{
            "try it": [
                {"calls": [call("write", path="b.py", content="x"), call("read", path="a.py")]},
                {"text": "no"},
            ]
        },
    )
    async with driving(
        scripted, options=RunOptions(model="scripted:script", trust=True, mode="full")
    ) as driver:
        await driver.prompt("go")
        child = [
            one.event.result
            for one in driver.seen
            if one.agent == "main/scout-1" and isinstance(one.event, ToolCallFinished)
        ]
        reply = await driver.channel.ask(AgentEvents("scout-1"))
    assert [one.outcome for one in child] == ["denied", "ok"] and "scout has only Read" in child[0].text
    assert not (scripted / "b.py").exists()
    assert isinstance(reply, AgentEventRows)
    kept = [one.event.result.outcome for one in reply.rows if isinstance(one.event, ToolCallFinished)]
    assert kept == ["denied", "ok"]


async def test_an_empty_list_means_no_tools_and_an_unknown_tool_is_an_error(scripted: Path) -> None:
    role(scripted, "bare", "tools: []\n")
    role(scripted, "wrong", "tools: [Read, Serch]\n")
    async with driving(scripted, options=TRUSTING) as driver:
        script(scripted.parent, {"text": "hi"})
        session = driver.channel
        assert isinstance(session, AgentSession)
        await session.main.agents.open("bare", "look")
        assert session.pool.agents()[0].toolbox.tools() == ()
        with pytest.raises(CockpitError, match=r"Serch.*search"):
            await session.main.agents.open("wrong", "look")
        with pytest.raises(CockpitError, match=r"exploer.*explore"):
            await session.main.agents.open("exploer", "look")


async def test_a_project_role_hides_the_built_in_role_of_its_name_or_alias(scripted: Path) -> None:
    role(scripted, "review", body="Mine.")
    role(scripted, "coder", body="Also mine.")
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted, options=TRUSTING) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        assert session.main.agents.role("review").instructions.strip() == "Mine."
        assert session.main.agents.role("reviewer").instructions.strip() == "Mine."
        assert session.main.agents.role("coder").instructions.strip() == "Also mine."
        entry = session.services.catalog.by_hook["register_roles"]["review"]
        assert entry.layer == "project" and entry.shadows == "built-in (roles)"
    async with driving(scripted, options=RunOptions(model="scripted:script", trust=False)) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        assert "Mine" not in session.main.agents.role("review").instructions


async def test_a_child_opens_no_agents_unless_settings_allow_it(scripted: Path, home: Path) -> None:
    inner = [{"calls": [call("delegate", role="general", task="third")]}, {"text": "tried"}]
    script(
        scripted.parent,
        {"calls": [call("delegate", task="second")]},
        {"text": "over"},
        third=[{"text": "I am deep"}],
        second=inner,
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
        denied = [
            one.event.result
            for one in driver.seen
            if one.agent == "main/general-1" and isinstance(one.event, ToolCallFinished)
        ]
        assert [one.outcome for one in denied] == ["denied"] and "agents.depth" in denied[0].text
        session = driver.channel
        assert isinstance(session, AgentSession)
        child = session.pool.agents()[0]
        with pytest.raises(CockpitError, match="1 deep"):
            await child.agents.open("", "more")
    settings(home, "[agents]\ndepth = 2\nlimit = 1\n")
    async with driving(scripted) as driver:
        await driver.prompt("go")
        ids = {one.agent.id for one in driver.all(AgentChanged)}
        assert ids == {"main/general-1", "main/general-1/general-1"}
        assert "I am deep" in results(driver, "main/general-1")[0]


async def test_six_tasks_with_a_cap_of_three_run_three_and_queue_three(scripted: Path, home: Path) -> None:
    settings(home, "[agents]\nlimit = 3\n")
    others = {f"task {n}$": [{"text": f"done {n}", "gate": f"gate{n}"}] for n in range(6)}
    script(
        scripted.parent,
        {"calls": [call("delegate", task=f"task {n}") for n in range(6)]},
        {"text": "over"},
        **others,
    )
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        panel = await driver.until(
            lambda one: (
                isinstance(one.event, PanelChanged)
                and one.event.panel == "agents"
                and len(one.event.rows) == 6
            )
        )
        assert isinstance(panel.event, PanelChanged)
        assert [row.state for row in panel.event.rows] == ["running"] * 3 + ["queued"] * 3
        first = [row.agent.task for row in panel.event.rows if row.agent is not None]
        (scripted.parent / f"gate{first[1][-1]}").touch()
        await became(driver, "general-4", "running")
        states = {one.agent.id[-1]: one.agent.phase for one in driver.all(AgentChanged)}
        assert states == {
            "1": "running",
            "2": "completed",
            "3": "running",
            "4": "running",
            "5": "queued",
            "6": "queued",
        }
        for n in range(6):
            (scripted.parent / f"gate{n}").touch()
        await driver.end(turn)
    order = [one.agent.id[-1] for one in driver.all(AgentChanged) if one.agent.phase == "running"]
    assert order == ["1", "2", "3", "4", "5", "6"]
    assert [text.split("\n")[1] for text in results(driver)] == [f"done {n}" for n in range(6)]


async def test_cancelling_ends_queued_agents_and_running_ones_with_their_processes(
    scripted: Path, home: Path
) -> None:
    settings(home, "[agents]\nlimit = 1\n")
    word = "sleep 29753"
    command = f"echo begun; {word}"
    script(
        scripted.parent,
        {"calls": [call("delegate", task="sleeper", background=True)]},
        {"calls": [call("delegate", task="waiter", background=True)]},
        {"text": "over"},
        sleeper=[{"calls": [call("shell", command=command, seconds=200)]}, {"text": "woke"}],
        waiter=[{"text": "never"}],
    )
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("go")
        await driver.until(
            lambda one: isinstance(one.event, ToolCallProgressed) and "begun" in one.event.text
        )
        assert running("29753") or not Path("/proc").exists()
        session = driver.channel
        assert isinstance(session, AgentSession)
        await session.main.agents.find("general-2").cancel()
        assert "running" not in phases(driver, "main/general-2")
        assert session.main.agents.all()[1].phase == "cancelled"
        await driver.channel.submit(Interrupt("i1", "tui", "main/general-1"))
        await became(driver, "general-1", "cancelled")
        assert not running("29753")
        report = await session.main.agents.find("general-1").wait()
        assert report.stop_reason == "cancelled"


async def test_background_jobs_of_a_subagent_end_with_it(scripted: Path) -> None:
    start = call("shell", command="sleep 29754", background=True)
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra", background=True)]},
        {"text": "over"},
        zebra=[{"calls": [start]}, {"text": "x", "gate": "never"}],
    )
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("go")
        await driver.until(
            lambda one: one.agent == "main/general-1" and isinstance(one.event, ToolCallFinished)
        )
        session = driver.channel
        assert isinstance(session, AgentSession)
        [job] = session.services.home.workspace.processes.jobs()
        assert job.running
        await session.main.agents.find("general-1").cancel()
        [job] = session.services.home.workspace.processes.jobs()
        assert not job.running


async def test_an_interrupt_ends_awaited_agents_and_a_second_background_ones(
    scripted: Path,
) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="behind", background=True)]},
        {"calls": [call("delegate", task="in front")]},
        {"text": "over"},
        **{"in front": [{"text": "x", "gate": "never"}], "behind": [{"text": "y", "gate": "never"}]},
    )
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.until(lambda one: one.agent == "main/general-2" and isinstance(one.event, TurnStarted))
        await driver.interrupt()
        assert (await driver.end(turn)).stop_reason == "cancelled"
        assert phases(driver, "main/general-2")[-1] == "cancelled"
        assert phases(driver, "main/general-1")[-1] == "running"
        await driver.interrupt()
        await became(driver, "general-1", "cancelled")


async def test_steering_reaches_the_next_step_and_continues_an_ended_agent(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="listen", background=True)]},
        {"text": "over"},
        listen=[{"calls": [call("read", path="a.py")], "gate": "go"}, {"text": "first"}, {"text": "second"}],
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
        session = driver.channel
        assert isinstance(session, AgentSession)
        member = session.pool.find("general-1")
        assert member.agent is not None
        await session.main.agents.find("general-1").send("to the left")
        (scripted.parent / "go").touch()
        assert (await member.wait()).text == "first"
        said = [
            one.event.message
            for one in driver.seen
            if one.agent == member.id and isinstance(one.event, MessageFinished)
        ]
        assert UserMessage((Text("to the left"),)) in said
        await driver.channel.submit(Steer("s2", "tui", (Text("and on"),), "general-1"))
        await driver.until(
            lambda one: isinstance(one.event, AgentChanged) and one.event.agent.report == "second"
        )
        assert len(member.agent.history.entries) == 7


async def test_waiting_has_a_deadline_and_delays_nothing_else(scripted: Path) -> None:
    others: dict[str, list[dict[str, Json]]] = {
        f"task {n}$": [{"text": "x", "gate": "open"}] for n in range(3)
    }
    waits = [call("agents", action="wait", id=f"general-{n}", seconds=0.05) for n in (1, 2, 3)]
    script(
        scripted.parent,
        {"calls": [call("delegate", task=f"task {n}", background=True) for n in range(3)]},
        {"calls": waits},
        {"calls": [call("agent_eval", agent_id="main/general-1", block=True, timeout_ms=20_000)]},
        {"text": "over"},
        **others,
    )
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.until(
            lambda one: (
                isinstance(one.event, ToolCallFinished)
                and "none has ended within 0.05 s" in one.event.result.text
            )
        )
        typed = await driver.run_tool("read", path="a.py")
        await driver.until(
            lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.call == typed
        )
        (scripted.parent / "open").touch()
        assert (await driver.end(turn)).stop_reason == "end_turn"
    assert "completed" in results(driver)[-1]


async def test_the_end_of_a_background_agent_is_reported_once_at_the_next_step(
    scripted: Path,
) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra", background=True)]},
        {"text": "meanwhile"},
        {"text": "now I know"},
        zebra=[{"text": "SUMMARY: 42", "gate": "go"}],
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
        (scripted.parent / "go").touch()
        await became(driver, "general-1", "completed")
        assert (
            len([one for one in driver.seen if one.agent == "main" and isinstance(one.event, TurnStarted)])
            == 1
        )
        await driver.prompt("and?")
        await driver.prompt("more")
    told = [
        one
        for one in driver.all(MessageFinished)
        if isinstance(one.message, UserMessage) and "SUMMARY: 42" in str(one.message)
    ]
    assert len(told) == 1 and told[0].id.startswith("agent:main/general-1:")


async def test_settings_may_let_it_begin_a_turn(scripted: Path, home: Path) -> None:
    settings(home, '[agents]\nfollow_up = "idle"\n')
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra", background=True)]},
        {"text": "meanwhile"},
        {"text": "I took it up"},
        zebra=[{"text": "SUMMARY: 42", "gate": "go"}],
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
        (scripted.parent / "go").touch()
        await driver.until(
            lambda one: (
                isinstance(one.event, MessageFinished)
                and isinstance(one.event.message, AssistantMessage)
                and one.event.message.text == "I took it up"
            )
        )


async def test_without_a_user_the_turn_waits_for_background_agents(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra", background=True)]},
        {"text": "meanwhile"},
        {"text": "it said 42"},
        zebra=[{"text": "SUMMARY: 42", "delay_ms": 20, "chunks": 3}],
    )
    async with driving(scripted, options=RunOptions(model="scripted:script", someone=False)) as driver:
        await driver.prompt("go")
    texts = [
        one.message.text for one in driver.all(MessageFinished) if isinstance(one.message, AssistantMessage)
    ]
    assert texts[-1] == "it said 42"


async def test_the_same_task_is_not_opened_twice_until_something_was_changed(scripted: Path) -> None:
    look = call("delegate", role="explore", task="Find  the one")
    again = call("delegate", role="Explore", task="find the ONE")
    script(
        scripted.parent,
        {"calls": [look, again]},
        {"calls": [again]},
        {"calls": [call("write", path="b.py", content="x")]},
        {"calls": [again]},
        {"text": "over"},
        **{"(?i)find +the one": [{"text": "SUMMARY: a.py:1", "delay_ms": 10, "chunks": 2}]},
    )
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("go")
    ids = sorted({one.agent.id for one in driver.all(AgentChanged)})
    assert ids == ["main/explore-1", "main/explore-2"]
    texts = results(driver)
    assert [text.startswith("main/explore-1 has this task already") for text in texts[2:]] == [
        True,
        False,
        False,
    ]
    assert sorted(text.startswith("main/explore-1 has") for text in texts[:2]) == [False, True]
    assert all("a.py:1" in text for text in (*texts[:3], texts[4]))


async def test_the_bytes_of_the_tools_stay_the_same_when_roles_and_agents_come(
    root: Path, plugins: Path
) -> None:
    log = root.parent / "requests"
    ear(plugins, log)
    role(root, "scout")
    options = RunOptions(model="ear:ear", trust=True)
    async with driving(root, options=options) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        before = session.main.toolbox.fingerprint()
        await driver.prompt("go")
        role(root, "another")
        await session.reload(session, True, False)
        await driver.prompt("what now")
        assert session.main.toolbox.fingerprint() == before
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    main = [row for row in rows if "delegate" in row["tools"]]
    assert len({row["bytes"] for row in main}) == 1 and len({row["system"] for row in main}) == 1
    assert "another" not in main[0]["reminder"] and "another" in main[-1]["reminder"]


async def test_a_failing_child_is_a_report_and_the_parent_continues(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="break")]},
        {"text": "I saw it fail"},
        **{"break": [{"text": "half", "fault": {"fault": "bad_request", "message": "no such thing"}}]},
    )
    async with driving(scripted) as driver:
        assert (await driver.prompt("go")).stop_reason == "end_turn"
    assert "failed" in results(driver)[0] and phases(driver, "main/general-1")[-1] == "failed"


async def test_the_smallest_quota_of_role_call_and_settings_applies(scripted: Path, home: Path) -> None:
    settings(home, "[agents]\nsteps = 4\ntokens = 1000\n")
    role(scripted, "long", "maxTurns: 3\n")
    step = {"calls": [call("read", path="a.py")], "usage": {"input": 300, "output": 10}}
    looping = [{**step, "calls": [call("read", path="a.py", offset=n)]} for n in range(1, 9)]
    script(scripted.parent, {"text": "hi"}, count=looping)
    async with driving(scripted, options=TRUSTING) as driver:
        session = driver.channel
        assert isinstance(session, AgentSession)
        open_ = session.main.agents.open
        by_role = await (await open_("long", "count")).wait()
        by_call = await (await open_("long", "count again", quota=Quota(steps=2))).wait()
        by_tokens = await (await open_("general", "count more")).wait()
        given = Role("own", "", "x", max_steps=50)
        by_settings = await (await open_(given, "count", quota=Quota(tokens=100_000))).wait()
    assert (by_role.steps, by_call.steps) == (3, 2) and "3 steps" in by_role.text
    assert by_tokens.stop_reason == "max_turn_requests" and "tokens" in by_tokens.text
    assert by_settings.steps == 4


async def test_the_parents_budget_applies_to_its_children(scripted: Path) -> None:
    from cockpit.core.agent.turn_limits import TurnLimits

    script(
        scripted.parent,
        {"calls": [call("delegate", task="spend")], "usage": {"input": 10, "output": 1}},
        {"text": "over"},
        spend=[
            {"calls": [call("read", path="a.py")], "usage": {"input": 900, "output": 0}},
            {"text": "x", "usage": {"input": 900, "output": 0}},
            {"text": "y"},
        ],
    )
    options = RunOptions(model="scripted:script", limits=TurnLimits(tokens=800))
    async with driving(scripted, options=options) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "tokens")
    child = [
        one.event
        for one in driver.seen
        if one.agent == "main/general-1" and isinstance(one.event, TurnFinished)
    ]
    assert child[0].limit == "tokens" and len(child) == 1


async def test_an_approval_asked_by_a_child_names_it_and_counts_for_the_session(scripted: Path) -> None:
    write = call("write", path="b.py", content="x")
    script(
        scripted.parent,
        {"calls": [call("delegate", task="change it")]},
        {"text": "over"},
        **{
            "change it": [
                {"calls": [write]},
                {"calls": [call("write", path="c.py", content="x")]},
                {"text": "done"},
            ]
        },
    )
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        assert request.agent == "main/general-1"
        await driver.decide(request.id, "allow_session")
        await driver.end(turn)
    assert (scripted / "b.py").exists() and (scripted / "c.py").exists()
    assert len(driver.all(ApprovalRequested)) == 1


async def test_at_role_gives_the_users_task_to_it_without_the_model(scripted: Path) -> None:
    script(
        scripted.parent, {"text": "the model was asked"}, **{"look at x": [{"text": "SUMMARY: x is fine"}]}
    )
    async with driving(scripted) as driver:
        ended = await driver.prompt("@reviewer look at x")
        assert ended.stop_reason == "end_turn"
        assert answers(driver) == ["SUMMARY: x is fine"]
        assert phases(driver, "main/review-1") == ["queued", "running", "completed"]
        await driver.prompt("@nobody look at x")
        reply = await driver.channel.ask(Complete("@", "@rev", 4))
        await driver.invoke("agent", text="explore look at x too")
        await became(driver, "explore-2", "completed")
        await driver.invoke("agents", text="")
        shown = await driver.until(
            lambda one: isinstance(one.event, Noticed) and one.event.data.get("command") == "agents"
        )
    assert isinstance(reply, Completions) and "@review " in [row.insert for row in reply.rows]
    assert "main/review-1" in str(shown.event) and "main/explore-2" in str(shown.event)


async def test_other_agents_names_for_the_tools_are_understood(scripted: Path) -> None:
    script(
        scripted.parent,
        {
            "calls": [
                call("Task", description="d", prompt="zebra", subagent_type="Explore", run_in_background=True)
            ]
        },
        {
            "calls": [
                call("agent_eval", agent_id="explore-1", timeout_ms=20_000),
                call("agent_status", id="explore-1"),
            ]
        },
        {
            "calls": [
                call("spawn_agent", agent_type="researcher", message="quagga"),
                call("agent_list"),
                call("agent_transcript", agent_id="explore-1", cursor=0, limit=5),
            ]
        },
        {"calls": [call("agent_close", agent_id="explore-1")]},
        {"text": "over"},
        zebra=[{"text": "SEEN"}],
        quagga=[{"text": "DUG"}],
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
    texts = results(driver)
    assert "explore-1" in texts[0] and "SEEN" in texts[1] and "SEEN" in texts[2]
    assert "DUG" in texts[3] and "main/explore-1" in texts[4] and "says: SEEN" in texts[5]
    assert all(one.result.outcome == "ok" for one in driver.all(ToolCallFinished))
    names = {one.call.name for one in driver.all(ToolCallStarted)}
    assert names == {"delegate", "agents"}
