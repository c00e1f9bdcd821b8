"""A skill in force: what it allows and forbids, from when to when, and for whom."""

from collections.abc import Mapping

import pytest
from tests.support.decks import Driver, call, driving, script
from tests.support.skills import House

from cockpit.builtin.files.skills.state import SKILL_SESSIONS, SkillSessions
from cockpit.builtin.files.skills.tool_patterns import matches_tool
from cockpit.core.session.options import RunOptions
from cockpit.plugin.tools import Alias, Done, Tool
from cockpit.plugin.values import Skill
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json, Kind

FULL = RunOptions(model="spy:script", trust=True, mode="full")
Call = Mapping[str, Json]


async def outcomes(driver: Driver) -> list[tuple[str, str]]:
    return [(one.result.name, one.result.outcome) for one in driver.all(ToolCallFinished)]


async def last_of(house: House, *calls: Call) -> tuple[str, str]:
    """The outcome and text of the last of `calls`, each made in a step of its own."""
    script(house.root.parent, *({"calls": [one]} for one in calls), {"text": "done"})
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        result = driver.all(ToolCallFinished)[-1].result
    return result.outcome, result.text


USE = call("use_skill", name="tight")
GIT = "Bash(git *), Read"


@pytest.mark.parametrize(
    ("allowed", "made", "runs"),
    [
        (GIT, call("shell", command="git status"), True),
        (GIT, call("Bash", command="git status"), True),
        (GIT, call("shell", command="git status | git hash-object --stdin"), True),
        (GIT, call("shell", command="git status && touch x"), False),
        (GIT, call("shell", command="git log $(touch x)"), False),
        (GIT, call("shell", command="touch x"), False),
        (GIT, call("shell", command="gitk"), False),
        (GIT, call("read", path="src/a.py"), True),
        (GIT, call("search", pattern="one"), True),
        (GIT, call("write", path="x", content="y"), False),
        (GIT, call("delegate", role="general", task="touch x"), False),
        ("Bash(npm run:*)", call("shell", command="touch x"), False),
        ("Bash", call("shell", command="touch x"), True),
        ("Edit(src/**)", call("write", path="src/x", content="y"), True),
        ("Edit(src/**)", call("write", path="x", content="y"), False),
        ("Edit(src/**)", call("edit", path="src/../a.txt", old="ONE", new="y"), False),
        ("Edit(src/**)", call("read", path="src/a.py"), False),
        ("Grep", call("search", pattern="one"), True),
        ("Grep", call("read", path="src/a.py"), False),
        ("Skill(review)", call("read", path="src/a.py"), False),
        ("[]", call("read", path="src/a.py"), False),
        ("[]", call("todo", rows=[{"text": "a"}]), True),
        ("Read", call("use_skill", name="review"), True),
        ("Read", call("tool_search", query="git"), True),
    ],
)
async def test_only_what_is_allowed_runs(house: House, allowed: str, made: Call, runs: bool) -> None:
    house.file("src/a.py", "one = 1\n")
    house.file("a.txt", "ONE")
    house.skill("tight", allowed_tools=allowed)
    outcome, text = await last_of(house, USE, made)
    assert (outcome != "denied") == runs, text
    assert runs or ("the skill tight allows only" in text and "skill-tools" in text)
    assert not (house.root / "x").exists() or runs


@pytest.mark.parametrize(
    ("denied", "made", "runs"),
    [
        ("Bash(rm *)", call("shell", command="ls && rm a.txt"), False),
        ("Bash(rm *)", call("shell", command="$(echo rm) a.txt"), False),
        ("Bash(rm *)", call("shell", command="ls"), True),
        ("Edit(src/**)", call("write", path="src/x", content="y"), False),
        ("Edit(src/**)", call("write", path="x", content="y"), True),
        ("Write", call("write", path="x", content="y"), False),
        ("AskUserQuestion, ask_user", call("ask_user", question="?"), False),
    ],
)
async def test_what_is_disallowed_does_not(house: House, denied: str, made: Call, runs: bool) -> None:
    house.file("a.txt", "ONE")
    house.skill("tight", disallowed_tools=denied)
    outcome, text = await last_of(house, USE, made)
    assert (outcome != "denied") == runs, text
    assert (house.root / "a.txt").exists()


