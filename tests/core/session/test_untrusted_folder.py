"""Nothing in a folder acts and none of its configuration is read before it is trusted.

The real commands in a repository full of traps: each trap leaves a mark when it acts, our own processes
are watched from inside (`sys.addaudithook`), and where strace is there all of them from outside.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.parts import skip_without
from tests.support.terminals import Terminal
from tests.support.traps import CANARY, Trapped, command, trapped

pytestmark = pytest.mark.slow

PATIENCE = 90.0


@pytest.fixture
def trap(tmp_path: Path) -> Trapped:
    return trapped(tmp_path)


def run(trap: Trapped, *arguments: str, stdin: str = "") -> str:
    """Run a command in the repository to its end; all that it said."""
    ended = subprocess.run(
        traced(trap, command(*arguments)),
        cwd=trap.root,
        input=stdin.encode(),
        capture_output=True,
        env=trap.environment(),
        timeout=PATIENCE,
        check=False,
    )
    return (ended.stdout + ended.stderr).decode("utf-8", "replace")


def traced(trap: Trapped, argv: list[str]) -> list[str]:
    """`argv` under strace where it is there and may trace."""
    strace = shutil.which("strace")
    if strace is None or not _may_trace(strace):
        return argv
    log = str(trap.watch / "strace")
    return [strace, "-f", "-qq", "-s", "400", "-e", "trace=execve,openat", "-A", "-o", log, *argv]


def _may_trace(strace: str) -> bool:
    return subprocess.run([strace, "-qq", "-o", os.devnull, "true"], check=False).returncode == 0


def nothing_acted(trap: Trapped) -> None:
    assert trap.marks == ""
    assert trap.seen() == []
    log = trap.watch / "strace"
    assert log.exists() == _traces()
    if not log.exists():
        skip_without(
            "strace", "strace is not installed or may not trace; only cockpit's own process was watched"
        )
    assert trap.traced(log) == []


def _traces() -> bool:
    strace = shutil.which("strace")
    return strace is not None and _may_trace(strace)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "show src.py"),
        ("-p", "/status", "--output-format", "stream-json"),
        ("doctor",),
        ("plugins",),
        ("models",),
        ("sessions", "list"),
        ("config", "show"),
        ("config", "check"),
        ("commands", "list"),
        ("instructions", "list"),
        ("import",),
        ("audit", "verify"),
        ("lsp", "status"),
        ("nav", "symbols", "traded"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_command_in_an_untrusted_folder_springs_no_trap(trap: Trapped, arguments: tuple[str, ...]) -> None:
    said = run(trap, *arguments)
    assert CANARY not in said and "Traceback" not in said, said
    assert (trap.watch / "seen").exists(), f"the watch saw nothing: {said}"
    nothing_acted(trap)


def test_a_plain_session_springs_no_trap(trap: Trapped) -> None:
    said = run(trap, "--plain", stdin="show src.py\n/status\n/exit\n")
    assert "traded" in said and CANARY not in said
    nothing_acted(trap)


def test_a_served_session_springs_no_trap(trap: Trapped) -> None:
    pipe = subprocess.PIPE
    argv = traced(trap, command("serve", "stdio"))
    environment = trap.environment()
    with subprocess.Popen(argv, cwd=trap.root, stdin=pipe, stdout=pipe, env=environment) as serving:
        assert serving.stdin is not None and serving.stdout is not None
        asked = {"id": "1", "do": "open", "session": "", "root": str(trap.root), "resume": None}
        serving.stdin.write(json.dumps(asked).encode() + b"\n")
        serving.stdin.flush()
        answer = json.loads(serving.stdout.readline())
        assert answer["id"] == "1" and answer["value"], answer
        serving.stdin.close()
    nothing_acted(trap)


def test_using_the_screen_springs_no_trap(trap: Trapped) -> None:
    before = Path.cwd()
    os.chdir(trap.root)
    try:
        terminal = Terminal(traced(trap, command()), trap.environment(), 110, 34)
    finally:
        os.chdir(before)
    try:
        terminal.until_text("trust it")
        terminal.send(b"\x1b")
        terminal.until(
            lambda: "Ask anything" in terminal.text and "trust it" not in terminal.text, "a session"
        )
        terminal.send(b"show src.py\r")
        terminal.until(lambda: "def traded" in terminal.text, "the file")
        terminal.send(b"/exit\r")
        terminal.until_end()
    finally:
        terminal.close()
    assert CANARY.encode() not in terminal.seen
    nothing_acted(trap)


def test_the_traps_and_the_watch_work(trap: Trapped) -> None:
    """Without this the tests above could be empty: a trusted session reads the folder's configuration."""
    (trap.root / ".cockpit" / "policy.yaml").write_text("", encoding="utf-8")
    run(trap, "--trust", "-p", "show src.py")
    assert any(line.endswith(".cockpit/settings.toml") for line in trap.seen())
    subprocess.run([str(trap.root / "git"), "status"], check=True)
    assert "git status" in trap.marks
