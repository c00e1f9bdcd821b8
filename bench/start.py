"""Start-up time: `--version`, and from exec to typed text on the screen."""

import subprocess
from collections.abc import Sequence

from bench.environment import BenchEnvironment
from bench.figures import Figure, interleaved, median, seconds_of
from bench.terminal import Terminal

TYPED = "zqhello"


def version(env: BenchEnvironment, rounds: int) -> list[Figure]:
    def run(*command: str) -> float:
        environment = env.environment()
        return seconds_of(
            lambda: subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        )

    taken = interleaved(
        {
            "cockpit": lambda: run(env.cockpit, "--version"),
            "python": lambda: run(env.python, "-c", "pass"),
        },
        3 * rounds,
    )
    ours, floor = (1000 * median(taken[name]) for name in ("cockpit", "python"))
    return [Figure("cockpit --version", ours, floor=floor, peer="python -c pass", at_most=3)]


def echo(env: BenchEnvironment, rounds: int) -> list[Figure]:
    def run(command: Sequence[str]) -> float:
        with Terminal(command, env.environment(), env.project) as terminal:
            terminal.write(TYPED)
            return terminal.wait_for(TYPED) - terminal.began

    taken = interleaved(
        {
            "cockpit": lambda: run([env.cockpit, "--trust"]),
            "bare": lambda: run(env.peer("bare_app")),
        },
        2 * rounds,
    )
    ours, floor = (1000 * median(taken[name]) for name in ("cockpit", "bare"))
    return [Figure("exec to typed text echoed", ours, floor=floor, peer="minimal Textual app", at_most=1.15)]
