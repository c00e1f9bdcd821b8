"""Replies of a real HTTP server, in the forms that vendors send."""

import asyncio
import json

import pytest
from tests.builtin.models.openai_chat.model_calls import READ, Turn, ask, openai, provider, request
from tests.support.provider import (
    CUT,
    DONE,
    HANG,
    Answer,
    Provider,
    call,
    chunk,
    error,
    event,
    finish,
    listing,
    open_stream,
    reply,
    stream,
    text,
    thought,
    until,
    usage,
)

from cockpit.plugin.models import ModelFailed, TextPart
from cockpit.protocol.messages import AssistantMessage, ToolCall, ToolMessage

X, Y = '{"path":"x"}', '{"path":"y"}'


async def turn_of(answer: Answer, **fields: object) -> Turn:
    async with Provider(answer) as server:
        return await ask(openai(server.base_url), request(**fields))


async def test_text_thoughts_usage_and_finish_come_as_they_are_sent() -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    turn = await turn_of(stream(thought("hm"), text("Hel"), text("lo 🙂"), finish("stop"), usage(**counts)))
    assert (turn.thoughts, turn.text, turn.finish) == ("hm", "Hello 🙂", "stop")
    assert turn.usage is not None
    assert (turn.usage.input, turn.usage.output, turn.usage.cached, turn.usage.cost) == (100, 20, 60, None)


async def test_tool_calls_are_put_together_from_fragments() -> None:
    turn = await turn_of(
        stream(
            call(0, "", id="a", name="read"),
            call(0, '{"path":'),
            call(1, "", id="b", name="read"),
            call(0, '"x"}'),
            call(1, '{"path":"y"}'),
            finish("tool_calls"),
        )
    )
    assert turn.calls == {0: ["a", "read", '{"path":"x"}'], 1: ["b", "read", '{"path":"y"}']}
    assert turn.finish == "tool_calls"


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        (
            [
                call(None, '{"path":"x"}', id="a", name="read"),
                call(None, '{"path":"y"}', id="b", name="read"),
            ],
            2,
        ),
        ([call(0, X, id="a", name="read"), call(0, Y, id="b", name="read")], 2),
        ([call(None, X, name="read"), call(None, Y, name="read")], 2),
        ([call(None, '{"pa', name="read"), call(None, 'th":"x"}', name="read")], 1),
        ([call(0, '{"pa', id="a", name="read"), call(0, 'th":"x"}', id="a", name="read")], 1),
        ([call(0, {"path": "x"}, id="a", name="read")], 1),
        ([call(0, "", id="a"), call(0, '{"path":"x"}', name="read")], 1),
    ],
    ids=["no index", "one index for all", "neither", "name again", "id again", "an object", "name late"],
)
async def test_what_servers_leave_out_of_calls_is_made_up_for(fragments: list[bytes], expected: int) -> None:
    turn = await turn_of(stream(*fragments, finish("tool_calls")))
    wanted = [("read", X), ("read", Y)][:expected]
    assert turn.named == wanted
    assert len({call_id for call_id, _, _ in turn.calls.values()}) == expected
    assert all(call_id for call_id, _, _ in turn.calls.values())


async def test_call_ids_that_come_twice_are_told_apart() -> None:
    before = AssistantMessage("", (ToolCall("call_0", "read", {}),), finish="tool_calls")
    answer = stream(
        call(0, "{}", id="call_0", name="read"),
        call(1, "{}", id="same", name="read"),
        call(2, "{}", id="same", name="read"),
        finish("tool_calls"),
    )
    async with Provider(answer) as server:
        turn = await ask(openai(server.base_url), request(before, ToolMessage("call_0", "read", "ok")))
    ids = [call_id for call_id, _, _ in turn.calls.values()]
    assert len({*ids, "call_0"}) == 4
    assert turn.named == [("read", "{}")] * 3


async def test_arguments_that_are_no_json_reach_the_core_unchanged() -> None:
    turn = await turn_of(stream(call(0, '{"path": oops', id="a", name="read"), finish("tool_calls")))
    assert turn.named == [("read", '{"path": oops')]


async def test_a_call_without_arguments_gets_an_empty_object() -> None:
    turn = await turn_of(stream(call(0, "", id="a", name="read"), finish("stop")))
    assert (turn.named, turn.finish) == ([("read", "{}")], "tool_calls")


