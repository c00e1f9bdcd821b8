"""Hooks at the other points of a session: its begin and end, prompts, stops, subagents, compactions."""

import json
from typing import Any

from tests.support.decks import Driver, call, driving
from tests.support.hooks import House, command, options

from cockpit.core.session.session import AgentSession
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    ContextCompacted,
    MessageFinished,
    ToolCallFinished,
    TurnFinished,
    Warned,
)
from cockpit.protocol.messages import UserMessage
from cockpit.protocol.ops import Close, Compact


def note(house: House, *names: str) -> dict[str, Any]:
    """A hook that notes these fields of what it is told."""
    return command(house.python(f"note(json.dumps([told.get(one) for one in {list(names)!r}]))"))


def notes(house: House) -> list[Any]:
    return [json.loads(line) for line in house.noted()]


def session_of(driver: Driver) -> AgentSession:
    assert isinstance(driver.channel, AgentSession)
    return driver.channel


def told(driver: Driver, agent: str = "main") -> list[str]:
    """What stands in the conversation in a person's place."""
    return [
        plain_text(one.event.message.content)
        for one in driver.seen
        if one.agent == agent
        and isinstance(one.event, MessageFinished)
        and isinstance(one.event.message, UserMessage)
    ]


async def test_a_session_begins_with_what_hooks_say_and_ends_with_them(house: House) -> None:
    source = note(house, "hook_event_name", "source", "model")
    house.own(
        SessionStart=("startup|resume", source, command("echo 'the sprint ends on Friday'")),
        SessionEnd=note(house, "hook_event_name", "reason"),
    )
    house.play({"text": "Hello."}, {"text": "Again."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("hi")
        assert told(driver) == ["the sprint ends on Friday"]
        await driver.prompt("once more")
        assert len(told(driver)) == 1
        session = driver.channel.session
        await driver.channel.submit(Close("c1", "tui"))
    async with driving(house.root, session, options()) as driver:
        await driver.prompt("and again")
    assert notes(house) == [
        ["SessionStart", "startup", "scripted:script"],
        ["SessionEnd", "prompt_input_exit"],
        ["SessionStart", "resume", "scripted:script"],
        ["SessionEnd", "other"],
    ]


async def test_variables_of_the_beginning_reach_later_commands(house: House) -> None:
    export = 'echo \'export GREETING="hello $USER_NAME"\' >> "$CLAUDE_ENV_FILE"'
    doors = "echo 'LD_PRELOAD=/x.so' >> \"$CLAUDE_ENV_FILE\"; echo 'A=$(date)' >> \"$CLAUDE_ENV_FILE\""
    house.own(SessionStart=command(f"export USER_NAME=x; {export}; {doors}"))
    house.play({"calls": [call("Bash", command='printf "%s" "[$GREETING][$LD_PRELOAD]"')]}, {"text": "Done."})
    async with driving(house.root, options=options("full")) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        warned = "\n".join(one.text for one in driver.all(Warned))
    assert "[hello ][]" in result.text
    assert "LD_PRELOAD is ignored" in warned and "'A=$(date)' is not of" in warned


async def test_a_prompt_is_given_words_or_turned_away(house: House) -> None:
    turn_away = house.python(
        "if 'secret' in told['prompt']:\n    print('no secrets here', file=sys.stderr)\n    sys.exit(2)\n"
        "print('use tabs')"
    )
    house.own(UserPromptSubmit=command(turn_away))
    house.play({"text": "Hello."}, {"text": "Never."})
    async with driving(house.root, options=options()) as driver:
        assert (await driver.prompt("hi")).stop_reason == "end_turn"
        assert told(driver) == ["use tabs"]
        ended = await driver.prompt("my secret is 7")
    assert ended.stop_reason == "refusal" and ended.message.endswith("no secrets here")


async def test_a_stop_hook_makes_the_turn_go_on_three_times_at_most(house: House) -> None:
    block = house.python(
        "note(told['stop_hook_active'])\n"
        "reason = 'the tests fail: ' + told['last_assistant_message']\n"
        "print(json.dumps({'decision': 'block', 'reason': reason}))"
    )
    house.own(Stop=command(block))
    house.play({"text": "Done 1."}, {"text": "Done 2."}, {"text": "Done 3."}, {"text": "Done 4."})
    async with driving(house.root, options=options()) as driver:
        assert (await driver.prompt("go")).stop_reason == "end_turn"
        assert told(driver) == [f"the tests fail: Done {n}." for n in (1, 2, 3)]
    assert house.noted() == ["False", "True", "True", "True"]


async def test_a_stop_hook_that_agrees_ends_the_turn(house: House) -> None:
    house.own(Stop=note(house, "stop_hook_active", "last_assistant_message"))
    house.play({"text": "Done."}, {"text": "Never."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
    assert notes(house) == [[False, "Done."]]


async def test_a_subagents_points_carry_its_id_and_role(house: House) -> None:
    house.own(
        SubagentStart=("general", note(house, "hook_event_name", "agent_id", "agent_type")),
        PreToolUse=("Read", note(house, "hook_event_name", "agent_id", "agent_type")),
        SubagentStop=("", note(house, "hook_event_name", "agent_id", "last_assistant_message")),
        Stop=note(house, "hook_event_name", "agent_id"),
        UserPromptSubmit=note(house, "hook_event_name", "agent_id"),
    )
    house.play(
        {"text": "never the main agent's"},
        LOOK=[{"calls": [call("read", path="a.txt")]}, {"text": "It says one."}],
    )
    async with driving(house.root, options=options()) as driver:
        agent = await session_of(driver).main.agents.open("general", "LOOK at a.txt")
        report = await agent.wait()
        assert report.text == "It says one."
        id = agent.id
    assert notes(house) == [
        ["SubagentStart", id, "general"],
        ["PreToolUse", id, "general"],
        ["SubagentStop", id, "It says one."],
    ]


async def test_a_permission_request_can_be_answered_with_no_alone(house: House) -> None:
    answer = (
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PermissionRequest', 'decision': %s}}))"
    )
    deny = answer % "{'behavior': 'deny', 'message': 'not on this branch'}"
    house.own(PermissionRequest=("Bash", command(house.python(deny))))
    house.play({"calls": [call("Bash", command="touch c.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert not driver.all(ApprovalRequested)
    assert result.outcome == "denied" and "not on this branch" in result.text
    allow = answer % "{'behavior': 'allow'}"
    house.own(PermissionRequest=("Bash", command(house.python(allow))))
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        assert any("cannot approve a call" in one.text for one in driver.all(Warned))


async def test_a_person_who_is_waited_for_is_notified(house: House) -> None:
    house.own(Notification=("permission_prompt|idle_prompt", note(house, "notification_type", "message")))
    house.play({"calls": [call("Bash", command="touch c.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        session_of(driver).guards.idle_seconds = 0.0
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        await house.until(1)
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        await house.until(2)
    first, second = notes(house)
    assert first[0] == "permission_prompt" and "touch c.txt" in first[1]
    assert second == ["idle_prompt", "cockpit is waiting for your input"]


async def test_a_compaction_is_told_before_and_after_and_begins_the_session_anew(house: House) -> None:
    house.own(
        PreCompact=("manual", note(house, "hook_event_name", "trigger", "custom_instructions")),
        PostCompact=("", note(house, "hook_event_name", "trigger", "compact_summary")),
        SessionStart=("compact", command("echo 'remember the sprint'")),
    )
    house.play(*({"text": f"Answer {n}."} for n in range(6)), Summarise=[{"text": "They talked."}])
    async with driving(house.root, options=options()) as driver:
        for n in range(6):
            await driver.prompt(f"question {n}")
        await driver.channel.submit(Compact("k1", "tui", "the plan"))
        await driver.next(ContextCompacted)
        await driver.until(lambda one: isinstance(one.event, MessageFinished) and "sprint" in str(one.event))
    assert notes(house) == [
        ["PreCompact", "manual", "the plan"],
        ["PostCompact", "manual", "They talked."],
    ]


async def test_a_compaction_can_be_refused(house: House) -> None:
    house.own(PreCompact=("", command("echo 'not now' >&2; exit 2")))
    house.play(*({"text": f"Answer {n}."} for n in range(6)), Summarise=[{"text": "No."}])
    async with driving(house.root, options=options()) as driver:
        for n in range(6):
            await driver.prompt(f"question {n}")
        await driver.channel.submit(Compact("k1", "tui", ""))
        refused = await driver.until(
            lambda one: isinstance(one.event, Warned) and "not now" in one.event.text
        )
        assert refused and not driver.all(ContextCompacted)


async def test_continue_false_at_the_beginning_ends_the_first_turn(house: House) -> None:
    stop = house.python("print(json.dumps({'continue': False, 'stopReason': 'closed for the night'}))")
    house.own(SessionStart=command(stop))
    house.play({"text": "Never."})
    async with driving(house.root, options=options()) as driver:
        ended = await driver.prompt("go")
        assert isinstance(ended, TurnFinished)
    assert ended.stop_reason == "refusal" and "closed for the night" in ended.message


async def test_no_at_the_beginning_is_told_to_the_person(house: House) -> None:
    house.own(SessionStart=command("echo 'the server is down' >&2; exit 2"))
    house.play({"text": "Hello."})
    async with driving(house.root, options=options()) as driver:
        assert (await driver.prompt("go")).stop_reason == "end_turn"
        assert any("the server is down" in one.text for one in driver.all(Warned))
