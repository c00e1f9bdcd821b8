"""The grammar never raises, never guesses a change and never reads inside quotes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cockpit.builtin.models.offline.captures import mask_quotes
from cockpit.builtin.models.offline.change_intents import (
    CreateIntent,
    DeleteIntent,
    ReplaceIntent,
    ShellIntent,
)
from cockpit.builtin.models.offline.grammar import parse_prompt
from cockpit.builtin.models.offline.intents import UnknownIntent
from cockpit.builtin.models.offline.read_intents import FindIntent, RunTestsIntent, ShowIntent

VERBS = ("show", "find", "search", "list", "explain", "where", "who", "what", "显示", "查找", "搜索", "谁")
WORDS = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)
CHANGING = re.compile(
    r"replace|change|swap|substitute|create|make|write|add|new|touch|generate|put|save|overwrite|rename|move|mv|"
    r"delete|remove|rm|erase|trash|get rid|run|exec|shell|cmd|command|s/|[$!]|"
    "替换|改|换|建|写|存|生成|添加|覆盖|重命名|更名|移|挪|删|运行|执行|跑|命令|加"
)


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(prompt: str) -> None:
    assert isinstance(parse_prompt(prompt), tuple)


@given(st.text(alphabet="`'\"“”「」《》;；,，。.\n \\{}()[]/:：-ab中然后再and then", max_size=120))
def test_any_punctuation_is_read_without_an_error(prompt: str) -> None:
    assert isinstance(parse_prompt(prompt), tuple)


@given(WORDS)
def test_only_words_that_ask_for_a_change_make_one(prompt: str) -> None:
    changes = [intent for intent in parse_prompt(prompt) if intent.changes]
    assert not changes or CHANGING.search(prompt.casefold())


@given(st.sampled_from(VERBS), st.text(max_size=40).filter(lambda text: "\n" not in text and "`" not in text))
def test_what_is_quoted_is_never_a_request(verb: str, inside: str) -> None:
    intents = parse_prompt(f"{verb} `{inside}; delete a.py; run: rm b`")
    assert not any(intent.changes for intent in intents)


@given(st.text(alphabet="abc123 _./\\-中文", min_size=1, max_size=30).map(str.strip).filter(bool))
def test_a_quoted_text_to_search_for_is_kept_as_it_is(inside: str) -> None:
    assert parse_prompt(f"search for `{inside}`") == (FindIntent(inside),)


@given(st.text(max_size=200))
def test_shielding_loses_nothing_but_private_characters(prompt: str) -> None:
    shielded = mask_quotes(prompt)
    kept = "".join(one for one in prompt.replace("\r\n", "\n") if not "\ue000" <= one <= "\uf8ff")
    assert shielded.raw(shielded.text).replace("\n", "") == kept.replace("\n", "")


def test_a_part_that_is_not_understood_holds_every_change_back() -> None:
    assert parse_prompt("delete a.py; show b.py; feed the cat") == (
        ShowIntent("b.py"),
        UnknownIntent("feed the cat", held_back=True),
    )


def test_a_pasted_text_with_one_line_like_a_request_is_none() -> None:
    pasted = "Traceback (most recent call last):\n  at frobnicate\nrm important.txt\nValueError: no\nbad luck"
    intents = parse_prompt(pasted)
    assert len(intents) == 1
    assert isinstance(intents[0], UnknownIntent)
    assert intents[0].held_back


def test_a_file_takes_all_lines_that_follow_its_head() -> None:
    said = "show a.py, then create notes.md with:\n# Title\n\n- delete b.py; run the tests\n"
    assert parse_prompt(said) == (
        ShowIntent("a.py"),
        CreateIntent("notes.md", "# Title\n\n- delete b.py; run the tests\n"),
    )


def test_a_fence_is_the_content_and_requests_may_follow_it() -> None:
    said = "create a.py with:\n```python\nprint('x; y')\n```\nthen run the tests"
    assert parse_prompt(said) == (CreateIntent("a.py", "print('x; y')\n"), RunTestsIntent())


def test_a_command_line_keeps_its_semicolons_and_quotes() -> None:
    assert parse_prompt("run: for f in *; do echo \"$f; 'x'\"; done") == (
        ShellIntent("for f in *; do echo \"$f; 'x'\"; done"),
    )


def test_blanks_around_a_replaced_text_are_kept() -> None:
    assert parse_prompt('replace " a " by "  b" in x.txt') == (ReplaceIntent(" a ", "  b", "x.txt"),)


def test_a_glob_is_never_deleted() -> None:
    assert not any(isinstance(intent, DeleteIntent) for intent in parse_prompt("delete *.py"))


def test_a_very_long_prompt_is_read_in_bounded_work() -> None:
    parse_prompt("a and " * 20_000)
    parse_prompt("show a.py; " * 5_000)
