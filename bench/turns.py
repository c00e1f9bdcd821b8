"""Whether a long session becomes slow: the time of the hundredth turn compared with the first."""

import json
import subprocess

from bench.environment import BenchEnvironment, server
from bench.figures import Figure, median

COUNT = 100
FEW = 10


def growth(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """Turns of two requests and one call. The very first turn imports `openai`, so "first" is the median
    of the ten after it, and "hundredth" that of the last ten."""
    first: list[float] = []
    last: list[float] = []
    with server() as peer:
        for _ in range(max(1, rounds // 2)):
            environment = env.environment(OPENAI_BASE_URL=peer.url("turns"))
            command = env.peer("turns", str(env.project), str(COUNT))
            ended = subprocess.run(command, check=True, env=environment, capture_output=True)
            taken: list[float] = json.loads(ended.stdout)
            first += taken[1 : FEW + 1]
            last += taken[-FEW:]
            list(peer.events())
    ours, floor = 1000 * median(last), 1000 * median(first)
    return [Figure("own time of a turn, the 100th", ours, floor=floor, peer="the first", at_most=1.1)]
