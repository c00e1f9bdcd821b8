"""Content never drives the terminal. Escape sequences, titles, links, clipboard writes, bidi and invisible
characters in models' words, tools' output, file names and branches leave every frontend as harmless signs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command import cockpit
from tests.support.decks import call, script
from tests.support.terminals import Terminal

from cockpit.protocol.safe_text import clean, clean_output, escape_json, single_line

pytestmark = pytest.mark.slow

ESC, BEL = "\x1b", "\x07"
HOSTILE = (
    f"{ESC}]0;PWNED{BEL}{ESC}]52;c;UFdORUQ={BEL}{ESC}]8;;http://evil.example{ESC}\\link{ESC}]8;;{ESC}\\"
    f"{ESC}[2J{ESC}[31m{ESC}[6n{ESC}P+q544e{ESC}\\{ESC}c{ESC}[?1049l{ESC}]1337;File=:QQ=={BEL}"
    "\x9b31m\x9d52;c;UFdORUQ=\x9c\x90q\x9c\u202egnp.exe\u202c\u2066\u200b\U000e0041\r\b\b\x7fend"
)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
# What cockpit's own drawing is made of: colours, cursor, erasing, modes, and questions to the terminal.
OWN = re.compile(
    r"\x1b\[[0-9;?<>=]*(?:\$p|[A-HJKSTmhlusr]|[0-9]* q)|\x1b\[[<>=?]?[0-9;]*[uctn]|\x1b[=>78]"
    r"|\x1b\]22;[a-z-]*\x07"
)


def hostile(root: Path, folder: Path) -> dict[str, str]:
    """A project whose files, branch and model all carry the payload; the environment to run in."""
    name = f"a{ESC}]0;PWNED{BEL}b\u202etxt.py"
    (root / name).write_text(f"x = 1  # {HOSTILE}\n", encoding="utf-8")
    subprocess.run(("git", "init", "-q", "-b", "main\u202eevil\u200b", "."), cwd=root, check=True)
    steps = script(
        folder,
        {
            "text": f"I look. {HOSTILE}",
            "thoughts": HOSTILE,
            "calls": [
                call("read", path=name),
                call("list", path="."),
                call("search", pattern="x = 1"),
                call(f"no{HOSTILE}", path=HOSTILE),
                call("write", path=f"new{ESC}[2J.txt", content=HOSTILE),
            ],
        },
        {"text": f"The end. {HOSTILE}"},
    )
    return {**os.environ, "COCKPIT_SCRIPT": str(steps), "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def harmless(raw: bytes, own: re.Pattern[str] | None) -> None:
    """Nothing but text and, where given, sequences of our own."""
    text = raw.decode("utf-8", "replace")
    for sign in ("]0;PWNED" + BEL, ESC + "]52", ESC + "]8", ESC + "P+q", ESC + "c", ESC + "]1337"):
        assert sign not in text, repr(text[max(0, text.find(sign) - 60) :][:120])
    rest = own.sub("", text) if own is not None else text
    found = UNSAFE.search(rest.replace("\r", ""))
    assert found is None, repr(rest[max(0, found.start() - 60) : found.end() + 60])


def on_terminal(
    root: Path, environment: dict[str, str], *arguments: str, drive: Callable[[Terminal], None]
) -> bytes:
    argv = [sys.executable, "-m", "cockpit", "--cwd", str(root), "--model", "scripted:script", *arguments]
    terminal = Terminal(argv, environment, 120, 40)
    try:
        drive(terminal)
        terminal.until_end()
    finally:
        terminal.close()
    return terminal.seen


def test_the_screen_draws_hostile_content_as_harmless_signs(root: Path, tmp_path: Path) -> None:
    environment = hostile(root, tmp_path)

    def drive(terminal: Terminal) -> None:
        terminal.until_text("trust it")
        terminal.send(b"\x1b")
        terminal.until(
            lambda: "trust it" not in terminal.text and "Ask anything" in terminal.text, "a session"
        )
        terminal.send(b"go\r")
        terminal.until(lambda: "The end." in terminal.text, "the end of the turn")
        terminal.send(b"@ab")
        terminal.until(lambda: "ab�txt.py" in terminal.text.rpartition("The end.")[2], "the file's name")
        terminal.send(b"\x7f")
        terminal.until(lambda: "@ab" not in terminal.text, "a letter less")
        terminal.send(b"\x7f")
        terminal.send(b"\x7f")
        terminal.until(lambda: "Ask anything" in terminal.text, "an empty line")
        terminal.send(b"/exit\r")

    raw = on_terminal(root, environment, "--mode", "full", drive=drive)
    harmless(raw, OWN)


def test_lines_on_a_terminal_are_harmless(root: Path, tmp_path: Path) -> None:
    environment = hostile(root, tmp_path)

    def drive(terminal: Terminal) -> None:
        terminal.until_text("Trust it?")
        terminal.send(b"n\ngo\n")
        terminal.until(
            lambda: "[end_turn]" in terminal.seen.decode("utf-8", "replace"), "the end of the turn"
        )
        terminal.send(b"\x04")

    harmless(on_terminal(root, environment, "--plain", "--mode", "full", drive=drive), None)


def test_commands_on_a_terminal_are_harmless_and_json_keeps_its_value(root: Path, tmp_path: Path) -> None:
    environment = hostile(root, tmp_path)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "cockpit",
            "-p",
            "go",
            "--model",
            "scripted:script",
            "--output-format",
            "json",
        ],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    harmless(ended.stdout + ended.stderr, None)
    said = json.loads(ended.stdout)
    assert said["result"] == f"The end. {HOSTILE}"
    session = said["session"]
    for arguments in (
        ("sessions", "show", session),
        ("sessions", "list"),
        ("sessions", "export", session),
        ("replay", session, "--plain"),
        ("audit", "tail"),
        ("nav", "symbols", "x"),
        ("nav", "outline", HOSTILE.replace("\0", "")),
    ):
        argv = [sys.executable, "-m", "cockpit", *arguments]
        before = Path.cwd()
        os.chdir(root)
        try:
            terminal = Terminal(argv, environment, 120, 40)
        finally:
            os.chdir(before)
        try:
            terminal.until_end()
        finally:
            terminal.close()
        assert terminal.seen, arguments
        harmless(terminal.seen, None)


def test_text_and_streams_of_one_prompt_are_harmless_in_a_pipe_too(root: Path, tmp_path: Path) -> None:
    environment = hostile(root, tmp_path)
    for output in ("text", "stream-json"):
        arguments = ("-p", "go", "--model", "scripted:script", "--output-format", output)
        ended = cockpit(*arguments, cwd=root, environment=environment)
        harmless((ended.out + ended.err).encode(), None)


@given(st.text())
def test_no_text_is_unsafe_after_the_gate(text: str) -> None:
    for gate in (clean, clean_output, single_line):
        assert not UNSAFE.search(gate(text))
    line = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(escape_json(line)) == {"text": text} and not UNSAFE.search(escape_json(line))
