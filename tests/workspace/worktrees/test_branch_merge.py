"""Settling, merging and pruning worktrees in real repositories; a conflict changes nothing."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.support.repositories import Repo

from cockpit.errors import CockpitError
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.worktrees import branch_merge
from cockpit.workspace.worktrees.git_client import GitClient, open_repository
from cockpit.workspace.worktrees.inventory import WorktreeLock, list_rows, prune_worktrees
from cockpit.workspace.worktrees.lifecycle import make_worktree, settle_worktree
from cockpit.workspace.worktrees.values import MergeTrial, PruneOutcome, Repository, Worktree, WorktreeOutcome


async def made(
    processes: LocalProcesses, repo: Repo, name: str = "fix"
) -> tuple[GitClient, Repository, Worktree]:
    git, seen = await open_repository(processes, str(repo.folder))
    return git, seen, await make_worktree(git, seen, name)


async def worked(
    processes: LocalProcesses, repo: Repo, files: dict[str, str], name: str = "fix"
) -> WorktreeOutcome:
    """A worktree in which an agent wrote `files`, settled."""
    git, _, tree = await made(processes, repo, name)
    for path, text in files.items():
        repo.write(path, text, tree.path)
    return await settle_worktree(git, tree, f"Work of {name}")


async def merged(processes: LocalProcesses, repo: Repo, branch: str, target: str = "") -> MergeTrial:
    git, seen = await open_repository(processes, str(repo.folder))
    async with branch_merge.try_merge(git, seen, branch, target) as (merge, _):
        await branch_merge.apply_merge(git, seen, merge)
    return merge


async def pruned(processes: LocalProcesses, repo: Repo, **options: bool | float) -> dict[str, PruneOutcome]:
    git, seen = await open_repository(processes, str(repo.folder))
    hours = float(options.pop("hours", 0.0))
    found = await prune_worktrees(
        git, seen, hours, bool(options.get("dry_run")), bool(options.get("unmerged"))
    )
    return {one.name or one.branch: one for one in found}


def trees(repo: Repo) -> list[str]:
    folder = repo.folder / ".cockpit" / "worktrees"
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


async def test_work_is_committed_on_the_branch_of_the_worktree(repo: Repo, processes: LocalProcesses) -> None:
    before = repo.state()
    left = await worked(processes, repo, {"app.py": "one\n2\nthree\n", "src/new.py": "x\n"})
    assert (left.kept, left.files, left.added, left.removed) == (True, 2, 2, 1)
    assert (
        repo.git("log", "-1", "--format=%s|%an|%ae", left.branch)
        == "Work of fix|A Person|person@example.org\n"
    )
    assert repo.git("status", "--porcelain", at=repo.folder / ".cockpit/worktrees/fix") == ""
    assert repo.state() == before


async def test_cockpit_commits_if_git_has_no_identity(
    repo: Repo, processes: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    left = await worked(processes, repo, {"new.py": "x\n"})
    assert repo.git("log", "-1", "--format=%an", left.branch) == "cockpit\n"


async def test_an_unchanged_worktree_is_removed(repo: Repo, processes: LocalProcesses) -> None:
    repo.write("app.py", "not committed\n")
    repo.write(".gitignore", "node_modules/\n")
    repo.write("node_modules/p.js", "p\n")
    before = repo.state()
    left = await worked(processes, repo, {})
    assert not left.kept
    assert repo.branches() == {"main"}
    assert trees(repo) == []
    assert repo.git("for-each-ref", "refs/cockpit") == ""
    assert (repo.folder / "node_modules/p.js").read_text() == "p\n"
    assert repo.state() == before


async def test_commits_by_the_agent_are_counted(repo: Repo, processes: LocalProcesses) -> None:
    git, _, tree = await made(processes, repo)
    repo.write("app.py", "committed\n", tree.path)
    repo.commit("by the agent", tree.path)
    repo.write("src/part.py", "left open\n", tree.path)
    left = await settle_worktree(git, tree, "the rest")
    assert left.files == 2
    assert repo.git("log", "--format=%s", f"main..{left.branch}").splitlines() == ["the rest", "by the agent"]


async def test_merging_moves_the_branch_and_the_clean_tree(repo: Repo, processes: LocalProcesses) -> None:
    left = await worked(processes, repo, {"app.py": "one\n2\nthree\n", "src/new.py": "x\n"})
    repo.write("other.py", "meanwhile\n")
    head = repo.commit("meanwhile")
    repo.write("untracked.txt", "mine\n")
    done = await merged(processes, repo, "fix")
    assert (repo.folder / "app.py").read_text() == "one\n2\nthree\n"
    assert (repo.folder / "src/new.py").exists()
    assert (repo.folder / "untracked.txt").read_text() == "mine\n"
    assert repo.git("status", "--porcelain") == "?? untracked.txt\n"
    assert repo.git("rev-parse", "HEAD^1").strip() == head
    assert repo.git("rev-parse", "HEAD^2").strip() == left.commit
    assert [file.path for file in done.files] == ["app.py", "src/new.py"]
    assert (done.added, done.removed) == (2, 1)


async def test_a_conflict_is_listed_and_nothing_is_touched(repo: Repo, processes: LocalProcesses) -> None:
    left = await worked(processes, repo, {"app.py": "one\ntheirs\nthree\n", "src/new.py": "x\n"})
    repo.write("app.py", "one\nours\nthree\n")
    repo.commit("ours")
    repo.write("src/part.py", "value = 2\n")
    repo.git("add", "src/part.py")
    repo.write("untracked.txt", "mine\n")
    before, branches = repo.state(), repo.branches()
    git, seen = await open_repository(processes, str(repo.folder))
    merge = await branch_merge.preview_merge(git, seen, left.branch)
    assert merge.conflicts == ("app.py",)
    with pytest.raises(CockpitError, match=r"conflicts with main in app\.py"):
        await merged(processes, repo, left.branch)
    assert repo.state() == before
    assert repo.branches() == branches
    assert trees(repo) == ["fix"]
    assert not (repo.folder / ".git" / "MERGE_HEAD").exists()


async def test_a_tree_with_uncommitted_changes_is_not_merged_into(
    repo: Repo, processes: LocalProcesses
) -> None:
    await worked(processes, repo, {"src/new.py": "x\n"})
    repo.write("app.py", "mine\n")
    before = repo.state()
    with pytest.raises(CockpitError, match=r"uncommitted changes \(app\.py\)"):
        await merged(processes, repo, "fix")
    assert repo.state() == before


async def test_an_untracked_file_in_the_way_stays(repo: Repo, processes: LocalProcesses) -> None:
    await worked(processes, repo, {"src/new.py": "theirs\n"})
    repo.write("src/new.py", "mine\n")
    before = repo.state()
    with pytest.raises(CockpitError, match="overwritten"):
        await merged(processes, repo, "fix")
    assert repo.state() == before
    assert (repo.folder / "src/new.py").read_text() == "mine\n"


async def test_carried_changes_are_not_merged(repo: Repo, processes: LocalProcesses) -> None:
    repo.write("app.py", "ONE\ntwo\nthree\n")
    repo.write("draft.txt", "a draft\n")
    left = await worked(processes, repo, {"app.py": "ONE\ntwo\nTHREE\n", "src/new.py": "x\n"})
    assert (left.files, left.added, left.removed) == (2, 2, 1)
    # The person thinks better of the draft, and commits another first line.
    (repo.folder / "draft.txt").unlink()
    repo.write("app.py", "EINS\ntwo\nthree\n")
    repo.commit("what was open")
    done = await merged(processes, repo, "fix")
    assert done.conflicts == ()
    assert (repo.folder / "app.py").read_text() == "EINS\ntwo\nTHREE\n"
    assert not (repo.folder / "draft.txt").exists()
    assert repo.git("log", "--format=%s", "-2").splitlines() == ["Merge cockpit/fix-1", "what was open"]
    (row,) = await list_rows(*(await open_repository(processes, str(repo.folder))))
    assert row.is_merged


async def test_merging_twice_changes_nothing(repo: Repo, processes: LocalProcesses) -> None:
    repo.write("draft.txt", "a draft\n")
    await worked(processes, repo, {"src/new.py": "x\n"})
    repo.commit("the draft")
    await merged(processes, repo, "fix")
    head = repo.head()
    with pytest.raises(CockpitError, match="has no changes"):
        await merged(processes, repo, "fix")
    assert repo.head() == head


async def test_uncommitted_work_is_merged_too(repo: Repo, processes: LocalProcesses) -> None:
    git, seen, tree = await made(processes, repo)
    repo.write("app.py", "one\n2\nthree\n", tree.path)
    merge = await branch_merge.preview_merge(git, seen, "fix")
    assert (merge.uncommitted, [file.path for file in merge.files]) == (1, ["app.py"])
    await branch_merge.commit_pending_work(git, seen, "fix")
    done = await merged(processes, repo, "fix")
    assert done.result == merge.result
    assert (repo.folder / "app.py").read_text() == "one\n2\nthree\n"


async def test_merging_into_a_branch_that_is_not_checked_out(repo: Repo, processes: LocalProcesses) -> None:
    repo.git("branch", "release")
    await worked(processes, repo, {"src/new.py": "x\n"})
    before = repo.state()
    await merged(processes, repo, "fix", "release")
    assert repo.git("show", "release:src/new.py") == "x\n"
    assert repo.state() == before


async def test_a_detached_head_cannot_be_a_target(repo: Repo, processes: LocalProcesses) -> None:
    await worked(processes, repo, {"src/new.py": "x\n"})
    repo.git("switch", "--quiet", "--detach")
    with pytest.raises(CockpitError, match="HEAD is detached"):
        await merged(processes, repo, "fix")
    with pytest.raises(CockpitError, match=r"unknown branch|no branch"):
        await merged(processes, repo, "nowhere", "main")


@pytest.mark.parametrize(
    "path", [".vscode/tasks.json", ".claude/settings.json", ".mcp.json", ".cockpit/policy.yaml"]
)
async def test_protected_files_are_not_merged(repo: Repo, processes: LocalProcesses, path: str) -> None:
    """The sandbox keeps a command from writing them; git's plumbing could put them into a commit."""
    await worked(processes, repo, {path: "{}\n", "fine.py": "x\n"})
    before = repo.state()
    with pytest.raises(CockpitError, match="no agent may change"):
        await merged(processes, repo, "fix")
    assert repo.state() == before
    assert not (repo.folder / path).exists()


