"""From a key press to its echo: while text streams, with a long history, and while starting."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

from bench import model_scripts
from bench.environment import BenchEnvironment
from bench.figures import Figure, median, p99
from bench.stream import ready, scripted
from bench.terminal import Terminal

EVERY = 0.03
# The end of what was typed is searched for: letters that are adjacent in no text.
LETTERS, LOOKED_AT, LINE = "zqxjvk", 7, 90
PLUGIN = '''"""A plugin like many: some values, some imports, one command."""

import csv, decimal, fractions, html, sqlite3, statistics, xml.dom.minidom
from dataclasses import make_dataclass

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Command, Show
from cockpit.protocol.content import Text

VALUES = [make_dataclass(f"Value{{n}}", ["a", "b", "c"], frozen=True) for n in range(40)]


async def run(invoked, context):
    return Show((Text("{name}"),))


@hookimpl
def register_commands(register, scope):
    register(Command("{name}", "a command", run))
'''


class Typist:
    """Types letters into a terminal and times each until it is shown."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._chance = random.Random(1)
        self._typed = ""
        self.taken: list[float] = []

    def key(self) -> None:
        """Types one letter; returns the milliseconds until its echo."""
        if not LOOKED_AT <= len(self._typed) < LINE:
            self._begin()
        self._typed += self._chance.choice(LETTERS)
        self._terminal.mark()
        at = self._terminal.write(self._typed[-1])
        self.taken.append(1000 * (self._terminal.wait_for(self._typed[-LOOKED_AT:]) - at))

    def _begin(self) -> None:
        """Start an empty line with a few letters that are not timed."""
        if self._typed:
            self._terminal.write("\x15")
            self._terminal.follow(0.2)
        self._typed = "".join(self._chance.choices(LETTERS, k=LOOKED_AT))
        self._terminal.mark()
        self._terminal.write(self._typed)
        self._terminal.wait_for(self._typed)

    def keys(self, count: int) -> None:
        for _ in range(count):
            self.key()
            self._terminal.follow(EVERY)

    def until(self, words: str) -> None:
        """Type until `words` are on the screen."""
        since = len(self._terminal.raw)
        while words not in self._terminal.text_since(since):
            since = max(since, len(self._terminal.raw) - 200)
            self.key()
            self._terminal.follow(EVERY)


def echoes(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """While 20,000 deltas (then 200 a second) stream, and with the 20,000 in the history."""
    fast = str(model_scripts.write(env.home, "fast", model_scripts.prose()))
    slow = str(model_scripts.write(env.home, "slow", [*model_scripts.prose(600), " "], delay_ms=5))
    found: dict[tuple[str, str], list[float]] = {}

    def run(name: str, script: str, command: Sequence[str], environment: dict[str, str]) -> None:
        with Terminal(command, environment, env.project) as terminal:
            ready(terminal)
            terminal.write("\r")
            # Wait until the line is empty: text typed before that is deleted with it.
            terminal.follow(0.05)
            typist = Typist(terminal)
            typist.until(model_scripts.END)
            found.setdefault((name, script), []).extend(typist.taken)
            if script == fast:
                terminal.follow(1.0)
                typist.taken.clear()
                typist.keys(60)
                found.setdefault((name, "history"), []).extend(typist.taken)

    for _ in range(rounds):
        for script in (fast, slow):
            run("cockpit", script, *scripted(env, script))
            run("log", script, env.peer("rich_log", script), env.environment())
    return [
        _figure("while 20,000 deltas stream", found["cockpit", fast], found["log", fast], "RichLog", 30),
        _figure("while 200 a second stream", found["cockpit", slow], found["log", slow], "RichLog", 30),
        _figure(
            "with them in the history", found["cockpit", "history"], found["log", "history"], "RichLog", 16
        ),
    ]


def first_seconds(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """The first 5 s after the first paint, while ten plugins load."""
    folder = env.home / "plugins"
    for number in range(10):
        distribution(folder, f"bench-{number}")
    found: dict[str, list[float]] = {"cockpit": [], "bare": []}
    commands = {"cockpit": [env.cockpit, "--trust"], "bare": env.peer("bare_app")}
    environment = env.environment(PYTHONPATH=str(folder))
    for number in range(rounds + 1):
        for name, command in commands.items():
            with Terminal(command, environment, env.project) as terminal:
                # The bytes that set the terminal's mode are not a paint.
                while len(terminal.raw) < 2_000:
                    terminal.read(1.0)
                typist = Typist(terminal)
                until = time.monotonic() + 5
                while time.monotonic() < until:
                    typist.keys(1)
                if number:
                    found[name] += typist.taken
    return [
        _figure("first 5 s, 10 plugins loading", found["cockpit"], found["bare"], "minimal Textual app", 30)
    ]


def _figure(when: str, ours: list[float], bare: list[float], peer: str, ceiling: float) -> Figure:
    what = f"key echo p99, {when} (p50 {median(ours):.1f}, {peer} {median(bare):.1f} ms)"
    return Figure(what, p99(ours), floor=p99(bare), peer=peer, ceiling=ceiling)


def distribution(folder: Path, name: str) -> None:
    """Write a plugin as an installed distribution into `folder`: a module and its metadata."""
    module = name.replace("-", "_")
    facts = folder / f"{module}-1.0.dist-info"
    facts.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(PLUGIN.format(name=name), encoding="utf-8")
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[cockpit]\n{name} = {module}\n", encoding="utf-8")
