"""Esc: time until the request is closed, and until a tool's child process is gone and the Composer takes
text."""

import time
from pathlib import Path

from bench.environment import BenchEnvironment, server
from bench.figures import Figure, median
from bench.stream import ready
from bench.terminal import Terminal

FORMS = {"bare": "\x1b", "ESC[27u": "\x1b[27u"}


def escapes(env: BenchEnvironment, rounds: int) -> list[Figure]:
    figures = []
    for name, keys in FORMS.items():
        closed = [_to_closed(env, keys) for _ in range(rounds)]
        figures.append(Figure(f"Esc ({name}) to the request closed", median(closed), ceiling=50))
    for name, keys in FORMS.items():
        free = [_to_free(env, keys) for _ in range(rounds)]
        what = f"Esc ({name}) in sleep 30 to the child gone and text taken"
        figures.append(Figure(what, median(free), ceiling=100))
    return figures


def _to_closed(env: BenchEnvironment, keys: str) -> float:
    with server() as peer:
        environment = env.environment(OPENAI_BASE_URL=peer.url("stream"))
        command = [env.cockpit, "--trust", "--model", "openai:m"]
        with Terminal(command, environment, env.project) as terminal:
            ready(terminal)
            terminal.write("\r")
            terminal.wait_for("word40")
            at = terminal.write(keys)
            return 1000 * (peer.wait("gone", 10)["at"] - at)


def _to_free(env: BenchEnvironment, keys: str) -> float:
    with server() as peer:
        environment = env.environment(OPENAI_BASE_URL=peer.url("sleep"))
        command = [env.cockpit, "--trust", "--model", "openai:m", "--mode", "full"]
        with Terminal(command, environment, env.project) as terminal:
            ready(terminal)
            terminal.write("\r")
            child = _child(terminal)
            terminal.follow(0.3)
            terminal.mark()
            at = terminal.write(keys)
            while _lives(child):
                terminal.read(0.001)
                if time.monotonic() - at > 10:
                    raise TimeoutError("the child of the tool lives 10 s after Esc")
            gone = time.monotonic()
            terminal.write("zqfree")
            return 1000 * (max(gone, terminal.wait_for("zqfree")) - at)


def _child(terminal: Terminal) -> int:
    """The process of `sleep 30`, once it exists."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        terminal.read(0.02)
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cmdline").read_bytes().startswith(b"sleep\x0030") and _is_below(
                    int(folder.name), terminal.process.pid
                ):
                    return int(folder.name)
            except (OSError, ValueError):
                continue
    raise TimeoutError(f"no `sleep 30` was started:\n{terminal.screen()}")


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if pid == ancestor:
            return True
    return False


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
