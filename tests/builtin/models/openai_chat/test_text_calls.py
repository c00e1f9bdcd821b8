"""Calls and thoughts that models write into their text are recovered only where they are meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builtin.models.openai_chat.model_calls import ask, openai, request
from tests.support.provider import Provider, call, finish, open_stream, stream, text

from cockpit.builtin.models.openai_chat.text_calls import TextRecovery
from cockpit.plugin.models import TextPart, ThoughtPart

ARGUMENTS = '{"path":"a.py"}'
FORMS = {
    "fence": '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```',
    "fence without a word": '```\n{"name": "read", "parameters": {"path": "a.py"}}\n```\n',
    "hermes": '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
    "hermes, closing tag eaten": '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n',
    "arguments as text": '<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a.py\\"}"}</tool_call>',
    "qwen coder": "<tool_call>\n<function=read>\n<parameter=path>\na.py\n</parameter>\n"
    "</function>\n</tool_call>",
    "glm": "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
    "llama": '<function=read>{"path": "a.py"}</function>',
    "mistral": '[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a.py"}}]',
    "mistral, named": '[TOOL_CALLS]read[ARGS]{"path": "a.py"}',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
    '{"path": "a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek, newer": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>"
    '{"path": "a.py"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "bare": '{"name": "read", "arguments": {"path": "a.py"}}',
}


def played(
    pieces: list[str], tools: tuple[str, ...] = ("read",), is_whole: bool = True
) -> tuple[str, str, list[tuple[str, str]]]:
    """(text, thoughts, calls) of an answer that came in `pieces`."""
    recovery = TextRecovery(tools)
    deltas = [delta for piece in pieces for delta in recovery.feed(piece)]
    owed, calls = recovery.end(is_whole)
    said = "".join(delta.text for delta in [*deltas, *owed] if isinstance(delta, TextPart))
    thought = "".join(delta.text for delta in [*deltas, *owed] if isinstance(delta, ThoughtPart))
    return said, thought, [(one.name, one.arguments) for one in calls]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_at_the_end_is_recovered_however_it_is_cut(form: str, size: int) -> None:
    answer = form if form.startswith("{") else f"I look at it.\n{form}"
    said, _, calls = played([answer[at : at + size] for at in range(0, len(answer), size)])
    assert calls == [("read", ARGUMENTS)]
    assert said == ("" if form.startswith("{") else "I look at it.\n")


def test_several_calls_are_recovered_in_order() -> None:
    twice = FORMS["hermes"] + "\n" + FORMS["hermes"].replace("a.py", "b.py")
    assert played([twice])[2] == [("read", ARGUMENTS), ("read", '{"path":"b.py"}')]
    both = '[TOOL_CALLS][{"name":"read","arguments":{}},{"name":"read","arguments":{"path":"a.py"}}]'
    assert played([both])[2] == [("read", "{}"), ("read", ARGUMENTS)]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_what_is_meant_as_text_stays_text(form: str) -> None:
    shown = f"A call looks like this:\n{form}\nand nothing else."
    assert played(list(shown)) == (shown, "", [])
    assert played(list(form), tools=()) == (form, "", [])
    assert played(list(form), tools=("write",)) == (form, "", [])
    assert played(list(form), is_whole=False) == (form, "", [])


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"name": "demo", "version": "1.0"}\n```',
        '```json\n{"dependencies": {"a": 1}}\n```\nThat is all.',
        "```python\nprint('<tool_call>')\n```",
        '{"answer": 42}',
        "a < b and c[0] `x` ``y``\n```\nplain\n```",
        '<tool_call>{"name": "read", "arguments": {"path": "a',
        "[TOOL_CALLS] is how Mistral writes them.",
        "<",
        "ends with <tool_",
    ],
)
def test_code_and_json_that_are_no_calls_come_through_unchanged(answer: str) -> None:
    assert played(list(answer)) == (answer, "", [])
    assert played([answer]) == (answer, "", [])


def test_only_what_may_be_a_call_is_held_back() -> None:
    recovery = TextRecovery(["read"])
    assert recovery.feed("plain text <b>and tags</b>") == [TextPart("plain text <b>and tags</b>")]
    assert recovery.feed('\n```json\n{"version": 1') == [TextPart('\n```json\n{"version": 1')]
    assert recovery.feed(" <tool") == [TextPart(" ")]
    assert recovery.feed("box>") == [TextPart("<toolbox>")]


@given(st.text(alphabet='<>/thinkTOL_CALS[]`{}"\n:name|', max_size=60), st.integers(1, 9))
def test_text_is_never_lost_or_changed(answer: str, size: int) -> None:
    said, thought, calls = played([answer[at : at + size] for at in range(0, len(answer), size)])
    if not calls and not thought and "<think" not in answer:
        assert said == answer


def test_a_thought_may_be_followed_by_a_call() -> None:
    answer = f"<think>I need it.</think>\n\n{FORMS['hermes']}"
    assert played(list(answer)) == ("", "I need it.", [("read", ARGUMENTS)])


def test_a_tag_in_the_middle_of_the_text_is_no_thought() -> None:
    assert played(["Use <think>x</think> here"]) == ("Use <think>x</think> here", "", [])


async def test_a_recovered_call_makes_the_turn_one_with_calls() -> None:
    async with Provider(stream(text("I look.\n"), text(FORMS["hermes"]), finish("stop"))) as server:
        turn = await ask(openai(server.base_url))
    assert (turn.text, turn.named, turn.finish) == ("I look.\n", [("read", ARGUMENTS)], "tool_calls")
    assert turn.calls[0][0]


async def test_no_call_is_recovered_beside_proper_ones_or_from_an_answer_cut_by_length() -> None:
    written = text(FORMS["hermes"])
    async with Provider(
        stream(call(0, "{}", id="a", name="read"), written, finish("tool_calls")),
        stream(written, finish("length")),
        stream(written, finish("stop")),
    ) as server:
        model = openai(server.base_url)
        assert (await ask(model)).named == [("read", "{}")]
        cut = await ask(model)
        assert (cut.named, cut.finish, cut.text) == ([], "length", FORMS["hermes"])
        assert (await ask(model, request(tools=()))).named == []


async def test_held_text_of_a_broken_line_is_not_run() -> None:
    async with Provider(open_stream(text(FORMS["hermes"]))) as server:
        turn = None
        try:
            turn = await ask(openai(server.base_url))
        except Exception as error:
            assert "cut off" in str(error)
        assert turn is None
