"""Patches written by `git diff` for trees of many kinds give the same names, contents and modes."""

import random
import subprocess
from pathlib import Path

import pytest
from tests.workspace.trees import grow

from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.patches.planner import plan_workspace_patch

NAMES = (
    "a.txt",
    "b.txt",
    "sub/c.txt",
    "sub/deep/d.txt",
    "name with space.txt",
    "ünïcode.txt",
    'quo"te.txt',
    "x",
)
LINES = (
    "alpha",
    "beta",
    "",
    "  indented",
    "gamma\r",
    "\tδelta",
    "-- dashes",
    "++ plus",
    "@@ -1 +1 @@",
    "\x0c",
    "same",
)


def content(dice: random.Random) -> str:
    lines = [dice.choice(LINES) + str(dice.randrange(4)) for _ in range(dice.randrange(1, 40))]
    return "\n".join(lines) + dice.choice(("\n", "\n", ""))


def changed(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(lines) + 1)
        match dice.randrange(3):
            case 0:
                lines.insert(at, dice.choice(LINES))
            case 1:
                del lines[at : at + dice.randrange(1, 3)]
            case _:
                lines[at : at + 1] = [dice.choice(LINES), "new"]
    return "\n".join(lines)


def second(first: dict[str, str], dice: random.Random) -> dict[str, str]:
    """`first` with files changed, renamed, swapped, copied, removed and added."""
    made = dict(first)
    for name in list(first):
        other = dice.choice(NAMES)
        match dice.randrange(8):
            case 0:
                made.pop(name, None)
            case 1 if other not in made and name in made:
                made[other] = made.pop(name)
            case 2 if other in made and name in made:
                made[name], made[other] = made[other], made[name]
            case 3 if other not in made and name in made:
                made[other] = changed(made[name], dice)
            case _ if name in made:
                made[name] = changed(made[name], dice)
    return made


def git(root: Path, *words: str) -> bytes:
    return subprocess.run(("git", "-C", str(root), *words), check=True, capture_output=True).stdout


def kept(root: Path) -> str:
    """The tree as git keeps it."""
    git(root, "add", "-A")
    return git(root, "write-tree").decode().strip()


def files(root: Path) -> dict[str, tuple[bytes, bool]]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {
        str(path.relative_to(root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in found
    }


def put(root: Path, made: dict[str, str], dice: random.Random) -> None:
    for path in [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]:
        path.unlink()
    grow(root, {**made})
    for name in made:
        (root / name).chmod(0o755 if dice.randrange(5) == 0 else 0o644)


@pytest.mark.parametrize("seed", range(24))
async def test_patches_of_git_are_reproduced_exactly(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "core.autocrlf", "false")
    first = {name: content(dice) for name in NAMES if dice.randrange(4)}
    put(root, first, dice)
    old = kept(root)
    before = files(root)
    put(root, second(first, dice), dice)
    new = kept(root)
    options = dice.choice(
        (("-M",), ("-M", "-C", "--find-copies-harder"), ("--no-renames",), ("-M", "--no-prefix"))
    )
    text = git(
        root, "-c", "core.quotePath=true", "diff", *options, f"-U{dice.randrange(4)}", old, new
    ).decode()
    after = files(root)
    if before == after:
        return
    for name in after:
        (root / name).unlink()
    for name, (raw, runs) in before.items():
        grow(root, {name: raw})
        (root / name).chmod(0o755 if runs else 0o644)
    workspace = LocalWorkspace(str(root))
    _, changes = await plan_workspace_patch(workspace, text)
    await workspace.apply(changes)
    assert files(root) == after, text