async def test_a_call_cut_by_the_output_limit_stays_open() -> None:
    turn = await turn_of(stream(call(0, '{"pa', id="a", name="read"), finish("length")))
    assert (turn.finish, turn.named) == ("length", [("read", '{"pa')])


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("something_new", "stop"),
    ],
)
async def test_finish_reasons_are_read_in_every_vendors_words(reason: str, expected: str) -> None:
    assert (await turn_of(stream(text("x"), finish(reason)))).finish == expected


async def test_a_reply_that_is_no_stream_gives_the_same_turn() -> None:
    message = {
        "content": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    }
    whole = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
    streamed = stream(
        thought("hm"),
        text("I look."),
        call(0, "{}", id="a", name="read"),
        finish("tool_calls"),
        usage(prompt_tokens=5, completion_tokens=7),
    )
    assert await turn_of(reply(200, whole)) == await turn_of(streamed)


async def test_stream_options_are_left_out_where_they_are_refused_and_not_tried_again() -> None:
    refused = error(400, "Unrecognized request argument supplied: stream_options")
    async with Provider(refused, stream(text("x"), finish("stop"))) as server:
        model = openai(server.base_url)
        assert (await ask(model)).text == "x"
        assert (await ask(model)).text == "x"
        assert ["stream_options" in one.json for one in server.completions] == [True, False, False]


async def test_tools_go_without_reasoning_where_a_server_wants_that() -> None:
    words = "Function tools with reasoning_effort are not supported; set reasoning_effort to 'none'."
    async with Provider(error(400, words), stream(text("x"), finish("stop"))) as server:
        await ask(openai(server.base_url))
        assert server.completions[1].json["reasoning_effort"] == "none"


async def test_null_usage_and_null_fields_are_no_fault() -> None:
    null = {"content": None, "tool_calls": None, "reasoning_content": None, "function_call": None}
    turn = await turn_of(stream(chunk(null, usage=None), text("x"), chunk({}, "stop", usage=None)))
    assert (turn.text, turn.finish) == ("x", "stop")
    assert turn.usage is not None
    assert (turn.usage.input, turn.usage.requests) == (0, 1)


async def test_usage_is_found_where_vendors_put_it() -> None:
    deepseek = usage(prompt_tokens=9, completion_tokens=1, prompt_cache_hit_tokens=8)
    inner = event({"choices": [{"delta": {}, "usage": {"prompt_tokens": 9, "completion_tokens": 1}}]})
    first = await turn_of(stream(text("x"), finish("stop"), deepseek))
    second = await turn_of(stream(text("x"), finish("stop"), inner))
    assert first.usage is not None and second.usage is not None
    assert (first.usage.cached, second.usage.input, second.usage.output) == (8, 9, 1)


async def test_cost_is_known_where_prices_are_and_nothing_for_local_servers() -> None:
    answer = stream(text("x"), finish("stop"), usage(prompt_tokens=1_000_000, completion_tokens=1_000_000))
    async with Provider(answer) as server:
        asked = request(model="deepseek-flash")
        environment = {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": server.base_url}
        priced = await ask(provider("deepseek", environment), asked)
        local = await ask(provider("ollama", {"OLLAMA_BASE_URL": server.base_url}), asked)
    assert priced.usage is not None and local.usage is not None
    assert (priced.usage.cost, local.usage.cost) == (pytest.approx(1.5), 0.0)


async def test_content_as_a_list_of_parts_is_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "x"},
    ]
    turn = await turn_of(stream(chunk({"content": parts}), finish("stop")))
    assert (turn.thoughts, turn.text) == ("hm", "x")


async def test_a_thought_tag_at_the_beginning_is_a_thought() -> None:
    turn = await turn_of(
        stream(text("<thi"), text("nk>let me"), text(" see</th"), text("ink>\n\nYes"), finish("stop"))
    )
    assert (turn.thoughts, turn.text) == ("let me see", "Yes")


async def test_an_answer_of_thoughts_alone_is_the_answer() -> None:
    turn = await turn_of(stream(thought("It is 4."), finish("stop")))
    assert (turn.thoughts, turn.text, turn.finish) == ("It is 4.", "It is 4.", "stop")


async def test_one_byte_at_a_time_makes_no_difference() -> None:
    whole = b"".join(
        (text("é中🙂"), call(0, '{"path":"x"}', id="a", name="read"), finish("tool_calls"), DONE)
    ).replace(b"\n", b"\r\n")
    turn = await turn_of(open_stream(*(bytes([one]) for one in whole)))
    assert (turn.text, turn.named, turn.finish) == ("é中🙂", [("read", '{"path":"x"}')], "tool_calls")


