"""What it costs when nothing happens: focus out and in, a resize, idling."""

from bench import scripts
from bench.figures import Figure, median
from bench.ground import Ground
from bench.stream import ready, scripted
from bench.terminal import COLUMNS, ROWS, Terminal

# Less than the cursor takes from one blink to the next.
QUIET = 0.15


def after_a_stream(ground: Ground, rounds: int) -> list[Figure]:
    """After 20,000 chunks: processor time, and until the screen is still."""
    script = str(scripts.write(ground.home, "stream", scripts.prose()))
    ours = _measured(Terminal(*scripted(ground, script), ground.project), rounds)
    log = _measured(Terminal(ground.peer("rich_log", script), ground.environment(), ground.project), rounds)
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
        terminal.wait_for(scripts.END)
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


def idle(ground: Ground, rounds: int) -> list[Figure]:
    """Nothing runs: the processor between the 5th and the 10th second, and the memory then."""
    found: dict[str, tuple[float, float]] = {}
    for name, command in (("cockpit", [ground.cockpit, "--trust"]), ("bare", ground.peer("bare_app"))):
        with Terminal(command, ground.environment(), ground.project) as terminal:
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
