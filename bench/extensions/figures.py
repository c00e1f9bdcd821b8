"""Starting with a large configuration, what a prefix cache can reuse, a hook, a call of an MCP server."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.environment import BenchEnvironment, server
from bench.extensions.migrated_project import furnish
from bench.figures import Figure, interleaved, median
from bench.start import TYPED
from bench.terminal import Terminal

TURNS = 6


def start(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """From exec to typed text, in a folder with 100 skills, 50 roles, 20 commands and 10 MCP servers."""
    full = _furnished(env)

    def run(project: Path) -> float:
        with Terminal([env.cockpit, "--trust"], env.environment(), project) as terminal:
            terminal.write(TYPED)
            return terminal.wait_for(TYPED) - terminal.began

    taken = interleaved({"full": lambda: run(full), "empty": lambda: run(env.project)}, 2 * rounds)
    ours, floor = (1000 * median(taken[name]) for name in ("full", "empty"))
    what = "exec to typed text echoed, 180 files configured"
    return [Figure(what, ours, floor=floor, peer="none configured", at_most=1.1)]


def cache(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """The part of each request that a prefix cache would find again, by tools and messages as providers
    store them."""
    full = _furnished(env)
    with server() as peer:
        environment = env.environment(OPENAI_BASE_URL=peer.url("prefix"))
        command = env.peer("turns", str(full), str(TURNS), "--trust")
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seen = [event for event in peer.events() if event["kind"] == "prefix"]
    again = [one["found"] / one["before"] for one in seen[1:]]
    missed = max(one["before"] - one["found"] for one in seen[1:])
    what = f"bytes a prefix cache loses of {len(seen)} requests, at worst"
    share = Figure("share of a request found again, at worst", 100 * min(again), "%")
    return [share, Figure(what, missed, "B", ceiling=2_000)]


def hook(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """A read with a `PreToolUse` hook minus one without, next to the hook's bare process."""
    taken = _peer(env, "hook", str(50 * max(1, rounds // 2)))
    ours, floor = (1000 * median(taken[name]) for name in ("more", "process"))
    return [Figure("a hook, above its process", ours - floor, ceiling=5.0, floor=floor, peer="its process")]


def mcp(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """A call of a stdio server through all steps of a tool call, minus the same call by the SDK's own
    client."""
    taken = _peer(env, "mcp_call", str(50 * max(1, rounds // 2)))
    ours, floor = (1000 * median(taken[name]) for name in ("ours", "sdk"))
    return [
        Figure("a call through MCP, above the SDK's", ours - floor, ceiling=3.0, floor=floor, peer="the SDK")
    ]


def _furnished(env: BenchEnvironment) -> Path:
    full = env.project.with_name("furnished")
    if not full.exists():
        shutil.copytree(env.project, full)
        furnish(full)
    return full


def _peer(env: BenchEnvironment, name: str, count: str) -> Mapping[str, Sequence[float]]:
    command = env.peer(name, str(env.project), count)
    ended = subprocess.run(command, check=True, env=env.environment(), capture_output=True)
    taken: Mapping[str, Sequence[float]] = json.loads(ended.stdout)
    return taken
