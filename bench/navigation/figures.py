"""The figures of code intelligence, each step in its own process on a copy of Django's sources."""

import json
import shutil
import subprocess
import time
from collections.abc import Mapping

from bench.environment import ROOT, BenchEnvironment
from bench.figures import Figure, median, p99
from bench.keys import Typist
from bench.navigation import sources
from bench.terminal import Terminal

LIMIT = 900.0


def _step(env: BenchEnvironment, step: str) -> Mapping[str, float]:
    root, home = env.home / f"django-{step}", env.home / f"navigation-{step}"
    if not root.exists():
        sources.copy(root)
    environment = env.environment(PYTHONPATH=str(ROOT), COCKPIT_HOME=str(home / "cockpit"))
    command = env.peer("navigation", step, str(root), str(home))
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    shutil.rmtree(root, ignore_errors=True)
    if ended.returncode:
        raise TimeoutError(f"the step {step} failed: {ended.stderr[-800:]}")
    lines = ended.stdout.strip().split("\n")
    for line in lines[:-1]:
        print(line)
    found: Mapping[str, float] = json.loads(lines[-1])
    return found


def index(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """Cold and warm start, next to the bare parse of the same bytes in one thread, and memory."""
    taken = [_step(env, "index") for _ in range(rounds)]
    cold, warm, bare, grown = (
        median([one[name] for one in taken]) for name in ("cold", "warm", "bare", "memory")
    )
    return [
        Figure("index of Django, cold", cold, floor=bare, peer="bare parse of the same bytes", at_most=1.2),
        Figure("index of Django, warm start", warm, ceiling=200),
        Figure("memory of that index in our process", grown, "MiB", ceiling=60),
    ]


def answers(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """How long a definition takes: the first one, a warm one, and after a file was changed."""
    few = range(max(1, rounds // 2))
    firsts = [_step(env, "first") for _ in few]
    warm = [_step(env, "warm") for _ in few]
    changed = [_step(env, "changed") for _ in few]
    by_index = all(one["by_index"] for one in firsts)
    replaced = median([one["replaced"] for one in firsts])
    bare = median([one["bare"] for one in warm])
    what = "by tree-sitter" if by_index else "NOT by tree-sitter"
    first = Figure(
        f"first definition, server starting ({what}, the server's after {replaced:,.0f} ms)",
        median([one["first"] for one in firsts]),
        ceiling=300,
    )
    ours = median([one["ours"] for one in warm])
    return [
        first,
        Figure(f"warm definition (a bare client of ty {bare:.1f} ms)", ours, ceiling=bare + 3),
        Figure(
            "one file written to index and server", median([one["changed"] for one in changed]), ceiling=150
        ),
    ]


def right(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """Whether the answers are right."""
    found, same = _step(env, "recall"), _step(env, "same")
    return [
        _share(
            f"tree-sitter finds of the server's definitions ({found['uses']:.0f} uses)", found["recall"], 0.85
        ),
        _share("of what tree-sitter finds the server agrees with", found["precision"], 0.90),
        Figure("definitions unlike a bare client's, of 300", same["before"], "", ceiling=0),
        Figure("the same after 50 edits", same["after"], "", ceiling=0),
        Figure("wrong of 60 read by hand, by the server", 60 - same["right"], "", ceiling=2),
        Figure("wrong of 60 read by hand, by tree-sitter", 60 - same["right_index"], ""),
    ]


def _share(what: str, share: float, least: float) -> Figure:
    """A share that must be at least `least`, expressed as the part that is missing."""
    return Figure(f"{what}: {share:.3f}, missing", 100 * (1 - share), "%", ceiling=100 * (1 - least))


def tokens(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """What an answered question costs by symbol, and by searching and reading."""
    found = _step(env, "tokens")
    what = f"tokens a question, by symbol ({found['right']:.0f} of {found['count']:.0f} right)"
    return [Figure(what, found["symbol"], "", floor=found["search"], peer="search and read", at_most=0.5)]


def keys(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """Typing in the first 5 s on Django's sources, while index and server start."""
    root = env.home / "django-keys"
    if not root.exists():
        sources.copy(root)
    found: list[float] = []
    for number in range(rounds):
        home = env.home / f"keys-{number}"
        environment = env.environment(COCKPIT_HOME=str(home))
        with Terminal([env.cockpit, "--trust"], environment, root) as terminal:
            while len(terminal.raw) < 2_000:
                terminal.read(1.0)
            typist = Typist(terminal)
            until = time.monotonic() + 5
            while time.monotonic() < until:
                typist.keys(1)
            found += typist.taken
    what = f"key echo p99, first 5 s, index and server starting (p50 {median(found):.1f} ms)"
    return [Figure(what, p99(found), ceiling=30)]
