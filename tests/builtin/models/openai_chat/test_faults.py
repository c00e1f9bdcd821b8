"""Every way a request fails, against a real HTTP server: the fault and a helpful message."""

import asyncio
import time
from email.utils import formatdate

import pytest
from tests.builtin.models.openai_chat.model_calls import KEY, Turn, ask, openai, provider, request
from tests.support.provider import (
    CUT,
    HANG,
    RESET,
    Answer,
    Provider,
    call,
    error,
    event,
    finish,
    listing,
    open_stream,
    reply,
    stream,
    text,
    thought,
)

from cockpit.builtin.models.openai_chat import client
from cockpit.builtin.models.openai_chat.faults import parse_retry_after
from cockpit.plugin.models import Fault, ModelFailed


async def failure_of(answer: Answer, turn: Turn | None = None) -> ModelFailed:
    async with Provider(answer) as server:
        with pytest.raises(ModelFailed) as caught:
            await ask(openai(server.base_url), turn=turn)
    assert KEY not in str(caught.value)
    return caught.value


async def test_a_refused_key_says_which_and_what_to_do() -> None:
    failed = await failure_of(error(401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"))
    assert failed.fault == "auth"
    assert "OpenAI refused the key of OPENAI_API_KEY" in failed.message
    assert "/connect openai" in failed.hint
    assert "sk-" not in str(failed)


async def test_an_unknown_model_names_those_that_are_near() -> None:
    models = listing("gpt-5.4", "gpt-5.4-mini", "llama")
    async with Provider(error(404, "no such model", "model_not_found"), models=models) as server:
        with pytest.raises(ModelFailed) as caught:
            await ask(openai(server.base_url), request(model="gpt-5.4-min"))
    assert caught.value.fault == "unknown_model"
    assert "`gpt-5.4-min`" in caught.value.message
    assert "gpt-5.4-mini, gpt-5.4" in caught.value.hint


async def test_a_wrong_address_is_not_taken_for_an_unknown_model() -> None:
    failed = await failure_of(reply(404, {"detail": "Not Found"}))
    assert failed.fault == "bad_request"
    assert "OPENAI_BASE_URL" in failed.hint


@pytest.mark.parametrize(
    ("headers", "message", "expected"),
    [
        ({}, "slow down", None),
        ({"retry_after": "7"}, "slow down", 7.0),
        ({"retry_after_ms": "250"}, "slow down", 0.25),
        ({"retry_after": "soon"}, "slow down", None),
        ({}, "Rate limit reached. Please try again in 1.5s.", 1.5),
    ],
)
async def test_a_limit_says_how_long_to_wait(
    headers: dict[str, str], message: str, expected: float | None
) -> None:
    failed = await failure_of(error(429, message, "rate_limit_exceeded", **headers))
    assert (failed.fault, failed.retry_after) == ("rate_limited", expected)


def test_a_date_to_retry_at_becomes_seconds_from_now() -> None:
    now = time.time()
    assert parse_retry_after({"retry-after": formatdate(now + 30, usegmt=True)}, now=now) == pytest.approx(
        30, abs=1
    )
    assert parse_retry_after({"retry-after": formatdate(now - 30, usegmt=True)}, now=now) == 0


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (error(429, "You exceeded your current quota", "insufficient_quota"), "no_credit"),
        (error(402, "Insufficient Balance"), "no_credit"),
        (error(403, "your account is in arrears", "Arrearage"), "no_credit"),
        (error(403, "not for this key"), "auth"),
        (error(400, "API key not valid", "invalid_api_key"), "auth"),
        (error(500, "oops"), "overloaded"),
        (error(503, "unavailable"), "overloaded"),
        (error(529, "Overloaded"), "overloaded"),
        (reply(502, "<html><title>Bad Gateway</title></html>"), "overloaded"),
        (error(400, "too long", "context_length_exceeded"), "context_overflow"),
        (error(400, "This model's maximum context length is 10 tokens"), "context_overflow"),
        (error(400, "the request exceeds the available context size"), "context_overflow"),
        (error(400, "Please reduce the length of the messages or completion."), "context_overflow"),
        (error(400, "Range of input length should be [1, 30720]"), "context_overflow"),
        (error(400, "Your request exceeded model token limit: 131072"), "context_overflow"),
        (error(413, "Request Entity Too Large"), "context_overflow"),
        (error(400, "filtered", "content_filter"), "content_filter"),
        (
            error(400, "Output data may contain inappropriate content", "data_inspection_failed"),
            "content_filter",
        ),
        (error(400, "Model Not Exist"), "unknown_model"),
        (error(400, "messages: wrong"), "bad_request"),
        (reply(200, "<!doctype html><html><title>Log in</title></html>"), "bad_request"),
        (reply(401, {"message": "Unauthorized"}), "auth"),
        (reply(429, ["odd"]), "rate_limited"),
        (reply(500, "plain words"), "overloaded"),
    ],
)
async def test_what_a_server_answers_is_classified(answer: Answer, fault: Fault) -> None:
    failed = await failure_of(answer)
    assert failed.fault == fault
    assert failed.message and failed.hint


async def test_a_refused_connection_asks_whether_the_server_runs() -> None:
    async with Provider() as server:
        url = server.base_url
    with pytest.raises(ModelFailed) as caught:
        await ask(provider("ollama", {"OLLAMA_BASE_URL": url}))
    assert caught.value.fault == "connection"
    assert "`ollama serve`" in caught.value.hint


