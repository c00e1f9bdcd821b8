"""What a model is told of skills unasked: little, and always the same."""

import pytest
from tests.support.decks import call, driving, script
from tests.support.skills import House

from cockpit.builtin.files.skills import load_shipped_skills
from cockpit.builtin.files.skills.prompt_text import (
    INDEX_HEADING,
    format_index,
    is_listed,
    share_room,
    shorten,
)
from cockpit.core.session.options import RunOptions
from cockpit.plugin.values import Skill

SPYING = RunOptions(model="spy:script", trust=True, mode="full")


def skills(count: int, length: int = 200) -> list[Skill]:
    return [Skill(f"skill-number-{at:02}", "word " * (length // 5), str) for at in range(count)]


@pytest.mark.parametrize("length", [10, 60, 200, 1_000])
def test_thirty_skills_cost_less_than_three_hundred_tokens(length: int) -> None:
    text = format_index(skills(30, length))
    assert len(text) / 4 < 300
    assert all(f"- skill-number-{at:02}" in text for at in range(30))


def test_a_hundred_are_all_named_or_counted_in_a_thousand_tokens() -> None:
    text = format_index(skills(100))
    named = text.count("- skill-number-")
    assert len(text) / 4 <= 1_000 and (named == 100 or f"and {100 - named} more" in text)
    assert named >= 90


def test_a_few_have_room_for_what_they_say() -> None:
    text = format_index(skills(4))
    assert all(len(line) > 150 for line in text.splitlines()[1:])


def test_the_shipped_ones_are_listed_with_a_word_each() -> None:
    mine = [one for one in load_shipped_skills() if isinstance(one, Skill)]
    names = ["commit", "debug", "explain", "plan", "release-notes", "review", "summarize", "test"]
    assert [one.name for one in mine] == names and all(is_listed(one) for one in mine)
    lines = format_index(mine).splitlines()
    assert lines[0] == INDEX_HEADING and all(": " in line for line in lines[1:])


def test_room_that_one_does_not_need_goes_to_the_others() -> None:
    assert share_room(100, [10, 80, 80]) == [10, 45, 45]
    assert share_room(1_000, [10, 80]) == [10, 80]
    assert share_room(-5, [10, 80]) == [0, 0]


def test_text_is_cut_between_words() -> None:
    assert shorten("one two three four", 12) == "one two…"
    assert shorten("onetwothreefour", 8) == "onetwot…"
    assert shorten("short", 8) == "short"


async def test_the_index_is_in_the_prefix_byte_by_byte_the_same(house: House) -> None:
    house.skill("of-the-project")
    house.skill("of-the-person", base=str(house.home / ".claude"))
    house.skill("by-hand", disable_model_invocation="true")
    house.skill("for-sql", paths="*.sql")
    house.skill("broken", description="")
    house.file("a.sql", "select 1")
    script(
        house.root.parent,
        {"calls": [call("list")]},
        {"text": "one"},
        {"calls": [call("read", path="a.sql")]},
        {"text": "two"},
    )
    async with driving(house.root, options=SPYING) as driver:
        await driver.prompt("first")
        await driver.prompt("second")
    requests = house.requests()
    assert len({one["system"] for one in requests}) == 1 and len(requests) == 4
    system = requests[0]["system"]
    assert "- of-the-project: What of-the-project does." in system and "- of-the-person:" in system
    assert "by-hand" not in system and "for-sql" not in system
    assert [("for-sql" in one["reminder"]) for one in requests] == [False, False, False, True]


async def test_a_role_without_the_tool_is_told_of_no_skill(house: House) -> None:
    house.skill("of-the-project")
    house.file(".cockpit/agents/bare.md", "---\nname: bare\ndescription: D\ntools: Read\n---\nBe bare.\n")
    script(
        house.root.parent,
        {"calls": [call("delegate", role="bare", task="look around")]},
        {"text": "done"},
        **{"look around": [{"text": "I looked."}]},
    )
    async with driving(house.root, options=SPYING) as driver:
        await driver.prompt("go")
    child = next(one for one in house.requests() if "Be bare." in one["system"])
    assert "of-the-project" not in child["system"]


async def test_an_untrusted_folder_shows_the_persons_skills_only(house: House) -> None:
    house.skill("of-the-project")
    house.skill("of-the-person", base=str(house.home / ".claude"))
    script(house.root.parent, {"text": "done"})
    async with driving(house.root, options=RunOptions(model="spy:script", trust=False)) as driver:
        await driver.prompt("go")
    [request] = house.requests()
    assert "of-the-person" in request["system"] and "of-the-project" not in request["system"]


async def test_auto_and_match_are_in_force_unasked(house: House) -> None:
    house.skill("always", body="ALWAYS !`touch x` " + "y" * 5_000, trigger="auto")
    house.skill("sometimes", body="SOMETIMES", trigger="match", keywords="migration, schema")
    script(house.root.parent, {"text": "one"}, {"text": "two"})
    async with driving(house.root, options=SPYING) as driver:
        await driver.prompt("write the Migration now")
        await driver.prompt("immigrations are nothing")
    first, second = house.requests()
    assert "ALWAYS !`touch x`" in first["system"] and first["system"] == second["system"]
    assert first["system"].count("y" * 100) < 41 and not (house.root / "x").exists()
    assert str(first["messages"]).count("SOMETIMES") == str(second["messages"]).count("SOMETIMES") == 1
