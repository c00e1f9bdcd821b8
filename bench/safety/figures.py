"""The figures of safety, each step in its own process."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.environment import ROOT, BenchEnvironment
from bench.figures import Figure

CORPORA = ROOT.parent / "shared" / "corpora"
LIMIT = 600.0


def _step(env: BenchEnvironment, step: str, folder: Path, **more: str) -> dict[str, object]:
    environment = env.environment(PYTHONPATH=str(ROOT), **more)
    # The hour runs pytest, the one of this environment.
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    command = env.peer("safety", step, str(folder))
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if ended.returncode:
        raise TimeoutError(f"the step {step} failed: {ended.stderr[-800:]}")
    if ended.stderr:
        print(ended.stderr, file=sys.stderr)
    found: dict[str, object] = json.loads(ended.stdout.strip().split("\n")[-1])
    return found


def _folder(env: BenchEnvironment, name: str) -> Path:
    folder = env.home / name / "ws"
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def verdicts(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """The public corpus, and how long a verdict takes."""
    if not CORPORA.is_dir():
        print("the public corpora are not beside this tree: no figure", file=sys.stderr)
        return []
    found = {key: float(str(one)) for key, one in _step(env, "verdicts", CORPORA).items()}
    reads = max(1.0, found["reads"])
    return [
        Figure("under-rated critical lines", found["critical"], "lines", ceiling=0),
        Figure("hostile lines that run unasked", found["unasked"], "lines", ceiling=0),
        Figure("benign lines blocked", found["blocked"], "lines", ceiling=0),
        Figure("benign reads prompted, no sandbox", 100 * found["prompted"] / reads, "%", ceiling=10),
        Figure("benign reads prompted, sandbox", 100 * found["prompted_held"] / reads, "%", ceiling=0),
        Figure("verdict, median", found["median"]),
        Figure("verdict, p99", found["p99"], ceiling=2),
        Figure("verdict on 200 parts", found["parts"], ceiling=50),
        Figure("verdict on 60 kB", found["long"], ceiling=50),
        Figure("verdict on 120 levels", found["deep"], ceiling=50),
    ]


def hour(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """How often a typical hour asks; prints what asked."""
    figures: list[Figure] = []
    for name, use, most in (("with", "auto", 8), ("without", "off", 15)):
        home = env.home / f"hour-{name}"
        (home / "config").mkdir(parents=True, exist_ok=True)
        (home / "config" / "settings.toml").write_text(f'[sandbox]\nuse = "{use}"\n', encoding="utf-8")
        found = _step(env, "hour", _folder(env, f"hour-{name}-tree"), COCKPIT_HOME=str(home))
        asked = found["asked"] if isinstance(found["asked"], list) else []
        print(f"asked {name} the sandbox ({found['calls']} calls, {found['failed']} failed):")
        for line in asked:
            print(f"  {line}")
        figures.append(Figure(f"asks in an hour, {name} the sandbox", len(asked), "asks", ceiling=most))
    return figures


def costs(env: BenchEnvironment, rounds: int) -> list[Figure]:
    """What sandboxing and atomic writes cost."""
    held = {key: float(str(one)) for key, one in _step(env, "sandbox", _folder(env, "held")).items()}
    wrote = {key: float(str(one)) for key, one in _step(env, "patch", _folder(env, "patched")).items()}
    return [
        Figure(
            "a command held in",
            held["ours"],
            floor=held["bare"] or held["plain"],
            peer="bare bwrap",
            at_most=2.0,
        ),
        Figure("a command not held in", held["plain"]),
        Figure(
            "ten files in one transaction", wrote["ours"], floor=wrote["bare"], peer="write, fsync, rename"
        ),
    ]