async def test_a_link_out_of_the_tree_is_not_merged(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    git, seen, tree = await made(processes, repo)
    Path(tree.path, "out").symlink_to(tmp_path)
    Path(tree.path, "within").symlink_to("src")
    await settle_worktree(git, tree, "links")
    merge = await branch_merge.preview_merge(git, seen, "fix")
    assert [path for path, _ in merge.refused] == ["out"]
    assert {file.path for file in merge.files} == {"out", "within"}


async def test_a_merge_driver_of_the_repository_does_not_run(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    repo.write(".gitattributes", "*.py merge=own\n")
    repo.commit("attributes")
    repo.git("config", "merge.own.driver", f"touch '{ran}'; exit 0")
    await worked(processes, repo, {"app.py": "ONE\ntwo\nthree\n"})
    repo.write("app.py", "one\ntwo\nTHREE\n")
    repo.commit("ours")
    await merged(processes, repo, "fix")
    assert (repo.folder / "app.py").read_text() == "ONE\ntwo\nTHREE\n"
    assert not ran.exists()


@pytest.mark.slow
async def test_pruning_removes_only_merged_worktrees(repo: Repo, processes: LocalProcesses) -> None:
    await worked(processes, repo, {"a.py": "a\n"}, "merged")
    await merged(processes, repo, "merged")
    await worked(processes, repo, {"b.py": "b\n"}, "unmerged")
    await made(processes, repo, "empty")
    _, _, open_one = await made(processes, repo, "open")
    repo.write("c.py", "c\n", open_one.path)
    _, _, used = await made(processes, repo, "used")
    lock = WorktreeLock(used.path)
    assert lock.take()
    before = trees(repo)
    looked = await pruned(processes, repo, dry_run=True)
    assert trees(repo) == before
    done = await pruned(processes, repo)
    lock.release()
    assert done == looked
    assert {name for name, one in done.items() if one.gone} == {"merged", "empty"}
    assert "not merged" in done["unmerged"].reason
    assert "not committed" in done["open"].reason
    assert "an agent is working in it" in done["used"].reason
    assert trees(repo) == ["open", "unmerged", "used"]
    assert repo.branches() == {"main", "cockpit/open-1", "cockpit/unmerged-1", "cockpit/used-1"}


async def test_pruning_keeps_recently_used_worktrees(repo: Repo, processes: LocalProcesses) -> None:
    await made(processes, repo, "young")
    assert not (await pruned(processes, repo, hours=24.0))["young"].gone
    folder = repo.folder / ".cockpit/worktrees/young"
    past = time.time() - 48 * 3600
    os.utime(folder, (past, past))
    # Its commit is of today.
    assert not (await pruned(processes, repo, hours=24.0))["young"].gone
    assert (await pruned(processes, repo, hours=0.0))["young"].gone


async def test_pruning_removes_unmerged_work_only_if_requested(repo: Repo, processes: LocalProcesses) -> None:
    await worked(processes, repo, {"b.py": "b\n"}, "unmerged")
    assert (await pruned(processes, repo, unmerged=True))["unmerged"].gone
    assert repo.branches() == {"main"}


async def test_the_users_own_worktrees_and_branches_are_never_pruned(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "theirs", str(tmp_path / "theirs"))
    repo.git("branch", "cockpit-like")
    assert await pruned(processes, repo) == {}
    assert repo.branches() == {"main", "theirs", "cockpit-like"}


KILLED = """
import asyncio, sys
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.worktrees.branch_merge import try_merge
from cockpit.workspace.worktrees.git_client import open_repository

async def main():
    git, seen = await open_repository(LocalProcesses(sys.argv[1]), sys.argv[1])
    async with try_merge(git, seen, "fix") as (merge, scratch):
        print(scratch, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_pruning_removes_leftovers_of_a_killed_merge(repo: Repo, processes: LocalProcesses) -> None:
    await worked(processes, repo, {"b.py": "b\n"})
    before = repo.state()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(repo.folder), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    scratch = Path((await child.stdout.readline()).decode().strip())
    assert scratch.exists()
    assert scratch.name not in await pruned(processes, repo)
    child.send_signal(signal.SIGKILL)
    await child.wait()
    assert repo.state() == before
    assert (await pruned(processes, repo))[scratch.name].gone
    assert not scratch.exists()
    assert str(scratch) not in repo.git("worktree", "list")


async def test_pruning_removes_only_empty_stray_folders(repo: Repo, processes: LocalProcesses) -> None:
    folder = repo.folder / ".cockpit/worktrees"
    (folder / "empty").mkdir(parents=True)
    (folder / "full").mkdir()
    (folder / "full/file").write_text("x")
    found = await pruned(processes, repo)
    assert found["empty"].gone
    assert not found["full"].gone
    assert trees(repo) == ["full"]


@pytest.mark.slow
async def test_work_in_parallel_on_one_file(repo: Repo, processes: LocalProcesses) -> None:
    first, second = await asyncio.gather(
        worked(processes, repo, {"app.py": "ONE\ntwo\nthree\n"}, "first"),
        worked(processes, repo, {"app.py": "one\ntwo\nTHREE\n"}, "second"),
    )
    third = await worked(processes, repo, {"app.py": "Uno\ntwo\nthree\n"}, "third")
    await merged(processes, repo, first.branch)
    await merged(processes, repo, second.branch)
    assert (repo.folder / "app.py").read_text() == "ONE\ntwo\nTHREE\n"
    before = repo.state()
    with pytest.raises(CockpitError, match="conflicts"):
        await merged(processes, repo, third.branch)
    assert repo.state() == before
