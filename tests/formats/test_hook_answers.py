"""What hooks answer, in every shape they answer in."""

import json

import pytest

from cockpit.formats.hook_protocol import HookAnswer, parse_judgement, parse_process_result, parse_text_answer
from cockpit.formats.hooks import EVENTS

PRE, PROMPT, ASKED = EVENTS["PreToolUse"], EVENTS["UserPromptSubmit"], EVENTS["PermissionRequest"]


def test_exit_codes() -> None:
    assert parse_process_result(PRE, 0, "", "noise") == HookAnswer()
    assert parse_process_result(PRE, 2, '{"decision": "approve"}', " no\n") == HookAnswer("deny", "no")
    assert parse_process_result(PRE, 2, "", "").reason == "a hook refused and gave no reason"
    assert parse_process_result(PRE, 49, "", "stop here").halt == "stop here"
    failure = parse_process_result(PRE, 3, '{"decision": "block"}', "boom")
    assert (
        failure.failed and failure.decision == "" and failure.faults == ("it ended with exit code 3: boom",)
    )


def test_words_are_context_where_the_event_takes_them() -> None:
    assert parse_text_answer(PROMPT, " use tabs\n").added == "use tabs"
    assert parse_text_answer(EVENTS["SessionStart"], "hello").added == "hello"
    assert parse_text_answer(PRE, "hello") == HookAnswer()


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
    answer = parse_text_answer(PRE, json.dumps(value))
    assert answer == HookAnswer("ask", "why", "more", "look", {"command": "x"}, "", "enough")


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
    assert parse_text_answer(PRE, json.dumps(value)).decision == decision


def test_a_permission_is_answered_in_its_own_field() -> None:
    decision = {"behavior": "deny", "message": "not now", "interrupt": True}
    answer = parse_text_answer(ASKED, json.dumps({"hookSpecificOutput": {"decision": decision}}))
    assert (answer.decision, answer.reason, answer.halt) == ("deny", "not now", "not now")


def test_unknown_answer_fields_are_reported_and_the_rest_is_used() -> None:
    value = {"decision": "maybe", "systemMessage": 7, "reason": "r", "hookSpecificOutput": []}
    answer = parse_text_answer(PRE, json.dumps(value))
    assert (answer.decision, answer.reason, answer.failed) == ("", "r", False)
    assert answer.faults == (
        "its `decision` is 'maybe', which is not a decision",
        "its `systemMessage` is not text",
        "its `hookSpecificOutput` is not a table",
    )
    other = {"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}
    assert parse_text_answer(PRE, json.dumps(other)).decision == ""
    assert "for Stop, not for PreToolUse" in parse_text_answer(PRE, json.dumps(other)).faults[0]


def test_invalid_json_answer_is_a_failure() -> None:
    assert parse_text_answer(PRE, "{oops").failed
    assert parse_text_answer(PRE, "[1]") == HookAnswer()


def test_a_models_judgement() -> None:
    assert parse_judgement('{"ok": true}') == HookAnswer()
    assert parse_judgement('Sure.\n```json\n{"ok": false, "reason": "no tests"}\n```').reason == "no tests"
    assert parse_judgement('{"ok": false}').decision == "deny"
    for text in ("", "yes", '{"ok": "true"}', "{"):
        assert parse_judgement(text).failed
