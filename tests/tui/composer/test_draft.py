"""The history of prompts, and which part of a draft is completed."""

import os
import stat
from pathlib import Path

import pytest

from cockpit.tui.composer.completion import CompletionToken, token_at
from cockpit.tui.composer.editor import MAX_HISTORY, PromptHistory


def test_history_walks_back_and_returns_the_draft(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "h.jsonl")
    history.add("one")
    history.add("two\nlines")
    assert history.step(-1, "draft") == "two\nlines"
    assert history.step(-1, "") == "one" and history.step(-1, "") is None
    assert (
        history.step(1, "") == "two\nlines" and history.step(1, "") == "draft" and history.step(1, "") is None
    )


def test_history_is_private_and_survives(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "h.jsonl"
    history = PromptHistory(path)
    history.add("中文")
    history.add("中文")
    history.add("b")
    with path.open("a") as file:
        file.write('"torn')
    assert PromptHistory(path).texts == ["中文", "b"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_history_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    history = PromptHistory(path)
    for number in range(2 * MAX_HISTORY + 5):
        history.add(str(number))
    assert len(history.texts) <= 2 * MAX_HISTORY and len(path.read_text().splitlines()) <= 2 * MAX_HISTORY
    assert PromptHistory(path).texts[-1] == str(2 * MAX_HISTORY + 4)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("/mo", CompletionToken("/", 0, 3)),
        ("see @src/a", CompletionToken("@", 4, 10)),
        ("@", CompletionToken("@", 0, 1)),
        ("mail a@b", None),
        ("plain", None),
        ("（@文件", CompletionToken("@", 1, 4)),
        ("/model x", CompletionToken("/", 0, 8)),
        ("why #a1b", CompletionToken("#", 4, 8)),
        ("#", None),
        ("# A heading", None),
        ("see x#y", None),
    ],
)
def test_the_token_at_the_cursor_is_completed(text: str, token: CompletionToken | None) -> None:
    assert token_at(text, len(text)) == token
