"""The connection to one server: whatever the server does, only the current call fails."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp.specs import server, spec, tool, until

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.values import (
    ConnectionSettings,
    McpFailed,
    SamplingReply,
    SamplingRequest,
    ServerGone,
    ServerNotStarted,
)
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.content import Image
from cockpit.protocol.events import FormField


class Person:
    """Answers with what it is given, and keeps what it was asked."""

    def __init__(self, answer: FormAnswer | None = None, reply: str = "") -> None:
        self.answer = answer or FormAnswer("decline")
        self.reply = reply
        self.asked: list[tuple[str, tuple[FormField, ...], str]] = []
        self.sampled: list[SamplingRequest] = []

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        self.asked.append((question, fields, url))
        return self.answer

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        self.sampled.append(request)
        return SamplingReply(self.reply, "some:model")


@asynccontextmanager
async def connected(
    folder: Path, *tools: Any, one: McpServer | None = None, **more: Any
) -> AsyncIterator[McpConnection]:
    terms = {
        key: more.pop(key)
        for key in ("connect_seconds", "call_seconds", "max_bytes", "on_change")
        if key in more
    }
    made = one or server(spec(folder, *tools, **more))
    connection = McpConnection(made, ConnectionSettings(str(folder), folder / "log", **terms), "legacy")
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


async def test_what_a_server_offers_is_read_and_called(tmp_path: Path) -> None:
    resource = {"uri": "plain://a", "name": "a", "text": "the text of a"}
    prompt = {"name": "greet", "arguments": [{"name": "who", "required": True}]}
    async with connected(
        tmp_path, tool("say", "say:hi"), resources=[resource], prompts=[prompt]
    ) as connection:
        assert connection.welcome is not None and connection.welcome.name == "plain"
        offer = await connection.offer()
        assert [one.name for one in offer.tools] == ["say"]
        assert [(one.uri, one.name) for one in offer.resources] == [("plain://a", "a")]
        assert [one.arguments[0].required for one in offer.prompts] == [True]
        assert (await connection.call("say", {})).text == "hi"
        assert "the text of a" in (await connection.read("plain://a")).text
        assert (await connection.prompt("greet", {"who": "ada"})).text == 'greet of {"who": "ada"}'


async def test_what_is_printed_to_stdout_goes_to_the_log_and_disturbs_nothing(tmp_path: Path) -> None:
    noise = ["Listening on stdio", "{not json", '{"json": "but no message"}', "\x1b[31mred\x1b[0m"]
    async with connected(tmp_path, tool("say", "say:hi"), stdout=noise, stderr="started") as connection:
        assert (await connection.call("say", {})).text == "hi"
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "Listening on stdio" in log and "started" in log


async def test_a_server_that_dies_in_a_call_fails_that_call_and_is_over(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("die", "die"), tool("hang", "hang")) as connection:
        waiting = asyncio.create_task(connection.call("hang", {}))
        with pytest.raises(ServerGone):
            await connection.call("die", {})
        with pytest.raises(McpFailed):
            await waiting
        assert isinstance(await connection.ended(), ServerGone)
        with pytest.raises(ServerGone):
            await connection.call("hang", {})


async def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    one = McpServer("gone", ("no-such-program-anywhere",))
    with pytest.raises(ServerNotStarted, match=r"could not be started.*install it"):
        async with connected(tmp_path, one=one):
            pass


async def test_a_server_that_never_answers_its_greeting_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(McpFailed, match=r"did not answer within 0\.5 s"):
        async with connected(tmp_path, hangs=True, connect_seconds=0.5):
            pass


async def test_a_call_that_takes_too_long_is_given_up_and_cancelled_there(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    async with connected(
        tmp_path, tool("hang", f"hang:{seen}"), tool("say", "say:hi"), call_seconds=0.3
    ) as connection:
        with pytest.raises(McpFailed, match=r"did not answer within 0\.3 s"):
            await connection.call("hang", {})
        assert (await connection.call("say", {})).text == "hi"
        await until(seen.exists)


async def test_cancelling_a_call_cancels_it_at_the_server(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    async with connected(tmp_path, tool("hang", f"hang:{seen}"), tool("say", "say:hi")) as connection:
        waiting = asyncio.create_task(connection.call("hang", {}))
        assert (await connection.call("say", {})).text == "hi"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(seen.exists)


async def test_progress_is_told_and_gives_a_call_more_time(tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str]] = []
    async with connected(tmp_path, tool("work", "progress:6"), call_seconds=0.5) as connection:
        outcome = await connection.call("work", {}, progress=lambda *one: told.append(one))
    assert outcome.text == "done"
    assert told[0] == (1.0, 6.0, "step 0") and len(told) == 6


async def test_twenty_megabytes_come_through(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("big", "big:20000000")) as connection:
        assert len((await connection.call("big", {})).text) == 20_000_000


async def test_a_line_without_end_ends_the_connection_and_fills_no_memory(tmp_path: Path) -> None:
    with pytest.raises(McpFailed):
        async with connected(tmp_path, endless=True, max_bytes=1_000_000):
            pass
    assert "a line is longer than 1000000 bytes" in (tmp_path / "log").read_text(encoding="utf-8")


async def test_a_flood_of_messages_is_kept_out_and_the_answer_comes(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("flood", "flood:3000")) as connection:
        assert (await connection.call("flood", {})).text == "flooded"
    assert (tmp_path / "log").read_text(encoding="utf-8").count("[info]") <= 1_000


async def test_what_only_a_user_knows_is_asked_as_a_form(tmp_path: Path) -> None:
    person = Person(FormAnswer("accept", {"name": "ada"}))
    async with connected(tmp_path, tool("ask", "ask")) as connection:
        outcome = await connection.call("ask", {}, person)
    [(question, fields, url)] = person.asked
    assert (question, url) == ("Who are you?", "")
    assert [(one.name, one.label, one.kind, one.required) for one in fields] == [
        ("name", "Your name", "text", True),
        ("size", "size", "choice", False),
    ]
    # What was left empty is the default.
    assert json.loads(outcome.text) == {"action": "accept", "content": {"name": "ada", "size": "l"}}


async def test_outside_of_a_session_every_question_is_declined(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("ask", "ask"), tool("sample", "sample")) as connection:
        assert json.loads((await connection.call("ask", {})).text) == {"action": "decline"}
        assert "there is no user" in (await connection.call("sample", {})).text


async def test_a_page_is_opened_only_by_a_user(tmp_path: Path) -> None:
    person = Person(FormAnswer("accept"))
    async with connected(tmp_path, tool("open", "open:https://example.org/x")) as connection:
        await connection.call("open", {}, person)
    assert person.asked == [("Open this.", (), "https://example.org/x")]


async def test_a_model_is_asked_through_the_session(tmp_path: Path) -> None:
    person = Person(reply="four")
    async with connected(tmp_path, tool("sample", "sample")) as connection:
        answer = json.loads((await connection.call("sample", {}, person)).text)
    assert answer["content"] == {"type": "text", "text": "four"} and answer["model"] == "some:model"
    assert person.sampled[0].messages[0].text == "What is two and two?"


async def test_only_the_root_of_the_session_is_told(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("roots", "roots")) as connection:
        told = json.loads((await connection.call("roots", {})).text)
    assert told == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}


async def test_our_keys_never_reach_a_server_and_what_its_entry_names_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567890")
    monkeypatch.setenv("SOME_TOKEN", "canary-token-12345")
    one = server(spec(tmp_path, tool("env", "env")), environment={"GITHUB_TOKEN": "named"})
    async with connected(tmp_path, one=one) as connection:
        told = json.loads((await connection.call("env", {})).text)
    assert told["GITHUB_TOKEN"] == "named" and "PATH" in told
    assert "canary" not in json.dumps(told)


async def test_changes_of_the_offer_are_heard(tmp_path: Path) -> None:
    heard: list[str] = []
    async with connected(tmp_path, tool("changed", "changed"), on_change=heard.append) as connection:
        await connection.call("changed", {})
        await until(lambda: heard == ["tools"])


async def test_pictures_and_structured_answers_are_blocks_and_text(tmp_path: Path) -> None:
    async with connected(tmp_path, tool("image", "image"), tool("structured", "structured")) as connection:
        picture = await connection.call("image", {})
        table = await connection.call("structured", {})
    assert picture.blocks == (Image("image/png", "aGk=", "image/png, 3 bytes"),)
    assert picture.text == "[image: image/png, 3 bytes]"
    assert '"answer": 42' in table.text and table.structured == {"answer": 42}


async def test_escape_sequences_and_hidden_characters_are_taken_out_of_results(tmp_path: Path) -> None:
    rude = "say:\x1b]0;title\x07a\x1b[31mred\x1b[0m\u202eevil\U000e0041"
    async with connected(tmp_path, tool("say", rude)) as connection:
        outcome = await connection.call("say", {})
    assert "\x1b" not in outcome.text and "\u202e" not in outcome.text and "\U000e0041" not in outcome.text
    assert "red" in outcome.text
