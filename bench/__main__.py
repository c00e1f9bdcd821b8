"""`python -m bench [FIGURE...]`: measures, and prints one table."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping

from bench import checkpoints, headless, idle, keys, start, stop, stream, turns
from bench.environment import BenchEnvironment, open_environment
from bench.extensions import figures as extensions
from bench.figures import Figure, table
from bench.navigation import figures as navigation
from bench.safety import figures as safety

FIGURES: Mapping[str, Callable[[BenchEnvironment, int], list[Figure]]] = {
    "version": start.version,
    "start": start.echo,
    "headless": headless.oneshot,
    "steps": headless.steps,
    "turns": turns.growth,
    "stream": stream.prose,
    "paragraphs": stream.paragraphs,
    "keys": keys.echoes,
    "plugins": keys.first_seconds,
    "stop": stop.escapes,
    "still": idle.after_a_stream,
    "idle": idle.idle,
    "index": navigation.index,
    "answers": navigation.answers,
    "right": navigation.right,
    "tokens": navigation.tokens,
    "symbol_keys": navigation.keys,
    "verdicts": safety.verdicts,
    "hour": safety.hour,
    "costs": safety.costs,
    "checkpoints": checkpoints.looks,
    "moved_in": extensions.start,
    "cache": extensions.cache,
    "hook": extensions.hook,
    "mcp": extensions.mcp,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (5)")
    given = parser.parse_args()
    if unknown := [name for name in given.figures if name not in FIGURES]:
        parser.error(f"no figure {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    if os.name == "nt":
        print("the figures of a terminal need a pty: run the bench on Linux or macOS", file=sys.stderr)
        return 2
    began = time.monotonic()
    measured: list[Figure] = []
    with open_environment() as here:
        for name in given.figures or FIGURES:
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                measured += FIGURES[name](here, given.rounds)
            except (TimeoutError, EOFError) as error:
                print(f"{name} could not be measured: {error}", file=sys.stderr)
                measured.append(Figure(f"{name}: not measured", float("inf"), at_most=0, floor=1.0))
    print(table(measured))
    print(f"{len(measured)} figures in {time.monotonic() - began:.0f} s, {os.cpu_count()} processors")
    return int(any(one.is_ok is False for one in measured))


if __name__ == "__main__":
    sys.exit(main())
