"""A denied command stays denied however many words are inserted."""

import pytest

from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext

CONTEXT = ExecutionContext("/proj/ws", "/home/dev")


@pytest.mark.parametrize("count", [10, 250, 500, 20_000])
@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("rm", "-rf /"),
        ("rm -rf", "/"),
        ("rm -rf", "$HOME"),
        ("chmod -R 777", "/"),
        ("cat", "/home/dev/.ssh/id_rsa"),
        ("cp x", ".git/hooks/x"),
    ],
)
def test_extra_words_hide_nothing(head: str, tail: str, count: int) -> None:
    text = f"{head} {'a ' * count}{tail}"
    assert judge_line(text, "bash", CONTEXT, load_rules()).verdict.level == "deny"


@pytest.mark.parametrize("count", [10, 250, 500, 20_000])
def test_many_files_of_the_workspace_are_asked_about_and_not_refused(count: int) -> None:
    assert judge_line(f"rm -rf {'a ' * count}", "bash", CONTEXT, load_rules()).verdict.level == "ask"
