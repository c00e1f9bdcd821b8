"""The offline model with real tools on real files, from a prompt to the final answer."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import writing_context
from tests.support.session_view import registered

from cockpit.builtin.models import offline
from cockpit.builtin.tools import apply_patch, delete, edit, glob, move, read, search, shell, todo, write
from cockpit.builtin.tools import list as list_tool
from cockpit.builtin.tools.navigation import definition, diagnostics, references, rename, symbols
from cockpit.builtin.tools.navigation import format as format_tool
from cockpit.errors import CockpitError
from cockpit.plugin.context import RunningCall
from cockpit.plugin.models import CallPart, FinishPart, ModelRequest, TextPart, ToolSchema
from cockpit.plugin.tools import Tool
from cockpit.protocol.content import Text
from cockpit.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

BY_SYMBOL = (definition, diagnostics, format_tool, references, rename, symbols)
PLUGINS = (apply_patch, delete, edit, glob, list_tool, move, read, search, shell, todo, write, *BY_SYMBOL)
Answer = Callable[[ToolCall], Awaitable[ToolMessage]]


def tools() -> dict[str, Tool]:
    return {name: tool for plugin in PLUGINS for name, tool in registered(plugin).items()}


def running_on(root: Path, denied: frozenset[str] = frozenset()) -> Answer:
    """Runs each call as the core does: preview, a decision, run; `denied` tools are rejected."""
    known, context = tools(), writing_context(root)

    async def answer(call: ToolCall) -> ToolMessage:
        tool = known[call.name]
        try:
            shown = await tool.preview(call.arguments, context) if tool.preview else None
            if call.name in denied:
                return ToolMessage(call.id, call.name, "the user rejected this call; do not repeat it", True)
            seal = shown.launch.seal() if shown is not None and shown.launch is not None else ""
            running = replace(context, call=RunningCall(call, shown, lambda text: None, seal))
            done = await tool.run(call.arguments, running)
        except CockpitError as error:
            return ToolMessage(call.id, call.name, str(error), True)
        return ToolMessage(call.id, call.name, done.text, done.is_error)

    return answer


async def one_answer(messages: list[Message], may_call: bool = True) -> tuple[str, list[ToolCall]]:
    schemas = tuple(ToolSchema(name, "", {}) for name in tools()) if may_call else ()
    text, calls, finish = "", list[ToolCall](), ""
    async for delta in offline.stream(ModelRequest("rules", "", tuple(messages), schemas)):
        if isinstance(delta, TextPart):
            text += delta.text
        elif isinstance(delta, CallPart):
            calls.append(ToolCall(delta.id, delta.name, json.loads(delta.arguments)))
        elif isinstance(delta, FinishPart):
            finish = delta.finish
    assert finish == ("tool_calls" if calls else "stop")
    return text, calls


async def converse(prompt: str, answer: Answer) -> tuple[str, list[ToolCall]]:
    """The last answer to `prompt`, and all calls that were made for it."""
    messages: list[Message] = [UserMessage((Text(prompt),))]
    made: list[ToolCall] = []
    for _ in range(30):
        text, calls = await one_answer(messages)
        messages.append(AssistantMessage(text, tuple(calls)))
        if not calls:
            return text, made
        made += calls
        messages += [await answer(call) for call in calls]
    raise AssertionError("the model does not come to an end")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/calc.py").write_text("RATE = 3\n\n\ndef total(values):\n    return sum(values) * RATE\n")
    (tmp_path / "src/shop.py").write_text("from calc import total\n\nprint(total([1]), subtotal)\n")
    (tmp_path / "README.md").write_text("# Shop\n\nCalls `total`.")
    (tmp_path / "windows.txt").write_bytes(b"total\r\nand total\r\n")
    return tmp_path


async def test_a_definition_is_answered_with_its_place_and_its_lines(project: Path) -> None:
    text, calls = await converse("where is total defined?", running_on(project))
    assert "src/calc.py:4" in text
    assert "return sum(values)" in text
    assert [call.name for call in calls] == ["definition", "read"]


async def test_a_name_without_definition_is_answered_with_its_mentions(project: Path) -> None:
    text, _ = await converse("where is subtotal defined", running_on(project))
    assert "No definition" in text
    assert "src/shop.py:3" in text


async def test_a_text_in_one_place_is_replaced(project: Path) -> None:
    text, calls = await converse("replace `RATE = 3` by `RATE = 4`", running_on(project))
    assert (project / "src/calc.py").read_text().startswith("RATE = 4\n")
    assert calls[-1].name == "edit"
    assert "src/calc.py:1" in text


async def test_a_text_in_several_places_changes_nothing_and_lists_them(project: Path) -> None:
    before = (project / "src/calc.py").read_bytes()
    text, calls = await converse("replace RATE by FACTOR in src/calc.py", running_on(project))
    assert (project / "src/calc.py").read_bytes() == before
    assert {call.name for call in calls} == {"search"}
    assert "src/calc.py:1" in text
    assert "src/calc.py:5" in text


async def test_all_of_them_are_replaced_when_that_is_said(project: Path) -> None:
    await converse("replace all RATE by FACTOR in src/calc.py", running_on(project))
    assert "RATE" not in (project / "src/calc.py").read_text()


async def test_a_rename_is_one_patch_over_all_files_and_whole_words_only(project: Path) -> None:
    text, calls = await converse("rename total to grand_total", running_on(project))
    # No server is there: it goes by text.
    assert [call.name for call in calls] == ["rename", "search", "apply_patch"]
    assert (
        project / "src/shop.py"
    ).read_text() == "from calc import grand_total\n\nprint(grand_total([1]), subtotal)\n"
    assert (project / "windows.txt").read_bytes() == b"grand_total\r\nand grand_total\r\n"
    assert (project / "README.md").read_text() == "# Shop\n\nCalls `grand_total`."
    assert "4 files" in text


async def test_a_denied_change_leaves_the_files_and_is_said(project: Path) -> None:
    before = (project / "src/shop.py").read_bytes()
    text, _ = await converse("rename total to sum_up", running_on(project, frozenset({"apply_patch"})))
    assert (project / "src/shop.py").read_bytes() == before
    assert "was not run" in text
    assert "Nothing was changed" in text


async def test_what_follows_a_denied_call_is_still_done(project: Path) -> None:
    denied = running_on(project, frozenset({"delete"}))
    text, calls = await converse("delete README.md; then show src/calc.py lines 1-2", denied)
    assert [call.name for call in calls] == ["delete", "read"]
    assert "was not run" in text
    assert "RATE = 3" in text


async def test_several_requests_are_answered_together_and_in_order(project: Path) -> None:
    text, calls = await converse("show README.md; search for RATE; list src", running_on(project))
    assert [call.name for call in calls] == ["read", "search", "list"]
    assert text.index("# Shop") < text.index("RATE = 3") < text.index("shop.py\n")


async def test_a_file_is_created_once_and_not_overwritten(project: Path) -> None:
    await converse("create docs/注意.md with `first`", running_on(project))
    text, _ = await converse("create docs/注意.md with `second`", running_on(project))
    assert (project / "docs/注意.md").read_text() == "first\n"
    assert "overwrite" in text
    await converse("overwrite docs/注意.md with `second`", running_on(project))
    assert (project / "docs/注意.md").read_text() == "second\n"


async def test_a_file_that_is_elsewhere_is_listed_not_deleted(project: Path) -> None:
    text, _ = await converse("delete calc.py", running_on(project))
    assert (project / "src/calc.py").exists()
    assert "- `src/calc.py`" in text


async def test_a_file_named_alone_is_shown_where_it_lies(project: Path) -> None:
    text, _ = await converse("show calc.py line 1", running_on(project))
    assert "`src/calc.py`" in text
    assert "RATE = 3" in text


async def test_a_command_says_its_output_and_code(project: Path) -> None:
    text, _ = await converse("run: echo from the shell; exit 3", running_on(project))
    assert "from the shell" in text
    assert "[exit code 3]" in text


async def test_an_outline_has_line_numbers(project: Path) -> None:
    text, _ = await converse("outline of src/calc.py", running_on(project))
    assert "4: def total(values):" in text


async def test_a_chinese_prompt_is_answered_in_chinese(project: Path) -> None:
    text, _ = await converse("total 在哪里定义？然后显示 README.md", running_on(project))
    assert "定义在" in text
    assert "# Shop" in text


async def test_the_list_grows_over_prompts_and_is_ticked_off(project: Path) -> None:
    answer = running_on(project)
    messages: list[Message] = []
    for prompt in ("todo: buy milk, write code", "mark milk as done", "show my todo list"):
        messages.append(UserMessage((Text(prompt),)))
        while True:
            text, calls = await one_answer(messages)
            messages.append(AssistantMessage(text, tuple(calls)))
            if not calls:
                break
            messages += [await answer(call) for call in calls]
    assert "- [x] buy milk" in text
    assert "- [ ] write code" in text


async def test_a_resumed_conversation_goes_on_where_it_stood(project: Path) -> None:
    answer = running_on(project)
    messages: list[Message] = [UserMessage((Text("show README.md; then search for RATE"),))]
    _, calls = await one_answer(messages)
    messages += [AssistantMessage("", tuple(calls)), await answer(calls[0])]
    again = [await one_answer(messages), await one_answer(messages)]
    assert again[0] == again[1]
    assert again[0][1][0].name == "search"


async def test_without_tools_it_says_what_it_has_and_stops(project: Path) -> None:
    messages: list[Message] = [UserMessage((Text("show README.md"),))]
    text, calls = await one_answer(messages, may_call=False)
    assert not calls
    assert "no more tool calls" in text


@pytest.mark.parametrize("prompt", ["hello", "help", "你好", "who are you", "write me a poem about the sea"])
async def test_it_never_pretends_to_be_a_language_model(prompt: str, project: Path) -> None:
    text, calls = await converse(prompt, running_on(project))
    assert not calls
    assert "not a language model" in text or "不是语言模型" in text
    assert "/connect" in text


async def test_call_ids_are_unique_in_a_conversation(project: Path) -> None:
    _, calls = await converse("show README.md; show README.md; show README.md", running_on(project))
    assert len({call.id for call in calls}) == 3


def test_it_is_registered_as_the_model_offline() -> None:
    model: Any = registered(offline, hook="register_models")["offline"]
    assert model.ready() == ""
    assert model.default == "rules"
