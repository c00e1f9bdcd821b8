"""Git on real repositories, including some whose settings would run a program."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.session_view import call, context_on, registered

from cockpit.builtin.tools import git
from cockpit.builtin.tools.git import format_status
from cockpit.plugin.context import PathRefused
from cockpit.plugin.tools import ToolFailed

TOOLS = registered(git)
Git = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-config"))
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ann@example.org")

    def git_in(*arguments: str) -> str:
        argv = ("git", "-C", str(tmp_path), *arguments)
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    git_in("init", "-q", "-b", "main")
    (tmp_path / "a.py").write_text("one\ntwo\n")
    git_in("add", "a.py")
    git_in("commit", "-q", "-m", "Start with a")
    return git_in


async def read(root: Path, **arguments: object) -> str:
    return (await call(TOOLS["git"], context_on(root), **arguments)).text


async def test_status_groups_paths_by_state(run: Git, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\nthree\n")
    (tmp_path / "新 文件.txt").write_text("x")
    (tmp_path / "b.py").write_text("b")
    run("add", "b.py")
    assert (await read(tmp_path, what="status")).splitlines() == [
        "on branch main",
        "staged (1):",
        "  added: b.py",
        "not staged (1):",
        "  modified: a.py",
        "untracked (1):",
        "  新 文件.txt",
    ]


async def test_clean_tree_is_reported(run: Git, tmp_path: Path) -> None:
    assert "working tree clean" in await read(tmp_path, what="status")
    assert await read(tmp_path, what="diff") == "no unstaged changes"


async def test_staged_diff_equals_gits(run: Git, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\nthree\n")
    run("add", "a.py")
    (tmp_path / "a.py").write_text("later\n")
    text = await read(tmp_path, what="diff", staged=True)
    assert run("diff", "--cached") in text
    assert "later" not in text


async def test_log_show_and_blame_read_the_history(run: Git, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\nthree\n")
    run("commit", "-q", "-am", "Make it three")
    log = await read(tmp_path, what="log", path="a.py")
    assert [line.split(": ")[1] for line in log.splitlines()] == ["Make it three", "Start with a"]
    assert "older commits are left out" in await read(tmp_path, what="log", limit=1)
    assert "+three" in await read(tmp_path, what="show", ref="HEAD")
    blamed = await read(tmp_path, what="blame", path="a.py", start=2, end=2)
    assert blamed.startswith("2: ")
    assert "Ann | three" in blamed


async def test_repository_settings_start_no_program(run: Git, tmp_path: Path) -> None:
    mark = tmp_path.parent / f"{tmp_path.name}-ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat \"$1\"\n")
    program.chmod(0o755)
    (tmp_path / ".gitattributes").write_text("*.py diff=evil\n")
    for key in ("core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager"):
        run("config", key, str(program))
    (tmp_path / "a.py").write_text("one\nthree\n")
    for arguments in (
        {"what": "status"},
        {"what": "diff"},
        {"what": "log"},
        {"what": "show", "ref": "HEAD"},
        {"what": "blame", "path": "a.py"},
    ):
        await read(tmp_path, **arguments)
    assert not mark.exists()


@pytest.mark.parametrize("ref", ["--output=x", "-p", "a\nb"])
async def test_ref_that_looks_like_an_option_is_refused(ref: str, run: Git, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed):
        await read(tmp_path, what="diff", ref=ref)


async def test_no_diff_shows_secret_files(run: Git, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=hidden\n")
    run("add", "-f", ".env")
    assert "hidden" not in await read(tmp_path, what="diff", staged=True)
    preview = TOOLS["git"].preview
    assert preview is not None
    for arguments in ({"what": "diff", "path": ".env"}, {"what": "show", "ref": "HEAD:.env"}):
        with pytest.raises(PathRefused):
            await preview(arguments, context_on(tmp_path))


async def test_folder_without_a_repository_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="not a git repository"):
        await read(tmp_path, what="status")


async def test_repository_without_commits_is_reported(tmp_path: Path) -> None:
    subprocess.run(("git", "init", "-q", str(tmp_path)), check=True)
    with pytest.raises(ToolFailed, match="no commit yet"):
        await read(tmp_path, what="log")
    assert "no commit yet" in await read(tmp_path, what="status")


async def change(root: Path, **arguments: object) -> str:
    return (await call(TOOLS["git_change"], context_on(root), **arguments)).text


async def test_local_changes_are_made(run: Git, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("changed\n")
    (tmp_path / "b.py").write_text("b\n")
    assert await change(tmp_path, what="add", paths=["b.py"]) == "staged b.py"
    assert run("diff", "--cached", "--name-only") == "b.py\n"
    await change(tmp_path, what="commit", message="Add b; rm -rf /")
    assert run("log", "-1", "--format=%s") == "Add b; rm -rf /\n"
    assert await change(tmp_path, what="restore", paths=["a.py"]) == "restored a.py"
    assert (tmp_path / "a.py").read_text() == "one\ntwo\n"
    await change(tmp_path, what="switch", name="topic", create=True)
    assert run("branch", "--show-current") == "topic\n"
    (tmp_path / "a.py").write_text("for later\n")
    await change(tmp_path, what="stash", message="later")
    assert (tmp_path / "a.py").read_text() == "one\ntwo\n"
    await change(tmp_path, what="unstash")
    assert (tmp_path / "a.py").read_text() == "for later\n"


async def test_paths_are_literal(run: Git, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("changed\n")
    (tmp_path / "[ab].py").write_text("x\n")
    await change(tmp_path, what="add", paths=["[ab].py"])
    assert run("diff", "--cached", "--name-only", "-z") == "[ab].py\0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"what": "commit"}, "message"),
        ({"what": "restore"}, "paths"),
        ({"what": "branch"}, "name"),
        ({"what": "switch", "name": "--orphan"}, "dash"),
        ({"what": "branch", "name": "x", "ref": "-f"}, "dash"),
    ],
)
async def test_missing_or_unsafe_arguments_are_refused(
    arguments: dict[str, object], message: str, run: Git, tmp_path: Path
) -> None:
    with pytest.raises(ToolFailed, match=message):
        await change(tmp_path, **arguments)


async def test_preview_shows_the_git_command(run: Git, tmp_path: Path) -> None:
    preview = await git.preview_change({"what": "commit", "message": "Say it"}, context_on(tmp_path))
    assert preview.argv == (("git", "commit", "--no-verify", "--no-gpg-sign", "--message=Say it"),)
    assert preview.lift == "git commit *"


def test_other_agents_names_imply_the_query() -> None:
    aliases = {alias.name: alias for alias in TOOLS["git"].aliases}
    assert aliases["git_log"].fixed == (("what", "log"),)
    assert TOOLS["git_change"].deferred


def test_status_names_renames_and_conflicts() -> None:
    porcelain = (
        "# branch.oid abc\0# branch.head (detached)\0"
        "2 R. N... 100644 100644 100644 a b R100 new name.py\0old.py\0"
        "u UU N... 100644 100644 100644 100644 a b c both.py\0"
    )
    assert format_status(porcelain).splitlines() == [
        "no branch (detached HEAD)",
        "conflicted (1):",
        "  both.py",
        "staged (1):",
        "  renamed: old.py -> new name.py",
    ]
