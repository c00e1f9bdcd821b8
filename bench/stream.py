"""Many deltas as fast as they come: from Enter to the last of them on the screen."""

from collections.abc import Sequence

from bench import scripts
from bench.figures import Figure, interleaved, median
from bench.ground import Ground
from bench.terminal import Terminal

# By then what is loaded after the first paint is there. (A cursor blinks: nothing is ever quite still.)
SETTLED = 2.5


def scripted(ground: Ground, script: str) -> tuple[list[str], dict[str, str]]:
    """The cockpit with a script for its model: command and environment."""
    command = [ground.cockpit, "--trust", "--model", "scripted:script"]
    return command, ground.environment(COCKPIT_SCRIPT=script)


def ready(terminal: Terminal) -> None:
    """Wait until it takes keys and nothing is loading any more, and type a prompt."""
    terminal.follow(SETTLED)
    terminal.mark()
    terminal.write("zqgo")
    terminal.wait_for("zqgo")
    terminal.follow(0.3)
    terminal.mark()


def prose(ground: Ground, rounds: int) -> list[Figure]:
    return _streamed(ground, rounds, "20,000 prose deltas", scripts.prose(), at_most=1.0)


def paragraphs(ground: Ground, rounds: int) -> list[Figure]:
    return _streamed(ground, rounds, "10,000 short paragraphs", scripts.paragraphs(), at_most=0.16)


def _streamed(ground: Ground, rounds: int, what: str, pieces: list[str], at_most: float) -> list[Figure]:
    script = str(scripts.write(ground.home, "stream", pieces))

    def run(command: Sequence[str], environment: dict[str, str]) -> float:
        with Terminal(command, environment, ground.project) as terminal:
            ready(terminal)
            began = terminal.write("\r")
            return terminal.wait_for(scripts.END) - began

    taken = interleaved(
        {
            "cockpit": lambda: run(*scripted(ground, script)),
            "log": lambda: run(ground.peer("rich_log", script), ground.environment()),
        },
        max(1, rounds // 2),
    )
    ours, floor = (1000 * median(taken[name]) for name in ("cockpit", "log"))
    return [Figure(f"{what}: Enter to the last", ours, floor=floor, peer="RichLog", at_most=at_most)]
