"""The scripted model plays its script, whatever was played before."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.builtin.models.openai_chat.model_calls import Models, Turn, ask
from tests.support.provider import until

from cockpit.builtin.models import scripted_model
from cockpit.plugin.models import FinishPart, Model, ModelFailed, ModelRequest, TextPart
from cockpit.plugin.values import Scope
from cockpit.protocol.content import Text
from cockpit.protocol.messages import AssistantMessage, Json, Message, ToolCall, UserMessage

ASKED = UserMessage((Text("do it"),))
SAID = AssistantMessage("x")


def model(folder: Path, steps: list[Json], others: dict[str, Json] | None = None) -> Model:
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": steps, "others": others or {}}))
    models = Models()
    scripted_model.register_models(models, Scope(str(folder), True, {"script": "script.json"}, "", ""))
    return models.by_name["scripted"]


def after(*messages: Message, system: str = "") -> ModelRequest:
    return ModelRequest("script", system, messages)


async def test_a_step_follows_as_many_answers_as_came_before(tmp_path: Path) -> None:
    player = model(tmp_path, [{"text": "one"}, {"text": "two", "repeat": 2}, {"text": "four"}])
    for count, expected in enumerate(["one", "two", "two", "four", "(end of script)"]):
        turn = await ask(player, after(ASKED, *[SAID] * count))
        assert (turn.text, turn.finish) == (expected, "stop")
    assert (await ask(player, after(ASKED))).text == "one"


async def test_text_thoughts_calls_usage_and_finish_are_played(tmp_path: Path) -> None:
    step: Json = {
        "text": "abcdef",
        "thoughts": "hm",
        "chunks": 3,
        "calls": [
            {"name": "read", "arguments": {"path": "é"}},
            {"id": "own", "name": "x", "arguments": "{oops"},
        ],
        "usage": {"input": 5, "output": 2, "cost": None},
    }
    turn = await ask(model(tmp_path, [step, {"text": "z", "finish": "length"}]), after(ASKED))
    assert [delta.text for delta in turn.deltas if isinstance(delta, TextPart)] == ["ab", "cd", "ef"]
    assert turn.named == [("read", '{"path": "é"}'), ("x", "{oops")]
    assert turn.calls[1][0] == "own"
    assert turn.finish == "tool_calls"
    assert turn.usage is not None and (turn.usage.input, turn.usage.cost) == (5, None)
    assert (await ask(model(tmp_path, [{"text": "z", "finish": "length"}]), after(ASKED))).finish == "length"


async def test_a_fault_is_played_once_and_then_its_answer(tmp_path: Path) -> None:
    fault: Json = {"fault": {"fault": "rate_limited", "message": "slow", "retry_after": 0.5}, "repeat": 2}
    player = model(tmp_path, [{"text": "one"}, fault, {"text": "half", "cut": True}, {"text": "two"}])
    for _ in range(2):
        with pytest.raises(ModelFailed) as caught:
            await ask(player, after(ASKED, SAID))
        assert (caught.value.fault, caught.value.retry_after) == ("rate_limited", 0.5)
    cut = await ask(player, after(ASKED, SAID))
    assert (cut.text, cut.finish) == ("half", None)
    partial = AssistantMessage("half", finish="interrupted")
    assert (await ask(player, after(ASKED, SAID, partial))).text == "two"


async def test_a_session_resumed_in_another_process_goes_on_where_it_was(tmp_path: Path) -> None:
    steps: list[Json] = [{"text": "one"}, {"text": "two"}, {"text": "three"}]
    await ask(model(tmp_path, steps), after(ASKED))
    assert (await ask(model(tmp_path, steps), after(ASKED, SAID, SAID))).text == "three"


async def test_calls_keep_the_place_when_compaction_drops_what_came_before(tmp_path: Path) -> None:
    call: Json = {"calls": [{"name": "read", "arguments": {}}]}
    player = model(tmp_path, [{"text": "one"}, {"text": "two"}, call, {"text": "four"}, {"text": "five"}])
    turn = await ask(player, after(ASKED, SAID, SAID))
    made = AssistantMessage("", (ToolCall(turn.calls[0][0], "read", {}),), finish="tool_calls")
    assert (await ask(player, after(ASKED, SAID, SAID, made))).text == "four"
    assert (await ask(player, after(UserMessage((Text("summary"),)), made))).text == "four"
    assert (await ask(player, after(ASKED, made, SAID))).text == "five"


async def test_other_conversations_have_scripts_of_their_own(tmp_path: Path) -> None:
    others: dict[str, Json] = {"(?i)you review": [{"text": "fine"}], "^$": []}
    player = model(tmp_path, [{"text": "main"}], others)
    assert (await ask(player, after(ASKED, system="You review code."))).text == "fine"
    assert (await ask(player, after(ASKED, system="You help."))).text == "main"


async def test_a_gate_holds_a_step_until_its_file_exists(tmp_path: Path) -> None:
    player = model(tmp_path, [{"text": "in", "gate": "open"}])
    turn = Turn()
    task = asyncio.create_task(ask(player, after(ASKED), turn))
    await until(lambda: not task.done())
    assert turn.deltas == []
    (tmp_path / "open").touch()
    await asyncio.wait_for(task, 5)
    assert turn.deltas[-1] == FinishPart("stop")


@pytest.mark.parametrize(
    "content", ["", "[]", '{"steps": 3}', '{"steps": [{"text": "x"}], "others": {"(": []}}']
)
async def test_a_broken_script_is_named(tmp_path: Path, content: str) -> None:
    player = model(tmp_path, [])
    (tmp_path / "script.json").write_text(content)
    with pytest.raises(ModelFailed, match=r"script\.json cannot be played"):
        await ask(player, after(ASKED))


def test_without_a_script_it_says_how_to_name_one() -> None:
    models = Models()
    scripted_model.register_models(models, Scope(".", True, {}, "", ""))
    assert "COCKPIT_SCRIPT" in models.by_name["scripted"].ready()
