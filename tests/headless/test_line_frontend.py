"""`cockpit --plain`: a session line by line, here through pipes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.command import PATIENCE, Ended, command, hears_every_signal
from tests.support.decks import call, script
from tests.support.in_process import cockpit
from tests.support.terminals import Terminal

from cockpit.core.transcript import session_store

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
    ("answer", "after"),
    [
        ("y", "eins\n"),
        ("n use another word", "one\n"),
        ("hm?", "one\n"),
        ("you must not do that", "one\n"),
        ("please wait", "one\n"),
        ("also look at b.txt", "one\n"),
    ],
)
def test_an_approval_is_answered_by_the_next_line(project: Path, answer: str, after: str) -> None:
    script(project.parent, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "change it", answer)
    assert ended.code == 0 and text(project) == after
    assert "-one" in ended.out and "+eins" in ended.out and "y once" in ended.out
    assert ("use another word" in ended.out) == answer.startswith("n ")


def test_whole_request_and_only_offered_answers_are_printed(project: Path) -> None:
    command = "rm -f b.txt\n" + "\n".join(f"echo {n} > c.txt" for n in range(90))
    script(project.parent, {"calls": [call("shell", command=command)]}, {"text": "done"})
    ended = plain(project, "go", "a")
    assert "echo 89 > c.txt" in ended.out and "? rm -f b.txt: it deletes" in ended.out
    assert "a this session" not in ended.out and "was not offered" in ended.out
    assert not (project / "c.txt").exists()


def test_unanswered_approval_is_rejected(project: Path) -> None:
    script(project.parent, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "change it")
    assert ended.code == 0 and text(project) == "one\n" and "[end_turn]" in ended.out


def test_a_session_answer_is_remembered(project: Path) -> None:
    status = call("shell", command="touch b.txt")
    script(
        project.parent,
        {"calls": [status]},
        {"calls": [call("shell", command="touch b.txt")]},
        {"text": "done"},
    )
    ended = plain(project, "go", "a")
    assert ended.out.count("? ") == 1 and ended.out.count("< shell: ok") == 2


def test_lines_of_a_pipe_wait_for_the_end_of_the_turn(project: Path) -> None:
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


def test_commands_answer_and_unknown_commands_are_reported(project: Path) -> None:
    script(project.parent, {"text": "done"})
    ended = plain(project, "/tools", "/nosuch", "/theme", "/exit", "never read")
    assert ended.code == 0
    assert "apply_patch" in ended.out and "there is no command /nosuch" in ended.out
    assert "/theme needs the full screen" in ended.out and "never read" not in ended.out


def test_plain_is_the_default_without_a_terminal(project: Path) -> None:
    script(project.parent, {"text": "hello"})
    ended = cockpit("--model", "scripted:script", cwd=project, stdin="hi\n")
    assert ended.code == 0 and ended.out.startswith(f"cockpit in {project}") and "hello" in ended.out
    assert "This folder is not trusted" in ended.out


def test_resumed_session_shows_its_history_and_continues(project: Path) -> None:
    script(project.parent, {"text": "first"}, {"text": "second"})
    plain(project, "one")
    id = session_store.latest_session(str(project))
    assert id is not None
    ended = cockpit("--plain", "-r", id, cwd=project, stdin="two\n")
    assert ended.out.index("You: one") < ended.out.index("first") < ended.out.index("second")


ARGUMENTS = ("--plain", "--model", "scripted:script", "--mode", "full")


@contextmanager
def running(project: Path) -> Iterator[subprocess.Popen[str]]:
    """`cockpit --plain` on pipes whose ends stay open."""
    process = subprocess.Popen(
        command(*ARGUMENTS),
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, PYTHONUNBUFFERED="1"),
        preexec_fn=hears_every_signal,
    )
    deadline = threading.Timer(PATIENCE, process.kill)
    deadline.start()
    try:
        yield process
    finally:
        deadline.cancel()
        process.kill()
        with process:
            pass


def until(process: "subprocess.Popen[str]", text: str) -> str:
    """The first line of the output that holds `text`."""
    assert process.stdout is not None
    return next(line for line in process.stdout if text in line)


def say(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def child_in(project: Path) -> dict[str, object]:
    """A call whose program opens a pipe of the test: its other end says when the program is gone."""
    os.mkfifo(project / "alive")
    return dict(call("shell", command="exec 3> alive; echo began >&3; sleep 60"))


@pytest.mark.parametrize("signed", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_no_child(project: Path, signed: signal.Signals) -> None:
    script(project.parent, {"calls": [child_in(project)]}, {"text": "never"})
    with running(project) as process:
        say(process, "go")
        with (project / "alive").open(encoding="utf-8") as alive:
            assert alive.readline() == "began\n"
            process.send_signal(signed)
            assert process.wait(30) == 130
            # Whoever wrote to it is gone: the input is at its end.
            assert alive.read() == ""
    id = session_store.latest_session(str(project))
    assert id is not None
    kept = (session_store.session_folder(str(project)) / f"{id}.jsonl").read_text(encoding="utf-8")
    assert '"stop_reason":"cancelled"' in kept.replace(" ", "") and "session_closed" in kept


@pytest.mark.parametrize("signed", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_an_idle_session_with_open_input(project: Path, signed: signal.Signals) -> None:
    script(project.parent, {"text": "hello"})
    with running(project) as process:
        say(process, "go")
        until(process, "[end_turn]")
        process.send_signal(signed)
        assert process.wait(30) == 130


def test_ctrl_c_interrupts_the_turn_and_the_next_line_is_read(project: Path) -> None:
    script(project.parent, {"calls": [child_in(project)]}, {"text": "second answer"})
    with running(project) as process:
        say(process, "go")
        with (project / "alive").open(encoding="utf-8") as alive:
            assert alive.readline() == "began\n"
            process.send_signal(signal.SIGINT)
            until(process, "[cancelled]")
            assert alive.read() == ""
        say(process, "on")
        until(process, "second answer")
        until(process, "[end_turn]")
        say(process, "/exit")
        assert process.wait(30) == 0


def test_interrupt_at_the_end_of_the_input_exits_with_130(project: Path) -> None:
    script(project.parent, {"calls": [child_in(project)]}, {"text": "never"})
    with running(project) as process:
        say(process, "go")
        assert process.stdin is not None
        process.stdin.close()
        with (project / "alive").open(encoding="utf-8") as alive:
            assert alive.readline() == "began\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130


def test_ctrl_c_withdraws_an_open_question(project: Path) -> None:
    ask = call("ask_user", question="Which colour?", options=["red", "blue"])
    script(project.parent, {"calls": [ask]}, {"text": "second answer"})
    with running(project) as process:
        say(process, "go")
        until(process, "? Which colour?")
        process.send_signal(signal.SIGINT)
        until(process, "[cancelled]")
        say(process, "on")
        until(process, "second answer")


def test_ctrl_c_at_a_terminal_needs_no_enter(project: Path) -> None:
    slow = call("shell", command="echo began; sleep 60")
    script(project.parent, {"calls": [slow]}, {"text": "never"})
    started = f"import pty; pty.spawn({command(*ARGUMENTS, '--cwd', str(project), '--trust')!r})"
    terminal = Terminal([sys.executable, "-c", started], os.environ, columns=240)
    try:
        terminal.until_text("model scripted:script")
        terminal.send(b"go\n")
        terminal.until_text("> $ echo began")
        terminal.send(b"\x03")
        terminal.until_text("[cancelled]")
        terminal.send(b"\x03")
        terminal.until_end()
    finally:
        terminal.close()