async def test_one_huge_chunk_passes() -> None:
    huge = "x" * 2_000_000
    assert (await turn_of(stream(text(huge), finish("stop")))).text == huge


async def test_a_character_split_into_two_escapes_comes_whole() -> None:
    first = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
    second = b'data: {"choices":[{"delta":{"content":"\\ude42b"}}]}\n\n'
    lone = b'data: {"choices":[{"delta":{"content":"\\udc00c\\ud83d"}}]}\n\n'
    assert (await turn_of(stream(first, second, lone, finish("stop")))).text == "a🙂b�c�"


async def test_invalid_utf8_is_replaced() -> None:
    broken = b'data: {"choices":[{"delta":{"content":"a\xff\xfeb"}}]}\n\n'
    assert (await turn_of(stream(broken, finish("stop")))).text == "a��b"


async def test_deltas_that_come_together_are_given_together() -> None:
    many = b"".join(text("x") for _ in range(500))
    turn = await turn_of(stream(many, finish("stop")))
    assert turn.text == "x" * 500
    assert sum(isinstance(delta, TextPart) for delta in turn.deltas) < 50


async def test_events_without_the_blank_line_between_them_are_read() -> None:
    crowded = (text("a") + text("b") + finish("stop")).replace(b"\n\n", b"\n") + b"\n" + DONE
    turn = await turn_of(open_stream(crowded))
    assert (turn.text, turn.finish) == ("ab", "stop")


async def test_steps_share_one_connection() -> None:
    async with Provider(stream(text("x"), finish("stop"))) as server:
        model = openai(server.base_url)
        for _ in range(3):
            await ask(model)
        assert server.connections == 1


async def test_a_server_that_holds_the_line_after_done_does_not_hold_the_turn() -> None:
    async with Provider(open_stream(text("x"), finish("stop"), DONE, HANG)) as server:
        turn = await asyncio.wait_for(ask(openai(server.base_url)), 3)
        assert turn.finish == "stop"


async def test_done_without_a_reason_ends_text_but_not_a_call() -> None:
    assert (await turn_of(stream(text("x")))).finish == "stop"
    with pytest.raises(ModelFailed) as caught:
        await turn_of(stream(text("x"), call(0, "{}", id="a", name="read")))
    assert caught.value.fault == "interrupted"


async def test_a_line_that_breaks_after_the_reason_leaves_a_whole_answer() -> None:
    assert (await turn_of(open_stream(text("x"), finish("stop"), CUT))).finish == "stop"


async def test_cancelling_closes_the_connection_at_once() -> None:
    async with Provider(open_stream(text("x"), HANG)) as server:
        turn = Turn()
        task = asyncio.create_task(ask(openai(server.base_url), turn=turn))
        await until(lambda: turn.text == "x")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.left.wait(), 1)


async def test_closing_the_stream_early_closes_the_connection() -> None:
    async with Provider(open_stream(text("x"), HANG)) as server:
        deltas = openai(server.base_url).stream(request())
        async for delta in deltas:
            assert delta == TextPart("x")
            break
        await deltas.aclose()
        await asyncio.wait_for(server.left.wait(), 1)


async def test_models_are_listed_without_those_that_cannot_chat() -> None:
    async with Provider(models=listing("m-2", "text-embedding-3", "m-1", "whisper-1")) as server:
        assert await openai(server.base_url).models() == ("m-1", "m-2")
    async with Provider(models=reply(200, [{"id": "bare"}])) as server:
        assert await openai(server.base_url).models() == ("bare",)


async def test_the_request_carries_key_model_and_tools() -> None:
    async with Provider(stream(text("x"), finish("stop"))) as server:
        await ask(openai(server.base_url), request(max_tokens=7, temperature=0.0, schema={"type": "object"}))
        sent = server.completions[0]
    assert sent.headers["authorization"].startswith("Bearer sk-test")
    assert sent.json["model"] == "m-1"
    assert sent.json["stream"] is True
    assert sent.json["max_completion_tokens"] == 7
    assert sent.json["tools"][0]["function"] == {
        "name": READ.name,
        "description": READ.description,
        "parameters": json.loads(json.dumps(READ.parameters)),
    }
    assert sent.json["response_format"]["json_schema"]["schema"] == {"type": "object"}
