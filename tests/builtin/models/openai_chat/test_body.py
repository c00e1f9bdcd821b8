"""The JSON bodies of requests."""

import json

import pytest
from tests.builtin.models.openai_chat.model_calls import request

from cockpit.builtin.models.openai_chat.presets import packaged_presets
from cockpit.builtin.models.openai_chat.request_body import NO_RESULT, adapt_body, build_body
from cockpit.plugin.models import ModelFacts, ToolSchema
from cockpit.protocol.content import Code, Image, Text
from cockpit.protocol.messages import AssistantMessage, Json, Message, ToolCall, ToolMessage, UserMessage

CALL = ToolCall("call_1", "read", {"path": "é.py"})
ASKED = UserMessage((Text("look"),))
CALLED = AssistantMessage("", (CALL,), thoughts="hm", finish="tool_calls")
RESULT = ToolMessage("call_1", "read", "text")


def sent(
    *messages: Message, preset: str = "openai", facts: ModelFacts | None = None, **fields: object
) -> list[dict[str, Json]]:
    wire = build_body(packaged_presets()[preset], request(*messages, **fields), facts or ModelFacts())
    found = wire["messages"]
    assert isinstance(found, list)
    return [one for one in found if isinstance(one, dict)]


def test_a_conversation_becomes_one_system_message_and_its_turns() -> None:
    assert sent(ASKED, CALLED, RESULT, AssistantMessage("Done.")) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"é.py"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "text"},
        {"role": "assistant", "content": "Done."},
    ]


def test_thoughts_go_back_only_to_models_that_demand_them() -> None:
    back = {"preset": "deepseek", "model": "deepseek-v4-pro", "facts": ModelFacts(thinks=True)}
    assert sent(ASKED, CALLED, RESULT, **back)[2]["reasoning_content"] == "hm"
    assert sent(ASKED, AssistantMessage("x"), **back)[2]["reasoning_content"] == ""
    assert "reasoning_content" not in sent(ASKED, CALLED, RESULT)[2]
    plain = {**back, "facts": ModelFacts(window=1)}
    assert "reasoning_content" not in sent(ASKED, CALLED, RESULT, **plain)[2]


def test_a_reminder_stands_at_the_very_end() -> None:
    assert sent(ASKED, reminder="now")[-1] == {"role": "user", "content": "look\n\nnow"}
    assert sent(ASKED, CALLED, RESULT, reminder="now")[-1] == {"role": "user", "content": "now"}
    folded = sent(ASKED, CALLED, RESULT, reminder="now", preset="mistral")[-1]
    assert (folded["role"], folded["content"]) == ("tool", "text\n\nnow")


def test_every_call_has_one_result_and_every_result_its_call() -> None:
    two = AssistantMessage("", (CALL, ToolCall("call_2", "read", {})), finish="tool_calls")
    wire = sent(ASKED, two, ToolMessage("call_9", "read", "stray"), RESULT, RESULT, ASKED, RESULT)
    results = [(one["tool_call_id"], one["content"]) for one in wire if one["role"] == "tool"]
    assert results == [("call_1", "text"), ("call_2", NO_RESULT)]


def test_an_answer_without_anything_in_it_is_left_out() -> None:
    assert [one["role"] for one in sent(ASKED, AssistantMessage(""), ASKED)] == ["system", "user", "user"]


def test_images_are_sent_to_models_that_take_them() -> None:
    message = UserMessage((Text("see"), Image("image/png", "QUJD", "a cat"), Code("x = 1")))
    parts = sent(message, facts=ModelFacts(images=True), reminder="now")[-1]["content"]
    assert parts == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "x = 1"},
        {"type": "text", "text": "now"},
    ]
    assert sent(message)[-1]["content"] == "see\n[image: a cat]\nx = 1"


def test_call_ids_are_made_to_fit_where_a_provider_is_strict() -> None:
    wire = sent(ASKED, CALLED, RESULT, preset="mistral")
    calls = wire[2]["tool_calls"]
    assert isinstance(calls, list) and isinstance(calls[0], dict)
    call_id = calls[0]["id"]
    assert isinstance(call_id, str) and len(call_id) == 9 and call_id.isalnum()
    assert wire[3]["tool_call_id"] == call_id


def test_text_that_utf8_cannot_carry_is_mended() -> None:
    broken = sent(UserMessage((Text("name \udcff"),)), CALLED, ToolMessage("call_1", "read", "\ud83d"))
    assert json.dumps(broken, ensure_ascii=False).encode()


def test_the_same_conversation_gives_the_same_bytes_and_a_longer_one_the_same_beginning() -> None:
    schema = ToolSchema("b", "", {"type": "object", "properties": {"z": {}, "a": {}}})
    short = json.dumps(sent(ASKED, CALLED, RESULT, tools=(schema,)))
    assert short == json.dumps(sent(ASKED, CALLED, RESULT, tools=(schema,)))
    assert json.dumps(sent(ASKED, CALLED, RESULT, AssistantMessage("x"))).startswith(short[:-1])


@pytest.mark.parametrize(
    ("words", "gone", "came"),
    [
        ("unknown field stream_options", "stream_options", None),
        ("'max_tokens' is not supported, use 'max_completion_tokens'", "max_tokens", "max_completion_tokens"),
        ("temperature must be 1", "temperature", None),
    ],
)
def test_what_a_server_does_not_take_is_left_out(words: str, gone: str, came: str | None) -> None:
    wire: dict[str, Json] = {"stream_options": {}, "max_tokens": 5, "temperature": 0.5}
    smaller = adapt_body(wire, words)
    assert smaller is not None
    assert gone not in smaller
    assert came is None or smaller[came] == 5
    assert adapt_body(smaller, words) is None or came
    assert adapt_body(wire, "messages: wrong") is None
