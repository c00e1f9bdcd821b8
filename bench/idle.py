"""What it costs when nothing happens: focus changes, a resize, idling."""

from bench import model_scripts
from bench.environment import BenchEnvironment
from bench.figures import Figure, median
from bench.stream import ready, scripted
from bench.terminal import COLUMNS, ROWS, Terminal

# Shorter than the interval between two blinks of the cursor.
QUIET = 0.15


def after_a_stream(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """After 20,000 chunks: processor time, and the time until the screen stops changing."""
    script = str(model_scripts.write(env.home, "stream", model_scripts.prose()))
    ours = _measured(Terminal(*scripted(env, script), env.project), rounds)
    log = _measured(Terminal(env.peer("rich_log", script), env.environment(), env.project), rounds)
    figures = []
    for what in ("focus out and in", "resize"):
        cpu, still = f"{what}, after 20,000 chunks: CPU", f"{what}: until the screen is still"
        figures.append(Figure(cpu, ours[what, "cpu"], floor=log[what, "cpu"], peer="RichLog", ceiling=20))
        figures.append(
            Figure(still, ours[what, "still"], floor=log[what, "still"], peer="RichLog", ceiling=100)
        )
    return figures


def _measured(terminal: Terminal, rounds: int) -> dict[tuple[str, str], float]:
    taken: dict[tuple[str, str], list[float]] = {}
    with terminal:
        ready(terminal)
        terminal.write("\r")
        terminal.wait_for(model_scripts.END)
        terminal.follow(2.0)
        for number in range(max(2, rounds)):
            for what in ("focus out and in", "resize"):
                before = terminal.processor_seconds()
                if what == "resize":
                    at = terminal.resize(COLUMNS - 15 * (number % 2 == 0), ROWS)
                    last = terminal.quiet(QUIET)
                else:
                    terminal.write("\x1b[O")
                    terminal.quiet(QUIET)
                    at = terminal.write("\x1b[I")
                    last = terminal.quiet(QUIET)
                spent = terminal.processor_seconds() - before
                taken.setdefault((what, "cpu"), []).append(1000 * spent)
                taken.setdefault((what, "still"), []).append(1000 * (last - at))
    return {key: median(values) for key, values in taken.items()}


def idle(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """Nothing runs: processor time between the 5th and the 10th second, and the memory then."""
    found: dict[str, tuple[float, float]] = {}
    for name, command in (("cockpit", [env.cockpit, "--trust"]), ("bare", env.peer("bare_app"))):
        with Terminal(command, env.environment(), env.project) as terminal:
            terminal.follow(5.0)
            before = terminal.processor_seconds()
            terminal.follow(5.0)
            percent = 100 * (terminal.processor_seconds() - before) / 5.0
            found[name] = percent, terminal.pss()
    (ours, memory), (bare, least) = found["cockpit"], found["bare"]
    peer = "minimal Textual app"
    return [
        Figure("idle CPU after 5 s", ours, unit="%", floor=bare, peer=peer, ceiling=0.5),
        Figure("idle PSS", memory, unit="MiB", floor=least, peer=peer, ceiling=70),
    ]
