"""Many deltas at full speed: from Enter until the last of them is on the screen."""

from collections.abc import Sequence

from bench import model_scripts
from bench.environment import BenchEnvironment
from bench.figures import Figure, interleaved, median
from bench.terminal import Terminal

# By then everything loaded after the first paint is there. (A cursor blinks, so output never stops.)
SETTLED = 2.5


def scripted(env: BenchEnvironment, script: str) -> tuple[list[str], dict[str, str]]:
    """cockpit with a script for its model: command and environment."""
    command = [env.cockpit, "--trust", "--model", "scripted:script"]
    return command, env.environment(COCKPIT_SCRIPT=script)


def ready(terminal: Terminal) -> None:
    """Wait until it takes keys and nothing is loading, then type a prompt."""
    terminal.follow(SETTLED)
    terminal.mark()
    terminal.write("zqgo")
    terminal.wait_for("zqgo")
    terminal.follow(0.3)
    terminal.mark()


def prose(env: BenchEnvironment, rounds: int) -> list[Figure]:
    return _streamed(env, rounds, "20,000 prose deltas", model_scripts.prose(), at_most=1.0)


def paragraphs(env: BenchEnvironment, rounds: int) -> list[Figure]:
    return _streamed(env, rounds, "10,000 short paragraphs", model_scripts.paragraphs(), at_most=0.16)


def _streamed(
    env: BenchEnvironment, rounds: int, what: str, pieces: list[str], at_most: float
) -> list[Figure]:
    script = str(model_scripts.write(env.home, "stream", pieces))

    def run(command: Sequence[str], environment: dict[str, str]) -> float:
        with Terminal(command, environment, env.project) as terminal:
            ready(terminal)
            began = terminal.write("\r")
            return terminal.wait_for(model_scripts.END) - began

    taken = interleaved(
        {
            "cockpit": lambda: run(*scripted(env, script)),
            "log": lambda: run(env.peer("rich_log", script), env.environment()),
        },
        max(1, rounds // 2),
    )
    ours, floor = (1000 * median(taken[name]) for name in ("cockpit", "log"))
    return [Figure(f"{what}: Enter to the last", ours, floor=floor, peer="RichLog", at_most=at_most)]
