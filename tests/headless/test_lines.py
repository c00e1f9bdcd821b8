"""`cockpit --plain`: the same session line by line, here through pipes."""

from pathlib import Path

import pytest
from tests.support.command import Ended, cockpit
from tests.support.decks import call, script

from cockpit.core import store

EDIT = call("edit", path="a.txt", old="one", new="eins")


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def plain(project: Path, *lines: str, arguments: tuple[str, ...] = ()) -> Ended:
    typed = "".join(f"{line}\n" for line in lines)
    return cockpit("--plain", "--model", "scripted:script", *arguments, cwd=project, stdin=typed)


def text(project: Path) -> str:
    return (project / "a.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "after"), [("y", "eins\n"), ("n use another word", "one\n"), ("hm?", "one\n")]
)
def test_an_approval_is_answered_by_the_next_line(project: Path, answer: str, after: str) -> None:
    script(project.parent, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "change it", answer)
    assert ended.code == 0 and text(project) == after
    assert "-one" in ended.out and "+eins" in ended.out and "y once" in ended.out
    assert ("use another word" in ended.out) == answer.startswith("n ")


def test_an_approval_that_nobody_answers_is_a_no(project: Path) -> None:
    script(project.parent, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "change it")
    assert ended.code == 0 and text(project) == "one\n" and "[end_turn]" in ended.out


def test_a_session_answer_is_remembered(project: Path) -> None:
    status = call("shell", command="git --version")
    script(
        project.parent,
        {"calls": [status]},
        {"calls": [call("shell", command="git --version")]},
        {"text": "done"},
    )
    ended = plain(project, "go", "a")
    assert ended.out.count("? ") == 1 and ended.out.count("< shell: ok") == 2


def test_lines_of_a_pipe_wait_for_the_turn_before_them(project: Path) -> None:
    slow = {"text": "first answer", "chunks": 6, "delay_ms": 20}
    script(project.parent, slow, {"text": "second answer"})
    ended = plain(project, "one", "two")
    shown = [line for line in ended.out.splitlines() if line.startswith(("You:", "first", "second", "["))]
    assert shown == ["You: one", "first answer", "[end_turn]", "You: two", "second answer", "[end_turn]"]


def test_a_question_is_answered_by_the_next_line(project: Path) -> None:
    ask = call("ask_user", question="Which colour?", options=["red", "blue"])
    script(project.parent, {"calls": [ask]}, {"text": "done"})
    ended = plain(project, "ask me", "blue")
    assert "? Which colour? red | blue" in ended.out and "blue" in ended.out.partition("< ask_user: ok")[2]


def test_commands_answer_and_a_wrong_one_is_named(project: Path) -> None:
    script(project.parent, {"text": "done"})
    ended = plain(project, "/tools", "/nosuch", "/theme", "/exit", "never read")
    assert ended.code == 0
    assert "apply_patch" in ended.out and "there is no command /nosuch" in ended.out
    assert "/theme needs the full screen" in ended.out and "never read" not in ended.out


def test_without_a_terminal_it_is_plain_by_itself(project: Path) -> None:
    script(project.parent, {"text": "hello"})
    ended = cockpit("--model", "scripted:script", cwd=project, stdin="hi\n")
    assert ended.code == 0 and ended.out.startswith(f"cockpit in {project}") and "hello" in ended.out
    assert "This folder is not trusted" in ended.out


def test_a_resumed_session_shows_what_was_said_and_goes_on(project: Path) -> None:
    script(project.parent, {"text": "first"}, {"text": "second"})
    plain(project, "one")
    id = store.latest(str(project))
    assert id is not None
    ended = cockpit("--plain", "-r", id, cwd=project, stdin="two\n")
    assert ended.out.index("You: one") < ended.out.index("first") < ended.out.index("second")
