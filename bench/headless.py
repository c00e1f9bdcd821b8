"""A headless prompt: the whole run, the time to its first request, and from a result to the next request."""

import subprocess

from bench.environment import BenchEnvironment, Server, server
from bench.figures import Figure, interleaved, median, p99, seconds_of

FIRST_REQUEST = 12_000


def oneshot(env: BenchEnvironment, rounds: int) -> list[Figure]:
    with server() as peer:
        url = peer.url("oneshot")
        environment = env.environment(OPENAI_BASE_URL=url)

        def run(*command: str) -> float:
            return seconds_of(
                lambda: subprocess.run(
                    command, check=True, env=environment, cwd=env.project, capture_output=True
                )
            )

        taken = interleaved(
            {
                "cockpit": lambda: run(env.cockpit, "-p", "hi", "--model", "openai:m"),
                "script": lambda: run(*env.peer("one_call", url)),
            },
            3 * rounds,
        )
        ours, floor = (1000 * median(taken[name]) for name in ("cockpit", "script"))
        figure = Figure(
            "headless one-shot, loopback server", ours, floor=floor, peer="openai alone", at_most=1.15
        )
        return [figure, *_first_request(env, peer)]


def _first_request(env: BenchEnvironment, peer: Server) -> list[Figure]:
    list(peer.events())
    _run(env, peer, "oneshot")
    size = peer.wait("request")["bytes"]
    what = "first request: built-in tools and instructions"
    return [Figure(what, size / 1000, unit="kB", ceiling=FIRST_REQUEST / 1000)]


def steps(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """From the last byte of an answer with a call to the next request, including the call itself."""
    gaps: list[float] = []
    with server() as peer:
        for _ in range(rounds):
            _run(env, peer, "steps")
            answered = 0.0
            first = True
            for event in peer.events(0.2):
                if event["kind"] == "answered":
                    answered = event["at"]
                elif event["kind"] == "request" and answered and not first:
                    gaps.append(1000 * (event["at"] - answered))
                first = first and event["kind"] != "answered"
    return [
        Figure("tool result to the next request (20 steps, median)", median(gaps), ceiling=10),
        Figure("  the same, p99", p99(gaps)),
    ]


def _run(env: BenchEnvironment, peer: Server, scene: str) -> None:
    command = [env.cockpit, "-p", "go", "--model", "openai:m", "--mode", "full"]
    environment = env.environment(OPENAI_BASE_URL=peer.url(scene))
    subprocess.run(command, check=True, env=environment, cwd=env.project, capture_output=True)