async def test_a_host_that_does_not_exist_is_named() -> None:
    with pytest.raises(ModelFailed) as caught:
        await ask(openai("http://no-such-host.invalid/v1"))
    assert caught.value.fault == "connection"
    assert "no-such-host.invalid" in caught.value.message


async def test_a_server_without_tls_behind_an_https_address_is_told() -> None:
    async with Provider() as server:
        with pytest.raises(ModelFailed) as caught:
            await ask(openai(server.base_url.replace("http:", "https:")))
    assert caught.value.fault == "connection"
    assert "http://" in caught.value.hint


@pytest.mark.parametrize("end", [RESET, CUT])
async def test_a_line_that_breaks_in_the_middle_is_an_interruption(end: object) -> None:
    turn = Turn()
    failed = await failure_of(open_stream(text("half"), end), turn)
    assert (failed.fault, turn.text, turn.finish) == ("interrupted", "half", None)


async def test_stream_without_finish_is_interrupted_and_its_call_stays_open() -> None:
    turn = Turn()
    failed = await failure_of(open_stream(call(0, '{"path":"x"}', id="a", name="read")), turn)
    assert (failed.fault, turn.finish) == ("interrupted", None)


async def test_half_an_event_at_the_end_is_an_interruption() -> None:
    failed = await failure_of(open_stream(text("x"), b'data: {"choices":[{"del'))
    assert failed.fault == "interrupted"


async def test_an_error_within_the_stream_is_told_as_if_it_had_come_first() -> None:
    overloaded = {"error": {"message": "Overloaded", "code": 529}}
    long = {"error": {"message": "the request exceeds the available context size", "code": 400}}
    assert (await failure_of(open_stream(text("x"), event(overloaded)))).fault == "overloaded"
    assert (await failure_of(open_stream(text("x"), event(long)))).fault == "context_overflow"
    assert (await failure_of(open_stream(event({"error": "boom"})))).fault == "interrupted"
    named = b'event: error\ndata: {"message": "too many requests"}\n\n'
    assert (await failure_of(open_stream(named))).fault == "rate_limited"


@pytest.mark.parametrize("line", [b"data: {oops\n\n", b"data: [1]\n\n", b"data: " + b"[" * 100_000 + b"\n\n"])
async def test_an_event_that_is_no_chunk_is_malformed(line: bytes) -> None:
    failed = await failure_of(open_stream(text("x"), line))
    assert failed.fault == "malformed"
    assert len(failed.message) < 300


async def test_an_answer_without_choices_is_malformed() -> None:
    assert (await failure_of(stream(event({"choices": []})))).fault == "malformed"
    assert (await failure_of(stream(event({"id": "x"})))).fault == "malformed"
    assert (await failure_of(reply(200, {"choices": []}))).fault == "malformed"
    assert (await failure_of(reply(200, {"choices": [None]}))).fault == "malformed"
    assert (await failure_of(stream())).fault == "malformed"


async def test_an_empty_body_is_an_interruption() -> None:
    assert (await failure_of(open_stream())).fault == "interrupted"


async def test_a_filtered_answer_ends_with_that_reason() -> None:
    async with Provider(stream(text("I"), finish("content_filter"))) as server:
        assert (await ask(openai(server.base_url))).finish == "content_filter"


async def test_a_vendor_that_gives_up_within_the_answer_is_an_interruption() -> None:
    failed = await failure_of(stream(thought("hm"), finish("insufficient_system_resource")))
    assert failed.fault == "interrupted"


async def test_silence_ends_a_request_before_and_within_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENCE_SECONDS", 0.2)
    before = await failure_of(Answer(pieces=(HANG,)))
    within = await failure_of(open_stream(text("half"), HANG))
    assert (before.fault, within.fault) == ("interrupted", "interrupted")
    assert "stopped sending" in within.message


async def test_session_continues_after_a_fault() -> None:
    async with Provider(error(500, "oops"), stream(text("x"), finish("stop"))) as server:
        model = openai(server.base_url)
        with pytest.raises(ModelFailed):
            await ask(model)
        assert (await ask(model)).text == "x"


async def test_without_a_key_nothing_is_sent_and_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path))
    model = provider("deepseek", {})
    assert "DEEPSEEK_API_KEY" in model.ready()
    with pytest.raises(ModelFailed) as caught:
        await ask(model)
    assert caught.value.fault == "auth"
    assert "DEEPSEEK_API_KEY" in str(caught.value)


async def test_a_key_with_a_line_break_is_refused_before_it_is_sent() -> None:
    async with Provider(stream(text("x"), finish("stop"))) as server:
        with pytest.raises(ModelFailed) as caught:
            await ask(openai(server.base_url, "sk-one\nsk-two"))
        assert server.requests == []
    assert "OPENAI_API_KEY" in caught.value.message
    assert "sk-one" not in str(caught.value)


async def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(ModelFailed) as caught:
        await ask(openai("ftp://x"))
    assert "OPENAI_BASE_URL" in str(caught.value)


async def test_two_requests_at_once_do_not_disturb_each_other() -> None:
    async with Provider(stream(text("x"), finish("stop"))) as server:
        model = openai(server.base_url)
        turns = await asyncio.gather(*(ask(model) for _ in range(8)))
    assert [turn.text for turn in turns] == ["x"] * 8
