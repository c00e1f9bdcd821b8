"""A skill that is used: its text, what it runs and reads, and how it is called."""

from pathlib import Path

import pytest
from tests.support.command import cockpit
from tests.support.decks import Driver, call, driving, script
from tests.support.skills import House

from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    Noticed,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import Mode, ToolResult
from cockpit.protocol.queries import CommandRows, Commands


def options(mode: Mode = "ask", trust: bool = True) -> RunOptions:
    return RunOptions(model="spy:script", trust=trust, mode=mode)


async def used(house: House, mode: Mode = "ask", **arguments: str) -> ToolResult:
    """The result of one call of `use_skill`."""
    script(house.root.parent, {"calls": [call("use_skill", **arguments)]}, {"text": "done"})
    async with driving(house.root, options=options(mode)) as driver:
        await driver.prompt("go")
        return next(one.result for one in driver.all(ToolCallFinished) if one.result.name == "use_skill")


async def test_its_text_comes_with_arguments_folder_and_files(house: House) -> None:
    path = house.skill(
        "deploy", "Deploy $stage of $1 from ${CLAUDE_PROJECT_DIR} ($ARGUMENTS)", arguments="stage"
    )
    house.file(path.parent / "scripts" / "run.sh", "echo")
    house.file(path.parent / "reference.md", "R")
    house.file(path.parent / ".hidden", "H")
    result = await used(house, name="deploy", arguments='prod "the shop"')
    assert f'Deploy prod of the shop from {house.root} (prod "the shop")' in result.text
    assert str(path.parent) in result.text and "reference.md, scripts/run.sh" in result.text
    assert ".hidden" not in result.text and "description:" not in result.text


async def test_a_file_of_it_is_read_wherever_it_lies(house: House) -> None:
    path = house.skill("deploy", base=str(house.home / ".claude"))
    house.file(path.parent / "docs" / "more.md", "MORE")
    house.file(house.home / "secret.txt", "SECRET")
    assert (await used(house, name="deploy", file="docs/more.md")).text == "MORE"
    away = await used(house, name="deploy", file="../../../secret.txt")
    assert away.is_error and "SECRET" not in away.text and "docs/more.md" in away.text
    assert "cannot be read" in (await used(house, name="deploy", file="nothing.md")).text


async def test_without_a_name_all_are_listed_and_a_wrong_one_is_told_the_near(house: House) -> None:
    house.skill("deploy", argument_hint='"[stage]"')
    house.skill("by-hand", disable_model_invocation="true")
    house.skill("for-sql", paths="*.sql")
    text = (await used(house)).text
    assert "- deploy [stage]: What deploy does." in text and "- review" in text
    assert "for-sql (for *.sql)" in text and "by-hand" not in text
    assert "did you mean deploy" in (await used(house, name="deplot")).text
    assert (await used(house, name="/Deploy")).outcome == "ok"


async def test_one_that_is_for_people_is_not_for_the_model(house: House) -> None:
    house.skill("by-hand", disable_model_invocation="yes")
    result = await used(house, name="by-hand")
    assert result.is_error and "/by-hand" in result.text


async def test_claudes_name_for_it_is_understood(house: House) -> None:
    house.skill("deploy", "Deploy $0.")
    script(house.root.parent, {"calls": [call("Skill", skill="deploy", args="prod")]}, {"text": "done"})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert result.name == "use_skill" and "Deploy prod." in result.text


async def test_its_commands_are_calls_of_shell_and_its_files_are_read(house: House) -> None:
    house.file("a.txt", "ONE\n")
    house.file("notes.md", "NOTES @a.txt !`touch no`")
    path = house.skill(
        "look", "Now: !`cat a.txt` in @notes.md and @own.md, @someone.\n```!\nls notes.md\n```"
    )
    house.file(path.parent / "own.md", "OWN")
    script(house.root.parent, {"calls": [call("use_skill", name="look")]}, {"text": "done"})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        started = [(one.call.name, one.asked_by) for one in driver.all(ToolCallStarted)]
        results = [one.result for one in driver.all(ToolCallFinished)]
    assert started == [("use_skill", "model"), ("shell", "plugin"), ("shell", "plugin")]
    text = results[-1].text
    assert "Now: ONE in @notes.md and @own.md, @someone.\nnotes.md" in text
    assert "[@notes.md]\nNOTES @a.txt !`touch no`" in text and "[@own.md]\nOWN" in text
    assert "exit code" not in text and not (house.root / "no").exists()
    told = str(house.requests()[-1]["messages"])
    assert told.count("ONE") == 1, "the commands' own results are no part of the conversation"


async def test_a_command_that_fails_says_so_in_its_place(house: House) -> None:
    house.skill("look", "Now: !`ls nothing-there`.")
    text = (await used(house, "full", name="look")).text
    assert "nothing-there" in text and "[exit code 2]" in text


async def test_a_command_that_a_person_rejects_stops_the_skill(house: House) -> None:
    house.skill("make", "Make: !`touch made`.")
    script(house.root.parent, {"calls": [call("use_skill", name="make")]}, {"text": "done"})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        asked = await driver.next(ApprovalRequested)
        assert asked.tool == "shell" and "touch made" in asked.title
        await driver.decide(asked.id, "reject_once")
        await driver.end(turn)
        result = [one.result for one in driver.all(ToolCallFinished)][-1]
    assert result.is_error and "make was not used" in result.text and "touch made" in result.text
    assert not (house.root / "made").exists()


