"""Git readers: their hardened form, and the repositories in which they ask."""

import os
import subprocess
from pathlib import Path

import pytest

from cockpit.safety.bash.git import is_repository_plain
from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext, JudgedLine

CONTEXT = ExecutionContext(root="/proj/ws", home="/home/dev")


def judged(text: str, context: ExecutionContext = CONTEXT) -> JudgedLine:
    return judge_line(text, "bash", context, load_rules())


def repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.txt").write_text("one\n")
    return root


def test_a_reader_runs_hardened_by_position_and_environment() -> None:
    line = judged("cd src && git diff -- 'a b' | head; git log -3")
    assert line.verdict.level == "allow"
    assert line.script == (
        "cd src && git diff --no-ext-diff --no-textconv --ignore-submodules=dirty -- 'a b' | head; "
        "git log --no-ext-diff --no-textconv -3"
    )
    given = dict(line.environment)
    settings = {
        given[f"GIT_CONFIG_KEY_{at}"]: given[f"GIT_CONFIG_VALUE_{at}"]
        for at in range(int(given["GIT_CONFIG_COUNT"]))
    }
    assert settings["core.fsmonitor"] == "false"
    assert settings["core.hooksPath"] == "/dev/null"
    assert given["GIT_OPTIONAL_LOCKS"] == "0"


def test_line_that_asks_is_not_hardened() -> None:
    line = judged("git status && git commit -m x")
    assert line.verdict.level == "ask"
    assert line.script == "git status && git commit -m x"
    assert line.environment == ()


def test_a_multibyte_line_is_hardened_at_the_right_place() -> None:
    assert judged("echo 'ü€' && git diff").script.endswith(
        "git diff --no-ext-diff --no-textconv --ignore-submodules=dirty"
    )


def test_a_hardened_reader_runs_nothing_that_the_repository_names(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws")
    mark = tmp_path / "mark"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"):
        subprocess.run(["git", "-C", str(root), "config", key, str(trap)], check=True)
    context = ExecutionContext(root=str(root.resolve()), home=str(tmp_path))
    line = judged("git status; git diff; git log -p", context)
    assert line.verdict.level == "allow"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | dict(line.environment)
    subprocess.run(["bash", "-c", line.script], cwd=root, env=environment, capture_output=True, check=False)
    assert not mark.exists()


def test_repository_that_configures_drivers_asks(tmp_path: Path) -> None:
    for at, (name, text) in enumerate(
        (
            (".gitattributes", "*.txt diff=mine\n"),
            (".gitattributes", "*.txt filter=mine\n"),
            (".git/config", '\n[filter "x"]\n\tclean = ./x\n'),
            (".git/config", '\n[diff "x"]\n\ttextconv = ./x\n'),
            (".git/config", "\n[include]\n\tpath = ../x\n"),
            (".git/info/attributes", "* merge=mine\n"),
        )
    ):
        root = repository(tmp_path / f"r{at}")
        assert is_repository_plain(str(root))
        path = root / name
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
        assert not is_repository_plain(str(root)), text
    assert (
        judged("git diff", ExecutionContext("/proj/ws", "/home/dev", git_is_plain=False)).verdict.level
        == "ask"
    )


def test_ordinary_repositories_are_plain(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws")
    (root / ".gitattributes").write_text("*.py diff=python\n*.png binary\n* text=auto\n*.md merge=union\n")
    for key, value in (
        ("user.name", "x"),
        ("remote.origin.url", "https://x.test/r"),
        ("pull.rebase", "true"),
    ):
        subprocess.run(["git", "-C", str(root), "config", key, value], check=True)
    assert is_repository_plain(str(root))
    assert is_repository_plain(str(tmp_path / "nothing"))


def test_nested_repository_is_checked_separately(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws")
    inner = repository(root / "vendor")
    context = ExecutionContext(root=str(root.resolve()), home=str(tmp_path))
    assert judged("cd vendor && git diff", context).verdict.level == "allow"
    subprocess.run(["git", "-C", str(inner), "config", "filter.x.clean", "./x"], check=True)
    assert judged("cd vendor && git diff", context).verdict.level == "ask"
    assert judged("git -C vendor diff", context).verdict.level == "ask"


TREE = "/proj/ws"
WORKTREE = ExecutionContext(root=f"{TREE}/.cockpit/worktrees/x-1", home="/home/dev")
BELOW = ExecutionContext(root=f"{TREE}/.cockpit/worktrees/x-1/src", home="/home/dev")


@pytest.mark.parametrize(
    "line",
    [
        "git -C ../../.. commit -qm x",
        f"git -C {TREE} checkout -b x",
        f"git -C {TREE} -c user.name=x commit --allow-empty -m x",
        "git -C / -C proj/ws reset --hard",
        f"cd {TREE} && git checkout -b x",
        "cd ../../..; git stash",
        f"git --git-dir={TREE}/.git --work-tree={TREE} checkout -- a.txt",
        f"git --git-dir {TREE}/.git update-ref refs/heads/main HEAD",
        f"GIT_DIR={TREE}/.git git commit -m x",
        "git -C ../y-1 commit -m x",
        f"sh -c 'git -C {TREE} branch -f main HEAD'",
    ],
)
def test_git_in_a_worktree_cannot_change_its_origin_tree(line: str) -> None:
    assert judged(line, WORKTREE).verdict.level == "deny"
    assert judged(line, CONTEXT).verdict.level != "allow"


@pytest.mark.parametrize(
    ("line", "context"),
    [
        ("git commit -m x", WORKTREE),
        ("git -C src add .", WORKTREE),
        ("git -C .. commit -m x", BELOW),
        (f"git -C {TREE}/.cockpit/worktrees/x-1 stash", BELOW),
        (f"git -C {TREE} log --oneline", WORKTREE),
        (f"cd {TREE} && git diff HEAD", WORKTREE),
        (f"git -C {TREE} commit -m x", CONTEXT),
    ],
)
def test_git_inside_the_worktree_is_not_denied(line: str, context: ExecutionContext) -> None:
    assert judged(line, context).verdict.level != "deny"
