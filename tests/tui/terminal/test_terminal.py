"""The cockpit on a real terminal: typing, resizing, signals, and a terminal left as it was found."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.terminals import Terminal

from cockpit.tui.terminal.driver import PASTE_END, PASTE_START, PasteFilter

ROOT = Path(__file__).parents[3]
ALTERNATE_OFF, CURSOR_ON, PASTE_OFF, KITTY_OFF = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[<u"

pytestmark = pytest.mark.xdist_group("terminal")


@contextmanager
def cockpit_on(scene: str, home: Path, columns: int = 100, rows: int = 30) -> Iterator[Terminal]:
    program = [sys.executable, "-m", "tests.tui.terminal.on_a_terminal", scene]
    with on_a_terminal(program, home, columns, rows) as terminal:
        yield terminal


@contextmanager
def on_a_terminal(program: list[str], home: Path, columns: int = 100, rows: int = 30) -> Iterator[Terminal]:
    environment = {
        **os.environ,
        "COCKPIT_HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONPATH": str(ROOT),
    }
    terminal = Terminal(program, environment, columns, rows)
    try:
        yield terminal
    finally:
        terminal.close()


def restored(terminal: Terminal) -> bool:
    """Whether the screen, the cursor, paste and keyboard modes and the line settings are as before."""
    tail = terminal.seen[-600:]
    return all(code in tail for code in (ALTERNATE_OFF, CURSOR_ON, PASTE_OFF, KITTY_OFF)) and (
        terminal.modes == terminal.before
    )


@pytest.mark.slow
def test_alt_and_a_digit_choose_a_tab_and_type_nothing(home: Path) -> None:
    with cockpit_on("idle", home, columns=120) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"\x1b2")
        terminal.until_text("no current file yet")
        terminal.send(b"\x1b1")
        terminal.until(lambda: "no current file yet" not in terminal.text, "the tab Now")
        assert not any(letter in terminal.text for letter in "¡™£")


@pytest.mark.slow
def test_an_editor_gets_the_terminal_and_gives_it_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "vim"
    editor.write_text('#!/bin/sh\nprintf "EDITING %s\\n" "$1"\nread line\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    with cockpit_on("idle", home, columns=120) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"\x1b[17~")  # F6
        terminal.until_text("checkout")
        terminal.send(b"\r")
        terminal.until_text("EDITING +call cursor(5,1)")
        terminal.send(b"\r")
        terminal.until_text("deepseek-chat")
        terminal.send(b"still here")
        terminal.until_text("still here")


@pytest.mark.slow
def test_an_editor_that_is_not_there_leaves_the_screen_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "/nonexistent/vim")
    with cockpit_on("idle", home, columns=120) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"\x1b[17~")  # F6
        terminal.until_text("checkout")
        terminal.send(b"\r")
        terminal.until_text("did not start")
        terminal.send(b"still here")
        terminal.until_text("still here")


def test_typing_appears_and_ctrl_d_leaves_the_terminal_as_it_was(home: Path) -> None:
    with cockpit_on("idle", home) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send("hello 世界".encode())
        terminal.until_text("hello")
        terminal.send(b"\x15")
        terminal.until(lambda: "hello" not in terminal.text, "empty Composer")
        terminal.send(b"\x04")
        assert terminal.until_end() == 0 and restored(terminal)


@pytest.mark.slow
def test_keys_typed_before_the_first_paint_are_not_lost(home: Path) -> None:
    with cockpit_on("idle", home) as terminal:
        terminal.until(lambda: b"\x1b[?1049h" in terminal.seen, "first byte")
        terminal.send(b"early")
        terminal.until_text("early")


@pytest.mark.slow
def test_a_bare_escape_interrupts_at_once(home: Path) -> None:
    with cockpit_on("running", home) as terminal:
        terminal.until_text("RUNNING")
        terminal.send(b"\x1b")
        terminal.until(lambda: b"op:Interrupt" in terminal.seen, "interrupt")


@pytest.mark.slow
def test_an_escape_in_the_kitty_form_interrupts(home: Path) -> None:
    with cockpit_on("running", home) as terminal:
        terminal.until_text("RUNNING")
        terminal.send(b"\x1b[27u")
        terminal.until(lambda: b"op:Interrupt" in terminal.seen, "interrupt")


@pytest.mark.slow
def test_shift_enter_in_the_kitty_form_breaks_the_line(home: Path) -> None:
    with cockpit_on("idle", home) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"one\x1b[13;2utwo")
        terminal.until(
            lambda: sum("one" in row or "two" in row for row in terminal.screen.display) == 2, "two lines"
        )
        assert b"op:Prompt" not in terminal.seen


@pytest.mark.slow
def test_a_paste_in_pieces_with_colours_in_it_is_text_and_sends_nothing(home: Path) -> None:
    with cockpit_on("idle", home) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"\x1b[200~" + b"\x1b[31mred\x1b[0m line\r" * 300)
        terminal.send(b"the last\r\x1b[201~and typed")
        terminal.until_text("and typed")
        # The Composer grows in the frames after the one that shows the last line.
        terminal.until_text("red line")
        assert "[31m" not in terminal.text
        assert b"op:Prompt" not in terminal.seen


@pytest.mark.slow
def test_the_screen_is_drawn_where_stderr_goes_into_a_file(home: Path, tmp_path: Path) -> None:
    program = f"exec {sys.executable} -m tests.tui.terminal.on_a_terminal idle 2>{tmp_path / 'err.log'}"
    with on_a_terminal(["sh", "-c", program], home) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"\x04")
        assert terminal.until_end() == 0 and restored(terminal)
    assert b"deepseek" not in (tmp_path / "err.log").read_bytes()


@pytest.mark.slow
def test_another_size_is_drawn_whole(home: Path) -> None:
    with cockpit_on("worked", home, 140, 40) as terminal:
        terminal.until_text("SESSION")
        terminal.resize(70, 24)
        terminal.until(
            lambda: "SESSION" not in terminal.text and "All 12 tests pass" in terminal.text, "narrow"
        )
        terminal.resize(120, 30)
        terminal.until_text("SESSION")


@pytest.mark.slow
def test_sigterm_restores_the_terminal(home: Path) -> None:
    with cockpit_on("running", home) as terminal:
        terminal.until_text("RUNNING")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.until_end() == 143 and restored(terminal)


def test_a_crash_restores_the_terminal_and_says_what_happened(home: Path) -> None:
    with cockpit_on("crash", home) as terminal:
        assert terminal.until_end() != 0
        assert restored_screen(terminal) and b"the deck burned down" in terminal.seen


def restored_screen(terminal: Terminal) -> bool:
    """As `restored`, though more was written after it."""
    codes = (ALTERNATE_OFF, CURSOR_ON, PASTE_OFF, KITTY_OFF)
    return all(code in terminal.seen for code in codes) and terminal.modes == terminal.before


@pytest.mark.slow
def test_suspending_gives_the_terminal_back_and_resuming_draws_again(home: Path) -> None:
    with cockpit_on("idle", home) as terminal:
        terminal.until_text("deepseek-chat")
        terminal.send(b"draft")
        terminal.until_text("draft")
        terminal.send(b"\x1a")
        terminal.until(lambda: restored_screen(terminal), "restored screen")
        terminal.until(lambda: _stopped(terminal.process.pid), "stop")
        count = terminal.seen.count(b"\x1b[?1049h")
        terminal.process.send_signal(signal.SIGCONT)
        terminal.until(lambda: terminal.seen.count(b"\x1b[?1049h") > count, "screen again")
        terminal.until_text("draft")


def _stopped(pid: int) -> bool:
    done, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
    return done == pid and os.WIFSTOPPED(status)


@pytest.mark.slow
def test_nothing_of_a_models_text_acts_on_the_terminal(home: Path) -> None:
    with cockpit_on("hostile", home) as terminal:
        terminal.until_text("the end")
        assert b"OWNED" not in terminal.screen.title.encode()
        assert b"\x1b]2;OWNED" not in terminal.seen and b"\x1b[2J\x1b[HGOTCHA" not in terminal.seen


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_paste_loses_its_escapes_and_typing_keeps_them(size: int) -> None:
    pasted = "one \x1b[1;31mred\x1b[0m\r\x1b]0;title\x07two\ttab \x1b[20 中文\x1b"
    text = f"a\x1b[A{PASTE_START}{pasted}{PASTE_END}\x1b[B\x1b{PASTE_START}x{PASTE_END}b\x1b"
    pastes = PasteFilter()
    out = "".join(pastes.clean(text[at : at + size]) for at in range(0, len(text), size))
    # An unfinished sequence loses what makes it one.
    clean = "one red\rtwo\ttab [20 中文"
    assert out == f"a\x1b[A{PASTE_START}{clean}{PASTE_END}\x1b[B\x1b{PASTE_START}x{PASTE_END}b\x1b"


def test_a_bare_escape_passes_at_once() -> None:
    assert PasteFilter().clean("\x1b") == "\x1b"
