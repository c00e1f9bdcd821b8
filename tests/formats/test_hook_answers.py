"""What hooks answer, in every shape they answer in."""

import json

import pytest

from cockpit.formats.hook_answers import Answer, of_judgement, of_process, of_text
from cockpit.formats.hook_events import EVENTS

PRE, PROMPT, ASKED = EVENTS["PreToolUse"], EVENTS["UserPromptSubmit"], EVENTS["PermissionRequest"]


def test_exit_codes() -> None:
    assert of_process(PRE, 0, "", "noise") == Answer()
    assert of_process(PRE, 2, '{"decision": "approve"}', " no\n") == Answer("deny", "no")
    assert of_process(PRE, 2, "", "").reason == "a hook said no and gave no reason"
    assert of_process(PRE, 49, "", "stop here").halt == "stop here"
    failure = of_process(PRE, 3, '{"decision": "block"}', "boom")
    assert (
        failure.failed and failure.decision == "" and failure.faults == ("it ended with exit code 3: boom",)
    )


def test_words_are_context_where_the_event_takes_them() -> None:
    assert of_text(PROMPT, " use tabs\n").added == "use tabs"
    assert of_text(EVENTS["SessionStart"], "hello").added == "hello"
    assert of_text(PRE, "hello") == Answer()


def test_every_field_of_the_answer() -> None:
    value = {
        "continue": False,
        "stopReason": "enough",
        "suppressOutput": True,
        "systemMessage": "look",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "why",
            "updatedInput": {"command": "x"},
            "additionalContext": "more",
        },
    }
    answer = of_text(PRE, json.dumps(value))
    assert answer == Answer("ask", "why", "more", "look", {"command": "x"}, "", "enough")


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        ({"decision": "block", "reason": "r"}, "deny"),
        ({"decision": "approve"}, "allow"),
        ({"decision": "deny", "context": "c", "updated_input": {"a": 1}}, "deny"),
        ({"hookSpecificOutput": {"permissionDecision": "defer"}}, "defer"),
    ],
)
def test_decisions_of_all_agents(value: object, decision: str) -> None:
    assert of_text(PRE, json.dumps(value)).decision == decision


def test_a_permission_is_answered_in_its_own_field() -> None:
    decision = {"behavior": "deny", "message": "not now", "interrupt": True}
    answer = of_text(ASKED, json.dumps({"hookSpecificOutput": {"decision": decision}}))
    assert (answer.decision, answer.reason, answer.halt) == ("deny", "not now", "not now")


def test_what_is_not_understood_is_said_and_the_rest_is_taken() -> None:
    value = {"decision": "maybe", "systemMessage": 7, "reason": "r", "hookSpecificOutput": []}
    answer = of_text(PRE, json.dumps(value))
    assert (answer.decision, answer.reason, answer.failed) == ("", "r", False)
    assert answer.faults == (
        "its `decision` is 'maybe', which is no decision",
        "its `systemMessage` is no text",
        "its `hookSpecificOutput` is no table",
    )
    other = {"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}
    assert of_text(PRE, json.dumps(other)).decision == ""
    assert "for Stop, not for PreToolUse" in of_text(PRE, json.dumps(other)).faults[0]


def test_json_that_is_none_is_a_failure() -> None:
    assert of_text(PRE, "{oops").failed
    assert of_text(PRE, "[1]") == Answer()


def test_a_models_judgement() -> None:
    assert of_judgement('{"ok": true}') == Answer()
    assert of_judgement('Sure.\n```json\n{"ok": false, "reason": "no tests"}\n```').reason == "no tests"
    assert of_judgement('{"ok": false}').decision == "deny"
    for text in ("", "yes", '{"ok": "true"}', "{"):
        assert of_judgement(text).failed
