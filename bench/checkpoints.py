"""What a checkpoint costs: scanning ten thousand files of which one has changed, next to git doing the
same (`git add -A` and `git write-tree` on an index of its own, with its caches)."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.environment import BenchEnvironment
from bench.figures import Figure, interleaved, median, seconds_of, table
from cockpit.workspace.checkpoints.records import CheckpointCall
from cockpit.workspace.checkpoints.store import CheckpointStore

FILES = 10_000
ROUNDS = 15
CEILING = 150.0


def make_tree(root: Path, files: int = FILES) -> None:
    """A repository-like tree: folders of fifty files of a few kB."""
    chance = random.Random(1)
    for number in range(files):
        folder = root / f"part{number // 500}" / f"module{number // 50 % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (f"def f{at}(a): return a * {chance.random()}\n" for at in range(chance.randint(20, 120)))
        (folder / f"file{number}.py").write_text("".join(lines), encoding="ascii")
    (root / ".gitignore").write_text("build/\n*.log\n", encoding="ascii")


def _call(number: int) -> CheckpointCall:
    return CheckpointCall("bench", "t", "main", f"c{number}", "bench", time.time())


def measure_checkpoint(root: Path) -> list[Figure]:
    """The figures for `root`, whose first Python file is changed again and again."""
    changed = next(root.rglob("*.py"))
    with tempfile.TemporaryDirectory() as scratch:
        shadow = CheckpointStore(str(root), Path(scratch) / "store")
        first = seconds_of(shadow.warm) * 1000
        count = [0]

        def ours() -> float:
            count[0] += 1
            shadow.begin(_call(count[0]), None)
            changed.write_text(f"# {count[0]}\n", encoding="ascii")
            return seconds_of(lambda: shadow.finish(f"c{count[0]}")) * 1000

        def edit() -> float:
            count[0] += 1
            path = changed.relative_to(root).as_posix()
            began = time.perf_counter()
            shadow.begin(_call(count[0]), (path,))
            middle = time.perf_counter()
            changed.write_text(f"# {count[0]}\n", encoding="ascii")
            after = seconds_of(lambda: shadow.finish(f"c{count[0]}"))
            return (middle - began + after) * 1000

        runs = {"ours": ours, "edit": edit}
        git = _git(root, Path(scratch) / "git", changed) if shutil.which("git") else None
        if git is not None:
            runs["git"] = git
        taken = interleaved(runs, ROUNDS)
        shadow.close()
    floor = median(taken["git"]) if "git" in taken else None
    return [
        Figure(
            "a look, one file of 10,000 changed", median(taken["ours"]), "ms", floor, "git", ceiling=CEILING
        ),
        Figure("checkpoint around an edit", median(taken["edit"])),
        Figure("first look over the root", first),
    ]


def _git(root: Path, folder: Path, changed: Path) -> Callable[[], float]:
    environment = os.environ | {
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(root),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }

    def run(*arguments: str) -> None:
        subprocess.run(("git", *arguments), env=environment, check=True, capture_output=True)

    run("init", "-q")
    run("config", "core.untrackedCache", "true")
    run("add", "-A")

    def look() -> None:
        run("add", "-A")
        run("write-tree")

    def measured() -> float:
        changed.write_text(f"# {time.time()}\n", encoding="ascii")
        return seconds_of(look) * 1000

    return measured


def looks(here: BenchEnvironment, rounds: int) -> list[Figure]:
    """Creates a tree and measures it; for `bench/__main__`."""
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder))
        return measure_checkpoint(Path(folder))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder))
        print(table(measure_checkpoint(Path(folder))))


if __name__ == "__main__":
    main()
