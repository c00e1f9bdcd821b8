"""Creating worktrees in real repositories: from the current HEAD, with uncommitted changes."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.repositories import Repo

from cockpit.errors import CockpitError
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.lifecycle import make_worktree
from cockpit.workspace.worktrees.values import Worktree

PAST = 1_700_000_000
ON_POSIX = sys.platform != "win32"


async def made(
    processes: LocalProcesses, root: Path, name: str = "fix", ref: str = "", carry: bool = True
) -> Worktree:
    git, seen = await open_repository(processes, str(root))
    return await make_worktree(git, seen, name, ref, carry)


async def test_a_worktree_starts_at_the_current_head(repo: Repo, processes: LocalProcesses) -> None:
    repo.git("switch", "--quiet", "-c", "feature")
    repo.write("app.py", "feature\n")
    head = repo.commit("second")
    before = repo.state()
    tree = await made(processes, repo.folder, "Fix the login!")
    assert repo.head(tree.path) == head == tree.head == tree.base
    assert Path(tree.path) == repo.folder / ".cockpit" / "worktrees" / "fix-the-login"
    assert tree.branch == "cockpit/fix-the-login-1"
    assert Path(tree.path, "app.py").read_text() == "feature\n"
    assert repo.state() == before
    assert repo.git("status", "--porcelain", at=tree.path) == ""


async def test_a_nested_worktree_starts_at_the_head_of_its_worktree(
    repo: Repo, processes: LocalProcesses
) -> None:
    first = await made(processes, repo.folder, "first")
    repo.write("app.py", "of the child\n", first.path)
    head = repo.commit("in the child", first.path)
    second = await made(processes, Path(first.path), "second")
    assert second.head == head
    assert second.origin == str(repo.folder)
    assert Path(second.path).parent == Path(first.path).parent


async def test_uncommitted_changes_are_carried_over(repo: Repo, processes: LocalProcesses) -> None:
    repo.write("gone.txt", "x\n")
    head = repo.commit("second")
    repo.write("app.py", "one\nTWO\nthree\n")
    repo.git("add", "app.py")
    repo.write("app.py", "one\nTWO\nthree\nfour\n")
    repo.write("src/new.py", "new = True\n")
    (repo.folder / "picture.bin").write_bytes(bytes(range(256)))
    (repo.folder / "gone.txt").unlink()
    before = repo.state()
    tree = await made(processes, repo.folder)
    assert repo.head(tree.path) == head
    assert Path(tree.path, "app.py").read_text() == "one\nTWO\nthree\nfour\n"
    assert Path(tree.path, "src/new.py").read_text() == "new = True\n"
    assert Path(tree.path, "picture.bin").read_bytes() == bytes(range(256))
    assert not Path(tree.path, "gone.txt").exists()
    assert repo.state() == before
    assert any("4 uncommitted files" in note for note in tree.notes)


async def test_a_change_just_before_is_carried_over(repo: Repo, processes: LocalProcesses) -> None:
    """As long as before and in the same tick of the clock: git looks at such a file's bytes, for its index is
    no younger than that. What it is told by a copy of the index must not be less."""
    repo.git("config", "core.trustctime", "false")
    file, index = repo.folder / "app.py", repo.folder / ".git" / "index"
    file.write_text("uno\ntwo\nthree\n")
    os.utime(file, (PAST, PAST))
    repo.commit("second")
    file.write_text("ONE\ntwo\nthree\n")
    for one in (file, index):
        os.utime(one, (PAST, PAST))
    tree = await made(processes, repo.folder)
    assert Path(tree.path, "app.py").read_text() == "ONE\ntwo\nthree\n"


async def test_nothing_is_carried_over_unless_requested(repo: Repo, processes: LocalProcesses) -> None:
    repo.write("app.py", "changed\n")
    tree = await made(processes, repo.folder, carry=False)
    assert Path(tree.path, "app.py").read_text() == "one\ntwo\nthree\n"
    assert not tree.is_carrying


async def test_secrets_and_ignored_files_are_not_carried_over(repo: Repo, processes: LocalProcesses) -> None:
    repo.write(".gitignore", "build/\n")
    repo.write("deploy.pem", "old\n")
    repo.commit("second")
    repo.write(".env", "KEY=1\n")
    repo.write("deploy.pem", "PRIVATE\n")
    repo.write("build/out", "x\n")
    repo.write("kept.txt", "x\n")
    tree = await made(processes, repo.folder)
    assert not Path(tree.path, ".env").exists()
    assert not Path(tree.path, "build").exists()
    assert Path(tree.path, "deploy.pem").read_text() == "old\n"
    assert Path(tree.path, "kept.txt").exists()
    assert any(".env" in note and "deploy.pem" in note for note in tree.notes)
    known = repo.git("cat-file", "--batch-all-objects", "--batch-check", "--unordered").splitlines()
    contents = [repo.git("cat-file", "-p", row.split()[0]) for row in known if row.split()[1] == "blob"]
    assert not any("KEY=1" in one or "PRIVATE" in one for one in contents)


async def test_a_worktree_can_start_at_a_named_commit(repo: Repo, processes: LocalProcesses) -> None:
    first = repo.head()
    repo.write("app.py", "second\n")
    repo.commit("second")
    repo.write("app.py", "not committed\n")
    tree = await made(processes, repo.folder, ref=first)
    assert repo.head(tree.path) == first
    assert Path(tree.path, "app.py").read_text() == "one\ntwo\nthree\n"
    with pytest.raises(CockpitError, match="unknown commit"):
        await made(processes, repo.folder, ref="--upload-pack=x")


async def test_names_are_unique(repo: Repo, processes: LocalProcesses) -> None:
    trees = await asyncio.gather(*(made(processes, repo.folder, "same") for _ in range(5)))
    assert len({one.path for one in trees}) == len({one.branch for one in trees}) == 5
    assert repo.git("status", "--porcelain") == ""


async def test_hooks_filters_and_monitors_of_the_repository_do_not_run(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    trap, ran = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{ran}'\ncat\n")
    trap.chmod(0o755)
    hooks = repo.folder / ".git" / "hooks"
    for name in ("post-checkout", "pre-commit", "commit-msg", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    repo.write(".gitattributes", "*.py filter=trap diff=trap merge=trap\n")
    repo.git("add", "--all")
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "attributes")
    for key in ("filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "core.fsmonitor"):
        repo.git("config", key, str(trap))
    repo.write("app.py", "changed\n")
    ran.unlink(missing_ok=True)
    tree = await made(processes, repo.folder)
    assert Path(tree.path, "app.py").read_text() == "changed\n"
    assert not ran.exists()


async def test_a_worktree_of_a_folder_below_the_top(repo: Repo, processes: LocalProcesses) -> None:
    git, seen = await open_repository(processes, str(repo.folder / "src"))
    assert seen.inside == "src"
    assert seen.top == seen.origin == str(repo.folder)
    tree = await make_worktree(git, seen, "part")
    assert Path(tree.path, "src", "part.py").exists()


async def test_a_folder_without_a_repository_is_refused(tmp_path: Path, processes: LocalProcesses) -> None:
    bare, empty, none = tmp_path / "bare", tmp_path / "empty", tmp_path / "none"
    subprocess.run(("git", "init", "--quiet", "--bare", bare), check=True)
    subprocess.run(("git", "init", "--quiet", empty), check=True)
    none.mkdir()
    for folder, words in ((bare, "bare"), (empty, "no commit yet"), (none, "git repository")):
        with pytest.raises(CockpitError, match=words) as raised:
            await open_repository(processes, str(folder))
        assert raised.value.hint


async def test_detached_heads_and_shallow_clones_work(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    repo.git("switch", "--quiet", "--detach")
    assert (await made(processes, repo.folder)).head == repo.head()
    repo.git("switch", "--quiet", "main")
    repo.write("app.py", "second\n")
    repo.commit("second")
    clone = tmp_path / "clone"
    subprocess.run(("git", "clone", "--quiet", "--depth=1", repo.folder.as_uri(), clone), check=True)
    tree = await made(processes, clone)
    assert Path(tree.path, "app.py").read_text() == "second\n"


async def test_an_unfinished_merge_is_reported(repo: Repo, processes: LocalProcesses) -> None:
    repo.git("switch", "--quiet", "-c", "other")
    repo.write("app.py", "theirs\n")
    repo.commit("theirs")
    repo.git("switch", "--quiet", "main")
    repo.write("app.py", "ours\n")
    repo.commit("ours")
    subprocess.run(("git", "merge", "other"), cwd=repo.folder, check=False, capture_output=True)
    before = repo.state()
    with pytest.raises(CockpitError, match="merge is in progress"):
        await made(processes, repo.folder)
    assert repo.state() == before
    assert list((repo.folder / ".cockpit" / "worktrees").iterdir()) == []
    assert repo.branches() == {"main", "other"}


@pytest.mark.parametrize("part", [".cockpit", ".cockpit/worktrees"])
async def test_a_link_instead_of_the_worktrees_folder_is_refused(
    repo: Repo, processes: LocalProcesses, tmp_path: Path, part: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repo.folder / part).parent.mkdir(exist_ok=True)
    (repo.folder / part).symlink_to(elsewhere)
    with pytest.raises(CockpitError, match="is not a folder"):
        await made(processes, repo.folder)
    assert list(elsewhere.iterdir()) == []


async def test_empty_submodules_are_reported(repo: Repo, processes: LocalProcesses, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "libs/inner"
    )
    repo.commit("a submodule")
    (repo.folder / "libs/inner/app.py").write_text("changed within\n")
    tree = await made(processes, repo.folder)
    assert list(Path(tree.path, "libs/inner").iterdir()) == []
    assert "submodules are empty in it" in tree.notes
    assert not tree.is_carrying


async def test_installed_packages_are_linked(repo: Repo, processes: LocalProcesses) -> None:
    repo.write(".gitignore", "node_modules/\n.venv/\ntarget/\n")
    repo.commit("ignores")
    repo.write("node_modules/left-pad/index.js", "pad\n")
    repo.write("packages/a/node_modules/b.js", "b\n")
    repo.write("packages/a/main.js", "a\n")
    repo.commit("a package")
    repo.write(".venv/pyvenv.cfg", "x\n")
    repo.write(".venv/.gitignore", "*\n")
    repo.write("target/out", "built\n")
    before = repo.state()
    tree = await made(processes, repo.folder)
    assert Path(tree.path, "node_modules/left-pad/index.js").read_text() == "pad\n"
    assert Path(tree.path, "packages/a/node_modules/b.js").exists()
    assert Path(tree.path, ".venv/pyvenv.cfg").exists()
    assert not Path(tree.path, "target").exists()
    assert set(tree.linked) == {
        str(repo.folder / one) for one in ("node_modules", ".venv", "packages/a/node_modules")
    }
    assert repo.git("status", "--porcelain", at=tree.path) == ""
    assert repo.state() == before
    assert os.path.islink(Path(tree.path, "node_modules")) is ON_POSIX


async def test_an_editable_install_is_reported(repo: Repo, processes: LocalProcesses, tmp_path: Path) -> None:
    """Real environments name the project in a `.pth`, or in a finder of setuptools."""
    repo.write(".gitignore", ".venv/\n")
    repo.commit("ignores")
    packages = ".venv/lib/python3.11/site-packages"
    repo.write(f"{packages}/__editable__.own-1.0.pth", f"{repo.folder}/src\n")
    repo.write(f"{packages}/other.pth", f"import os\n{tmp_path}/elsewhere\n")
    mapping = f"MAPPING: dict[str, str] = {{'part': '{repo.folder}/libs/part'}}\n"
    repo.write(f"{packages}/__editable___part_1_0_finder.py", mapping)
    tree = await made(processes, repo.folder)
    (note,) = (one for one in tree.notes if "imports this project" in one)
    assert note.endswith(f"PYTHONPATH={os.pathsep.join(('src', 'libs'))}")


async def test_a_link_among_the_packages_is_not_followed(
    repo: Repo, processes: LocalProcesses, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    repo.write(".gitignore", "node_modules\n")
    repo.commit("ignores")
    (repo.folder / "node_modules").symlink_to(tmp_path / "home")
    tree = await made(processes, repo.folder)
    assert tree.linked == ()
    assert not os.path.lexists(Path(tree.path, "node_modules"))