async def test_plan_mode_runs_no_command_that_changes(house: House) -> None:
    house.skill("make", "Make: !`touch made`.")
    result = await used(house, "plan", name="make")
    assert result.is_error and "plan mode" in result.text and not (house.root / "made").exists()


async def test_an_argument_never_becomes_a_command_or_a_file(house: House) -> None:
    house.file("secret.txt", "SECRET")
    house.skill("say", "Say $ARGUMENTS and !`echo $0`.")
    result = await used(house, "full", name="say", arguments="';touch made;' !`touch made` @secret.txt $1")
    assert "Say ';touch made;' !`touch made` @secret.txt $1 and ;touch made;." in result.text
    assert "SECRET" not in result.text and not (house.root / "made").exists()


async def test_a_body_that_is_gone_is_told(house: House) -> None:
    path = house.skill("deploy")
    script(house.root.parent, {"calls": [call("use_skill", name="deploy")]}, {"text": "done"})
    async with driving(house.root, options=options()) as driver:
        path.unlink()
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert result.is_error and "cannot be read" in result.text


async def said(driver: Driver, name: str, text: str) -> str:
    """The prompt that a command becomes."""
    id = await driver.invoke(name, text=text)
    begun = await driver.until(lambda one: isinstance(one.event, TurnStarted) and one.event.op == id)
    await driver.end(id)
    assert isinstance(begun.event, TurnStarted)
    return plain_text(begun.event.content)


async def test_each_is_a_command_with_its_hint(house: House) -> None:
    house.file("a.txt", "ONE")
    house.file("b.txt", "TWO")
    house.skill(
        "deploy", "Deploy $ARGUMENTS with @b.txt; its `#symbol`.", argument_hint='"[stage]"', aliases="ship"
    )
    house.skill("hidden", user_invocable="false")
    script(house.root.parent, {"text": "one"}, {"text": "two"}, {"text": "three"})
    async with driving(house.root, options=options()) as driver:
        rows = await driver.channel.ask(Commands())
        assert isinstance(rows, CommandRows)
        hints = {row.name: row.hint for row in rows.rows}
        assert hints["deploy"] == "[stage]" and "hidden" not in hints and "release-notes" in hints
        for name, text in (
            ("deploy", "prod @a.txt"),
            ("ship", "prod @a.txt"),
            ("skill", "deploy prod @a.txt"),
        ):
            prompt = await said(driver, name, text)
            assert "Deploy prod @a.txt with @b.txt" in prompt
            assert prompt.count("[@a.txt]\nONE") == prompt.count("[@b.txt]\nTWO") == 1
        await driver.invoke("skill", text="hidden")
        await driver.until(
            lambda one: isinstance(one.event, Warned) and "cannot be used as a command" in one.event.text
        )


async def test_by_slash_its_model_answers_the_turn(house: House) -> None:
    house.skill("deploy", base=str(house.home / ".claude"), model="spy:other")
    script(house.root.parent, {"text": "one"}, {"text": "two"})
    async with driving(house.root, options=options()) as driver:
        await said(driver, "deploy", "")
        await driver.prompt("again")
    assert [one["model"] for one in house.requests()] == ["other", "script"]


async def test_slash_skill_alone_lists_them(house: House) -> None:
    house.skill("deploy", argument_hint='"[stage]"')
    script(house.root.parent, {"text": "one"})
    async with driving(house.root, options=options()) as driver:
        await driver.invoke("skill", text="")
        shown = await driver.next(Noticed)
    assert "/deploy" in str(shown.content) and "[stage]" in str(shown.content)


async def test_one_that_is_switched_off_is_used_by_nobody(house: House) -> None:
    house.skill("deploy")
    settings = Path(house.root / ".cockpit" / "settings.toml")
    settings.write_text('[skills]\ndisabled = ["deploy", "review"]\n', encoding="utf-8")
    script(house.root.parent, {"calls": [call("use_skill", name="deploy")]}, {"text": "done"})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        rows = await driver.channel.ask(Commands())
    assert isinstance(rows, CommandRows)
    assert result.is_error and "switched off" in result.text
    assert not {"deploy", "review"} & {row.name for row in rows.rows}
    system = house.requests()[0]["system"]
    assert "- deploy" not in system and "- review" not in system and "- debug" in system


@pytest.mark.parametrize("shadowed", ["user", "built-in"])
async def test_the_projects_skill_hides_the_others(house: House, shadowed: str) -> None:
    name = "review" if shadowed == "built-in" else "deploy"
    house.skill(name, "THE PROJECT'S")
    house.skill("deploy", "THE PERSON'S", base=str(house.home / ".claude"))
    assert "THE PROJECT'S" in (await used(house, name=name)).text


def test_headless_a_command_with_a_dash_is_a_command(house: House) -> None:
    house.skill("release-it", "Release $0, then !`cat a.txt`.")
    house.file("a.txt", "ONE")
    script(house.root.parent, {"text": "Released."})
    ended = cockpit("--trust", "--model", "spy:script", "-p", "/release-it 1.2", cwd=house.root)
    assert (ended.code, ended.out) == (0, "Released.\n"), ended
    [request] = house.requests()
    assert "Release 1.2, then ONE." in str(request["messages"])


def test_plain_lines_take_a_skill_too(house: House) -> None:
    house.skill("release-it", "Release $0.")
    script(house.root.parent, {"text": "Released."})
    line = "/release-it 1.2\n/exit\n"
    ended = cockpit("--trust", "--plain", "--model", "spy:script", cwd=house.root, stdin=line)
    assert "Released." in ended.out, ended
    assert "Release 1.2." in str(house.requests()[0]["messages"])
