"""Starting with much configured, what a prefix cache finds again, a hook, a call of an MCP server."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.figures import Figure, interleaved, median
from bench.ground import Ground, server
from bench.plugged.moved_in import furnish
from bench.start import TYPED
from bench.terminal import Terminal

TURNS = 6


def start(ground: Ground, rounds: int) -> list[Figure]:
    """From exec to typed text, in a folder with 100 skills, 50 roles, 20 commands and 10 MCP servers."""
    full = _furnished(ground)

    def run(project: Path) -> float:
        with Terminal([ground.cockpit, "--trust"], ground.environment(), project) as terminal:
            terminal.write(TYPED)
            return terminal.wait_for(TYPED) - terminal.began

    taken = interleaved({"full": lambda: run(full), "empty": lambda: run(ground.project)}, 2 * rounds)
    ours, floor = (1000 * median(taken[name]) for name in ("full", "empty"))
    what = "exec to typed text echoed, 180 files configured"
    return [Figure(what, ours, floor=floor, peer="none configured", at_most=1.1)]


def cache(ground: Ground, rounds: int) -> list[Figure]:
    """What of each request a prefix cache would find again, by tools and messages as providers keep them."""
    full = _furnished(ground)
    with server() as peer:
        environment = ground.environment(OPENAI_BASE_URL=peer.url("prefix"))
        command = ground.peer("turns", str(full), str(TURNS), "--trust")
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seen = [event for event in peer.events() if event["kind"] == "prefix"]
    again = [one["found"] / one["before"] for one in seen[1:]]
    missed = max(one["before"] - one["found"] for one in seen[1:])
    what = f"bytes a prefix cache loses of {len(seen)} requests, at worst"
    share = Figure("share of a request found again, at worst", 100 * min(again), "%")
    return [share, Figure(what, missed, "B", ceiling=2_000)]


def hook(ground: Ground, rounds: int) -> list[Figure]:
    """A read with a `PreToolUse` hook, less one without, beside the hook's bare process."""
    taken = _peer(ground, "hook", str(50 * max(1, rounds // 2)))
    ours, floor = (1000 * median(taken[name]) for name in ("more", "process"))
    return [Figure("a hook, above its process", ours - floor, ceiling=5.0, floor=floor, peer="its process")]


def mcp(ground: Ground, rounds: int) -> list[Figure]:
    """A call of a stdio server through the whole order, less the same by the SDK's own client."""
    taken = _peer(ground, "mcp_call", str(50 * max(1, rounds // 2)))
    ours, floor = (1000 * median(taken[name]) for name in ("ours", "sdk"))
    return [
        Figure("a call through MCP, above the SDK's", ours - floor, ceiling=3.0, floor=floor, peer="the SDK")
    ]


def _furnished(ground: Ground) -> Path:
    full = ground.project.with_name("furnished")
    if not full.exists():
        shutil.copytree(ground.project, full)
        furnish(full)
    return full


def _peer(ground: Ground, name: str, count: str) -> Mapping[str, Sequence[float]]:
    command = ground.peer(name, str(ground.project), count)
    ended = subprocess.run(command, check=True, env=ground.environment(), capture_output=True)
    taken: Mapping[str, Sequence[float]] = json.loads(ended.stdout)
    return taken