async def test_it_ends_with_the_turn_and_never_holds_a_person(house: House) -> None:
    house.skill("tight", allowed_tools="Read")
    write = call("write", path="x", content="y")
    script(
        house.root.parent,
        {"calls": [USE]},
        {"calls": [write]},
        {"text": "one"},
        {"calls": [write]},
        {"text": "two"},
    )
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        id = await driver.run_tool("shell", command="touch of-a-person")
        await driver.until(
            lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.call == id
        )
        await driver.prompt("again")
        assert await outcomes(driver) == [
            ("use_skill", "ok"),
            ("write", "denied"),
            ("shell", "ok"),
            ("write", "ok"),
        ]
    assert (house.root / "of-a-person").exists()


async def test_a_second_skill_does_not_loosen_the_first(house: House) -> None:
    house.skill("tight", allowed_tools="Read, Glob")
    house.skill("wide", allowed_tools="Read, Write")
    outcome, text = await last_of(
        house, USE, call("use_skill", name="wide"), call("write", path="x", content="y")
    )
    assert outcome == "denied" and "the skill tight" in text


async def test_a_command_in_a_skill_is_held_by_the_one_in_force(house: House) -> None:
    house.skill("tight", allowed_tools="Read")
    house.skill("other", "!`touch x`")
    outcome, text = await last_of(house, USE, call("use_skill", name="other"))
    assert outcome == "error" and "the skill tight" in text and not (house.root / "x").exists()


async def test_a_subagent_is_held_by_what_holds_its_parent(house: House) -> None:
    house.skill("tight", allowed_tools="Read, Task")
    steps = (
        {"calls": [USE]},
        {"calls": [call("delegate", role="general", task="make the file")]},
        {"text": "done"},
    )
    child = [{"calls": [call("write", path="x", content="y")]}, {"text": "I could not."}]
    script(house.root.parent, *steps, **{"make the file": child})
    async with driving(house.root, options=FULL) as driver:
        await driver.prompt("go")
        denied = [one.result for one in driver.all(ToolCallFinished) if one.result.name == "write"]
    assert [one.outcome for one in denied] == ["denied"] and not (house.root / "x").exists()


async def test_by_slash_the_turn_that_follows_is_held(house: House) -> None:
    house.skill("tight", "Be tight.", allowed_tools="Read")
    write = call("write", path="x", content="y")
    script(house.root.parent, {"calls": [write]}, {"text": "one"}, {"calls": [write]}, {"text": "two"})
    async with driving(house.root, options=FULL) as driver:
        await driver.end(await driver.invoke("tight", text=""))
        await driver.prompt("again")
        assert await outcomes(driver) == [("write", "denied"), ("write", "ok")]


async def test_it_loosens_no_verdict(house: House) -> None:
    house.skill("wide", allowed_tools="Bash, Write")
    script(
        house.root.parent,
        {"calls": [call("use_skill", name="wide")]},
        {"calls": [call("write", path="x", content="y")]},
        {"text": "done"},
    )
    asking = RunOptions(model="spy:script", trust=True, mode="ask", someone=False)
    async with driving(house.root, options=asking) as driver:
        await driver.prompt("go")
        assert await outcomes(driver) == [("use_skill", "ok"), ("write", "denied")]


def test_what_holds_is_known_to_the_next_process(house: House) -> None:
    skill = Skill("tight", "D", str, allowed_tools=("Read",))
    SkillSessions().activate("s1", "main", skill)
    again = SkillSessions()
    assert [one.skill for one in again.restrictions("s1", "main/child-1")] == ["tight"]
    assert again.restrictions("s2", "main") == ()
    again.begin_turn("s1", "main", "another prompt")
    assert SkillSessions().restrictions("s1", "main") == ()
    assert SKILL_SESSIONS.restrictions("s1", "main") == ()


async def nothing(arguments: object, context: object) -> Done:
    return Done("")


@pytest.mark.parametrize(
    ("pattern", "name", "kind", "fits"),
    [
        ("mcp__ci__*", "mcp__ci__build", "other", True),
        ("mcp__ci", "mcp__ci__build", "other", True),
        ("mcp__ci", "mcp__cinema__play", "other", False),
        ("MCP__CI__Build", "mcp__ci__build", "other", True),
        ("Read", "grep_it", "search", True),
        ("Read", "fetch_it", "fetch", False),
        ("Theirs", "ours", "other", True),
        ("*", "anything", "other", True),
        ("Bash(", "shell", "execute", False),
    ],
)
def test_names_are_those_of_any_agent(pattern: str, name: str, kind: Kind, fits: bool) -> None:
    tool = Tool(
        name, kind, "", {}, frozenset({"none"}), nothing, lambda arguments: name, aliases=(Alias("Theirs"),)
    )
    assert matches_tool(pattern, tool) == fits
