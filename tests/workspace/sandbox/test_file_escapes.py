"""A sandboxed program writes only in its workspace, and reads no secrets."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.sandbox.box import CANARY, Box
from tests.workspace.trees import tree

from cockpit.plugin.workspace import Launch
from cockpit.workspace.processes.local_processes import LocalProcesses

# Each prints ESCAPED where the write went through. {home}, {outside} and {root} are real folders.
WRITES = {
    "home": "echo x > {home}/.bashrc && grep -q x {home}/.bashrc && test -s {home}/notes.txt && echo ESCAPED",
    "outside": "echo x > {outside}/file.txt && echo ESCAPED",
    "outside, new": "echo x > {outside}/new.txt && echo ESCAPED",
    "etc": "echo x > /etc/cockpit-probe && echo ESCAPED",
    "usr": "touch /usr/bin/cockpit-probe && echo ESCAPED",
    "link out": "ln -s {outside}/file.txt out && echo x > out && echo ESCAPED",
    "hard link out": "ln {outside}/file.txt hard && echo x > hard && echo ESCAPED",
    "git config": "echo '[alias] x = !id' >> .git/config && echo ESCAPED",
    "git config by git": "git config alias.x '!id' && echo ESCAPED",
    "git hooks": "echo id > .git/hooks/pre-commit && echo ESCAPED",
    "git moved away": "mv .git away && echo ESCAPED",
    "git config replaced": "echo x > new && mv new .git/config && echo ESCAPED",
    "git config removed": "rm -f .git/config && echo ESCAPED",
    "cockpit": "echo x > .cockpit/settings.toml && echo ESCAPED",
    "cockpit moved away": "mv .cockpit away && echo ESCAPED",
    "cockpit removed": "rm -rf .cockpit && echo ESCAPED",
    "vscode": "echo x > .vscode/tasks.json && echo ESCAPED",
    "below": "echo x > sub/.claude/settings.json && echo ESCAPED",
    "missing mcp": "echo '{{}}' > .mcp.json && echo ESCAPED",
    "missing envrc": "echo id > .envrc && echo ESCAPED",
    "missing claude": "(mkdir -p .claude && echo '{{}}' > .claude/settings.json) && echo ESCAPED",
    "missing claude, replaced": "rmdir .claude && mkdir .claude && echo x > .claude/x && echo ESCAPED",
    "missing idea, moved": "mkdir n; echo x > n/x; mv -T n .idea && echo ESCAPED",
    "remount": "mount -o remount,rw / && echo ESCAPED",
    "unmount": "umount .cockpit && echo ESCAPED",
    "bind over": "mount --bind {outside} sub && echo ESCAPED",
    "chmod outside": "chmod 777 {outside}/file.txt && echo ESCAPED",
    "through proc": "for p in /proc/[0-9]*; do echo x > $p/root{outside}/file.txt && echo ESCAPED; done",
    "through proc/cwd": "echo x > /proc/1/cwd/../../outside/file.txt && echo ESCAPED",
}
READS = {
    "ssh": "cat {home}/.ssh/id_ed25519",
    "aws": "cat {home}/.aws/credentials",
    "netrc": "cat {home}/.netrc",
    "home": "grep -r canary {home}",
    "through proc": "cat /proc/*/root{home}/notes.txt",
    "environment of the parent": "cat /proc/*/environ",
    "environment": "env",
    "env file": "cat .env sub/.env",
    "env file, by a link": "ln -s .env other; cat other",
    "all of the project": "grep -rs canary .",
    "keys of cockpit": 'cat "$COCKPIT_HOME"/config/keys.json {cockpit}/config/keys.json',
}


@pytest.mark.parametrize("name", WRITES)
async def test_no_write_leaves_the_workspace_or_changes_protected_files(box: Box, name: str) -> None:
    await box.require_sandbox()
    before = tree(box.home.parent / "outside"), tree(box.home), steering(box.root)
    script = WRITES[name].format(home=box.home, outside=box.outside, root=box.root)
    ended = await box.run(f"echo tried; {script}; true")
    assert ended.isolation == "bwrap build" and ended.output.startswith("tried\n"), ended.output
    hides = name == "home"  # its home is an empty one of its own: what it writes there is gone
    assert hides or "ESCAPED" not in ended.output, ended.output
    assert (tree(box.home.parent / "outside"), tree(box.home), steering(box.root)) == before


def steering(root: Path) -> dict[str, bytes]:
    """What steers programs later: every file in these folders, and names that must not have come."""
    names = (
        ".git/config",
        ".git/hooks",
        ".cockpit",
        ".vscode",
        "sub/.claude",
        ".claude",
        ".idea",
        ".mcp.json",
    )
    found = {}
    for name in (*names, ".envrc"):
        path = root / name
        for file in (path, *path.rglob("*")) if path.is_dir() else (path,):
            if file.exists():
                found[str(file)] = file.read_bytes() if file.is_file() else b"(folder)"
    return found


@pytest.mark.parametrize("name", READS)
async def test_secrets_cannot_be_read(
    box: Box, name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box.require_sandbox("read")
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "keys.json").write_text(CANARY)
    for variable in ("OPENAI_API_KEY", "MY_SECRET", "GITHUB_TOKEN"):
        monkeypatch.setenv(variable, CANARY)
    monkeypatch.setenv("PIP_INDEX_URL", f"https://me:{CANARY}@host.invalid/simple")
    script = READS[name].format(home=box.home, cockpit=home)
    ended = await box.run(f"echo tried; ({script}) 2>&1; true", "read")
    assert ended.isolation == "bwrap read" and ended.output.startswith("tried\n")
    assert CANARY not in ended.output, ended.output


async def test_the_profile_decides_whether_the_workspace_is_writable(box: Box) -> None:
    await box.require_sandbox("read")
    assert (await box.run("echo x > new.txt", "read")).code != 0
    assert not (box.root / "new.txt").exists()
    ended = await box.run("echo x > new.txt && rm main.py && cat .env && git commit -qam two")
    assert ended.code == 0, ended.output
    assert (box.root / "new.txt").read_text() == "x\n" and not (box.root / "main.py").exists()
    assert CANARY in ended.output, "tests may need the project's own settings; nothing gets out with them"


async def test_a_changed_protected_link_is_restored(box: Box) -> None:
    await box.require_sandbox()
    shared = box.root / "shared"
    shared.mkdir()
    (box.root / ".gemini").symlink_to("shared")
    ended = await box.run(
        "rm .gemini && mkdir .gemini && echo x > .gemini/settings.json; echo x > .git/commondir"
    )
    assert (box.root / ".gemini").is_symlink() and not (box.root / ".git" / "commondir").exists()
    assert ".gemini" in ended.output and "restored" in ended.output


async def test_a_git_folder_must_point_back_to_the_workspace(box: Box) -> None:
    await box.require_sandbox()
    store = box.outside / "store"
    subprocess.run(("git", "init", "-q", "--bare", str(store)), check=True, capture_output=True)
    subprocess.run(("rm", "-rf", str(box.root / ".git")), check=True)
    (box.root / ".git").write_text(f"gitdir: {store}\n")
    before = tree(store)
    ended = await box.run(
        f"echo x > {store}/config; echo x > {store}/hooks/x; echo 'gitdir: x' > .git; cat .git"
    )
    assert tree(store) == before and f"gitdir: {store}" in ended.output


async def test_a_worktree_can_commit_but_not_change_git_settings(box: Box) -> None:
    await box.require_sandbox()
    tree_of = box.root.parent / "second"
    subprocess.run(("git", "-C", str(box.root), "worktree", "add", "-q", str(tree_of)), check=True)
    other = Box(tree_of, box.home, box.outside, type(box.processes)(str(tree_of)), box.claimed)
    try:
        config = (box.root / ".git" / "config").read_bytes()
        ended = await other.run(
            "echo 2 > main.py && git commit -qam two && git log --oneline | wc -l;"
            f"echo x >> {box.root}/.git/config; echo x > {box.root}/.git/hooks/pre-commit; echo x > .git"
        )
        assert ended.output.startswith("2\n"), ended.output
        assert (box.root / ".git" / "config").read_bytes() == config
        assert not (box.root / ".git" / "hooks" / "pre-commit").exists()
        assert (tree_of / ".git").read_text().startswith("gitdir: ")
    finally:
        await other.processes.close()


async def test_secrets_are_hidden_when_home_is_the_workspace(box: Box) -> None:
    await box.require_sandbox()
    processes = type(box.processes)(str(box.home))
    at_home = Box(box.home, box.home, box.outside, processes, box.claimed)
    try:
        script = (
            "cat .ssh/id_ed25519 .netrc .aws/credentials; echo x >> .bashrc; echo x > .zshrc; echo x > made"
        )
        ended = await at_home.run(script)
        assert CANARY not in ended.output and (box.home / "made").exists()
        assert (box.home / ".bashrc").read_text() == "# mine\n" and not (box.home / ".zshrc").exists()
    finally:
        await processes.close()


async def test_settings_of_a_nested_repository_cannot_be_changed(box: Box) -> None:
    await box.require_sandbox()
    inner = box.root / "vendored"
    setup = "git init -q . && git -c user.name=n -c user.email=a@b.c commit -q --allow-empty -m one"
    inner.mkdir()
    subprocess.run(("bash", "-c", setup), cwd=inner, check=True, capture_output=True)
    config = (inner / ".git" / "config").read_bytes()
    ended = await box.run(
        "cd vendored && echo x >> .git/config; mv .git away; git commit -q --allow-empty -m two"
    )
    assert (inner / ".git" / "config").read_bytes() == config
    log = subprocess.run(
        ("git", "-C", str(inner), "log", "--oneline"), capture_output=True, text=True, check=True
    )
    assert len(log.stdout.splitlines()) == 2, ended.output


async def test_only_the_root_is_writable_in_a_larger_repository(box: Box) -> None:
    await box.require_sandbox()
    below = box.root / "sub"
    processes = type(box.processes)(str(below))
    inside = Box(below, box.home, box.outside, processes, box.claimed)
    try:
        ended = await inside.run(
            "git log --oneline | wc -l; echo x > ../main.py; echo x > here; echo x >> ../.git/config"
        )
        assert ended.output.startswith("1\n"), ended.output
        assert (box.root / "main.py").read_text() == "print(1)\n" and (below / "here").exists()
        secrets = await inside.run("cat ../.env", "read")
        assert CANARY not in secrets.output
    finally:
        await processes.close()


async def test_settings_of_a_submodule_named_by_a_path_cannot_be_changed(box: Box) -> None:
    await box.require_sandbox()
    deep = [box.root / ".git/modules" / one for one in ("libs/foo", "libs/foo/modules/a/b")]
    for store in deep:
        store.mkdir(parents=True)
        (store / "HEAD").write_text("ref: refs/heads/main\n")
        (store / "config").write_text("[core]\n")
    tries = "; ".join(
        f"echo ESCAPED >> {one}/config; mkdir {one}/hooks && echo x > {one}/hooks/a" for one in deep
    )
    ended = await box.run(f"({tries}); echo x > .git/config.worktree; true")
    assert [(one / "config").read_text() for one in deep] == ["[core]\n"] * 2, ended.output
    assert not (box.root / ".git/config.worktree").exists()


async def test_new_files_that_control_programs_are_reported(box: Box) -> None:
    await box.require_sandbox()
    ended = await box.run("mkdir -p new/.vscode $'od\\nd' && git init -q $'od\\nd'; echo > plain")
    last = ended.output.strip().splitlines()[-1]
    assert (
        last.startswith("[new files that control other programs")
        and "new/.vscode" in last
        and r"'od\nd/.git'" in last
    ), ended
    assert "came" not in (await box.run("echo > plain2")).output


@pytest.mark.parametrize("name", [".git", ".gitignore", ".env", "sub/.git"])
async def test_a_pipe_instead_of_a_file_does_not_block(box: Box, tmp_path: Path, name: str) -> None:
    root = tmp_path / "pipes"
    (root / "sub").mkdir(parents=True)
    os.mkfifo(root / name)
    processes = LocalProcesses(str(root))
    launch = Launch(("echo", "ran"), str(root), (), "build")
    try:
        ended = await processes.run_sealed(launch, launch.seal(), seconds=10)
    finally:
        await processes.close()
    assert ended.output.startswith("ran\n")
