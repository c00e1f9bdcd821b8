"""The small tools that talk to the session: ask_user, read_result, tool_search."""

from pathlib import Path

import pytest
from tests.support.session_view import Tools, call, context_on, registered

from cockpit.builtin.tools import ask_user, git, read_result, todo, tool_search
from cockpit.plugin.tools import ToolFailed

ASK = registered(ask_user)["ask_user"]
READ = registered(read_result)["read_result"]
FIND = registered(tool_search)["tool_search"]


async def test_answer_of_the_user_is_the_result(tmp_path: Path) -> None:
    context = context_on(tmp_path, answers=["the second"])
    done = await call(ASK, context, question="Which one?", options=["the first", "the second"])
    assert done.text == "the second"
    assert context.session.asked == [("Which one?", ("the first", "the second"))]


async def test_question_without_a_user_says_how_to_continue(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="no user is there"):
        await call(ASK, context_on(tmp_path), question="Which one?")


async def test_empty_question_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="`question` is empty"):
        await call(ASK, context_on(tmp_path), question=" ")


async def test_long_result_is_paged_to_its_end(tmp_path: Path) -> None:
    context = context_on(tmp_path)
    text = "".join(f"line {number}\n" for number in range(5_000))
    handle = context.session.results.keep(text)
    text_read, cursor, pages = "", 0, 0
    while cursor >= 0:
        done = await call(READ, context, handle=handle, cursor=cursor)
        head, _, body = done.text.partition("\n")
        text_read += body
        cursor = int(head.rsplit("=", 1)[1]) if "cursor=" in head else -1
        pages += 1
    assert text_read == text
    assert pages == 3


async def test_negative_cursor_counts_from_the_end(tmp_path: Path) -> None:
    context = context_on(tmp_path)
    handle = context.session.results.keep("a" * 100 + "the end")
    done = await call(READ, context, handle=handle, cursor=-7)
    assert done.text.endswith("\nthe end")


async def test_lines_that_contain_a_text_are_listed_with_their_cursor(tmp_path: Path) -> None:
    context = context_on(tmp_path)
    handle = context.session.results.keep("x" * 300_000 + "\nan Error here\nno\nerror again")
    done = await call(READ, context, handle=handle, find="error")
    assert done.text.splitlines() == [
        "2 lines contain 'error'",
        "cursor 300001: an Error here",
        "cursor 300018: error again",
    ]


async def test_unknown_handle_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="unknown result 'r9'"):
        await call(READ, context_on(tmp_path), handle="r9")


async def test_deferred_tool_is_found_with_its_schema(tmp_path: Path) -> None:
    tools = Tools((*registered(git).values(), *registered(todo).values()))
    done = await call(FIND, context_on(tmp_path, toolbox=tools), query="stash")
    assert "git_change: " in done.text
    assert '"enum": ["add", "commit"' in done.text


async def test_tool_search_without_result_lists_the_deferred_tools(tmp_path: Path) -> None:
    tools = Tools(tuple(registered(git).values()))
    done = await call(FIND, context_on(tmp_path, toolbox=tools), query="weather")
    assert done.text == "no tool matches; the other tools are: git_change"
