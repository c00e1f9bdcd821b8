"""`context: fork`: the skill is a subagent's task, and its report comes back."""

from tests.support.decks import call, driving, script
from tests.support.skills import House

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import Noticed, ToolCallFinished, Warned

FULL = RunOptions(model="spy:script", trust=True, mode="full")
USE = call("use_skill", name="survey", arguments="parsers")


async def test_it_runs_in_a_subagent_and_its_report_is_the_result(house: House) -> None:
    house.skill("survey", "Survey the $ARGUMENTS here.", context="fork", agent="scout")
    house.file(".claude/agents/scout.md", "---\nname: scout\ndescription: D\n---\nYou are the scout.\n")
    script(
        house.root.parent,
        {"calls": [USE]},
        {"text": "Thanks."},
        **{"Survey the parsers": [{"calls": [call("list")]}, {"text": "There are three parsers."}]},
    )
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        result = driver.all(ToolCallFinished)[-1].result
        agents = {one.agent for one in driver.seen}
    assert result.name == "use_skill" and "There are three parsers." in result.text
    assert any(agent.startswith("main/survey") for agent in agents)
    main, child, *_ = house.requests()
    assert "You are the scout." in child["system"] and len(child["messages"]) == 1
    assert "Survey the parsers here." in str(child["messages"][0])
    assert "go" not in [part.get("text") for part in child["messages"][0]["content"]]
    assert "Survey the" not in str(main["messages"])


async def test_its_tools_are_held_in_the_subagent(house: House) -> None:
    house.skill("survey", "Survey it.", context="fork", allowed_tools="Read, Bash(git *)")
    calls = [
        call("shell", command="git --version"),
        call("shell", command="touch x"),
        call("write", path="x", content="y"),
    ]
    script(
        house.root.parent,
        {"calls": [USE]},
        {"calls": [call("write", path="mine", content="y")]},
        {"text": "Thanks."},
        **{"Survey it": [*({"calls": [one]} for one in calls), {"text": "Done."}]},
    )
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        results = [(one.result.name, one.result.outcome) for one in driver.all(ToolCallFinished)]
    shells = [outcome for name, outcome in results if name == "shell"]
    writes = [outcome for name, outcome in results if name == "write"]
    assert shells == ["ok", "denied"] and writes[-1] == "ok" and "ok" not in writes[:-1]
    assert not (house.root / "x").exists() and (house.root / "mine").exists()
    child = house.requests()[1]
    assert "write" not in child["tools"] and "read" in child["tools"] and "shell" in child["tools"]


async def test_by_slash_its_report_is_shown(house: House) -> None:
    house.skill("survey", "Survey the $ARGUMENTS here.", context="fork")
    script(
        house.root.parent,
        {"text": "main"},
        {"text": "main"},
        **{"Survey the parsers": [{"text": "Three parsers."}]},
    )
    async with driving(house.root, options=FULL) as driver:
        await driver.invoke("survey", text="parsers")
        shown = await driver.next(Noticed)
        await driver.prompt("and now?")
        await driver.prompt("and then?")
    assert "Three parsers." in str(shown.content)
    *_, second, third = house.requests()
    assert (
        str(second["messages"]).count("Three parsers.") == str(third["messages"]).count("Three parsers.") == 1
    )


async def test_in_the_background_the_turn_goes_on(house: House) -> None:
    house.skill("survey", "Survey the $ARGUMENTS here.", context="fork", background="true")
    gate = house.root.parent / "gate"
    script(
        house.root.parent,
        {"calls": [USE]},
        {"text": "Meanwhile."},
        **{"Survey the parsers": [{"text": "Three parsers.", "gate": gate.name}]},
    )
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        result = driver.all(ToolCallFinished)[0].result
        gate.touch()
        await driver.until(lambda one: one.agent.startswith("main/") and "Three parsers." in repr(one.event))
    assert result.outcome == "ok" and "in the background" in result.text


async def test_its_model_is_the_subagents(house: House) -> None:
    mine = str(house.home / ".claude")
    house.skill("survey", "Survey it.", base=mine, context="fork", model="spy:other")
    script(house.root.parent, {"calls": [USE]}, {"text": "done"}, **{"Survey it": [{"text": "Three."}]})
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
    models = [one["model"] for one in house.requests()]
    assert models == ["script", "other", "script"]


async def test_a_role_that_nobody_knows_is_told(house: House) -> None:
    role = "nobody-knows"
    house.skill("survey", context="fork", agent=role)
    script(house.root.parent, {"calls": [USE]}, {"text": "done"})
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        result = driver.all(ToolCallFinished)[-1].result
        await driver.invoke("survey", text="")
        await driver.until(lambda one: isinstance(one.event, Warned) and role in one.event.text)
    assert result.is_error and role in result.text
