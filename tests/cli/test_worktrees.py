"""`cockpit worktrees` as a person types it, on a real repository."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.support.repositories import Repo

from cockpit.cli.main import main
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.lifecycle import make_worktree, settle_worktree


@pytest.fixture
def repo(root: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.chdir(root)
    return Repo(root)


def worked(repo: Repo, name: str, files: dict[str, str]) -> None:
    """A worktree in which `files` were written and committed."""

    async def work() -> None:
        processes = LocalProcesses(str(repo.folder))
        git, seen = await open_repository(processes, str(repo.folder))
        tree = await make_worktree(git, seen, name)
        for path, text in files.items():
            repo.write(path, text, tree.path)
        await settle_worktree(git, tree, f"Work of {name}")
        await processes.close()

    asyncio.run(work())


def test_list_shows_the_work_of_each_worktree(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worktrees", "list"]) == 0
    assert capsys.readouterr().out == "there are no worktrees\n"
    worked(repo, "fix", {"new.py": "x\n"})
    assert main(["worktrees", "list"]) == 0
    assert "fix  cockpit/fix-1  1 commits, 1 files +1 -0, not merged" in capsys.readouterr().out
    assert main(["worktrees", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["branch"], row["files"], row["is_merged"]) == ("fix", "cockpit/fix-1", 1, False)


def test_user_merges_a_worktree(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    worked(repo, "fix", {"app.py": "one\nTWO\nthree\n"})
    before = repo.state()
    assert main(["worktrees", "merge", "fix", "--dry-run"]) == 0
    assert "modified app.py (+1 -1)" in capsys.readouterr().out
    assert repo.state() == before
    assert main(["worktrees", "merge", "fix"]) == 0
    assert (repo.folder / "app.py").read_text() == "one\nTWO\nthree\n"
    assert repo.branches() == {"main"}
    assert "deleted" in capsys.readouterr().err


def test_a_conflict_ends_with_1_and_changes_nothing(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    worked(repo, "fix", {"app.py": "one\ntheirs\nthree\n"})
    repo.write("app.py", "one\nours\nthree\n")
    repo.commit("ours")
    before = repo.state()
    assert main(["worktrees", "merge", "fix", "--dry-run", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["conflicts"] == ["app.py"]
    assert main(["worktrees", "merge", "fix"]) == 1
    assert "conflicts with main in app.py" in capsys.readouterr().err
    assert repo.state() == before


def test_protected_files_are_merged_only_with_the_option(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    worked(repo, "fix", {".vscode/tasks.json": "{}\n"})
    assert main(["worktrees", "merge", "fix"]) == 1
    assert "no agent may change" in capsys.readouterr().err
    assert main(["worktrees", "merge", "fix", "--protected", "--keep"]) == 0
    assert (repo.folder / ".vscode/tasks.json").exists()
    assert repo.branches() == {"main", "cockpit/fix-1"}


def test_pruning(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    worked(repo, "fix", {"new.py": "x\n"})
    assert main(["worktrees", "prune", "--max-age-hours", "0"]) == 0
    assert "kept: fix (1 commits are not merged" in capsys.readouterr().out
    assert main(["worktrees", "prune", "fix", "--max-age-hours", "0", "--unmerged", "--dry-run"]) == 0
    assert "would be removed: fix" in capsys.readouterr().out
    assert repo.branches() == {"main", "cockpit/fix-1"}
    assert main(["worktrees", "prune", "fix", "--max-age-hours", "0", "--unmerged"]) == 0
    assert repo.branches() == {"main"}
    assert main(["worktrees", "prune", "nothing"]) == 1
    assert "no worktree nothing" in capsys.readouterr().err


def test_folder_without_a_repository_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["worktrees", "list"]) == 1
    assert "create one with git init" in capsys.readouterr().err
