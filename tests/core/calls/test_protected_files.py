"""Protected and outside files through every tool that could touch one, by every name for them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.cli import patch
from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import SessionChanged, ToolCallFinished
from cockpit.protocol.messages import Json, Mode

pytestmark = pytest.mark.slow

TEXT = "def kept():\n    return 1\n"
FILES = (
    ".git/config", ".git/hooks/pre-commit", ".cockpit/notes.py", ".vscode/tasks.json",
    ".claude/settings.json", ".mcp.json", ".gitmodules", ".bashrc", ".env", "server.pem",
)  # fmt: skip
NAMES = (
    *FILES,
    ".GIT/config", ".git./config", ".git /config", ".g\u200bit/config", "\uff0egit/config", "git~1/config",
    ".git::$INDEX_ALLOCATION/config", ".Git/Hooks/new", "src/../.git/config", "src/.git/config",
    ".git\\config", ".COCKPIT/notes.py", ".MCP.json", ".Env", ".env.", ".e\u200dnv",
    "new/.vscode/x.json", "by_link/config", "link_to_env", "hooks_link/post-merge", "hard_outside.txt",
    "hard_hook", "pipe",
    "out_link/kept.py", "out_link/new.py", "out_file_link", "dangling_out", "/proc/self/mem", "/dev/sda",
    "~/.bashrc", "~/.ssh/authorized_keys", "/etc/hosts",
)  # fmt: skip
OUTSIDE = ("../out/kept.py", "../out/new.py", "src/../../out/kept.py", "~/notes.txt")


@pytest.fixture
def person(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose home folder is meant."""
    folder = tmp_path_factory.mktemp("person")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def guarded(root: Path, person: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    out = root.parent / "out"
    for path in (*(root / one for one in FILES), out / "kept.py", person / "notes.txt", person / ".bashrc"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT, encoding="utf-8")
    (root / "src").mkdir(exist_ok=True)
    (root / "a.py").write_text(TEXT, encoding="utf-8")
    (root / "by_link").symlink_to(".git")
    (root / "hooks_link").symlink_to(".git/hooks")
    (root / "link_to_env").symlink_to(".env")
    (root / "out_link").symlink_to(out)
    (root / "out_file_link").symlink_to(out / "kept.py")
    (root / "dangling_out").symlink_to(out / "born.py")
    os.link(out / "kept.py", root / "hard_outside.txt")
    os.link(root / ".git/hooks/pre-commit", root / "hard_hook")
    os.mkfifo(root / "pipe")
    return root


def calls(name: str) -> Iterator[Mapping[str, Json]]:
    """One call of each tool that would change `name`."""
    yield call("write", path=name, content="changed\n")
    yield call("edit", path=name, old="return 1", new="return 2")
    yield call("multi_edit", path=name, edits=[{"old": "return 1", "new": "return 2"}])
    yield call("edit_symbol", symbol=f"{name}:1:5", action="replace", text="def kept():\n    return 2\n")
    yield call("rename", symbol=f"{name}:1:5", to="renamed", apply=True)
    yield call("format", path=name, apply=True)
    yield call("delete", path=name)
    yield call("move", path=name, to=f"taken{abs(hash(name))}.py")
    yield call("move", path="a.py", to=name)
    body = f"*** Update File: {name}\n@@\n-    return 1\n+    return 2\n"
    yield call("apply_patch", patch=f"*** Begin Patch\n{body}*** End Patch\n")
    yield call("apply_patch", patch=f"*** Begin Patch\n*** Add File: {name}\n+changed\n*** End Patch\n")
    yield call("apply_patch", patch=f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n")


def step(*wanted: Mapping[str, Json]) -> Mapping[str, Json]:
    """One step of the scripted model."""
    return {"calls": [dict(one) for one in wanted]}


def tree(folder: Path) -> dict[str, object]:
    """Every name below `folder` with its bytes, where a link leads, or what it is."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = path.readlink()
        elif path.is_file():
            found[str(path)] = path.read_bytes()
        else:
            found[str(path)] = path.stat().st_mode
    return found


def kept(root: Path, person: Path) -> dict[str, object]:
    """The project, what lies outside, and the person's own files; not what cockpit keeps for itself."""
    own = tree(root) | tree(root.parent / "out")
    return own | {str(one): one.read_bytes() for one in (person / "notes.txt", person / ".bashrc")}


@pytest.mark.timeout(110)
@pytest.mark.parametrize(("mode", "names"), [("auto-edit", (*NAMES, *OUTSIDE)), ("full", NAMES)])
async def test_no_tool_changes_a_protected_file_by_any_name(
    guarded: Path, person: Path, mode: Mode, names: tuple[str, ...]
) -> None:
    before = kept(guarded, person)
    script(guarded.parent, *(step(*calls(name)) for name in names), {"text": "done"})
    given = RunOptions(model="scripted:script", mode=mode, someone=False, trust=True)
    async with driving(guarded, options=given) as driver:
        await driver.prompt("go")
        done = driver.all(ToolCallFinished)
    assert len(done) == 12 * len(names)
    assert kept(guarded, person) == before
    assert {one.result.outcome for one in done} <= {"denied", "error"}


async def test_no_tool_reads_a_secret_by_any_name(guarded: Path) -> None:
    names = (
        ".env",
        ".ENV",
        ".env.",
        ".e\u200bnv",
        "\uff0eenv",
        "src/../.env",
        "link_to_env",
        "server.pem",
        "SERVER.PEM",
    )
    for name in names:
        if not (guarded / name).exists():
            (guarded / name).write_text(TEXT, encoding="utf-8")
    reads = [call("read", path=name) for name in names]
    searched = [call("search", pattern="kept", path=name) for name in names]
    script(guarded.parent, step(*reads, *searched, call("read", path="a.py")), {"text": "done"})
    given = RunOptions(model="scripted:script", mode="full", someone=False, trust=True)
    async with driving(guarded, options=given) as driver:
        await driver.prompt("go")
        results = [one.result for one in driver.all(ToolCallFinished)]
    assert len(results) == 2 * len(names) + 1
    assert "return 1" in str(results[-1]), "what is no secret is read"
    for result in results[:-1]:
        assert "return 1" not in str(result)


async def test_a_script_in_the_sandbox_changes_no_protected_file(guarded: Path, person: Path) -> None:
    lines = [f"echo x > '{name}'; rm -f '{name}'; mv a.py '{name}'" for name in FILES[:8]]
    lines += ["ln -sf /tmp/x .git/hooks/post-merge", "rm -rf .git .cockpit .vscode", "mv .git moved"]
    lines += [
        "touch ran",
        *(f"echo x > '{one}'" for one in ("out_link/kept.py", "../out/kept.py", f"{person}/.bashrc")),
    ]
    (guarded / "try.sh").write_text("\n".join(lines), encoding="utf-8")
    (guarded / "test_try.py").write_text("import os\nos.system('sh try.sh')\n", encoding="utf-8")
    before = kept(guarded, person)
    script(
        guarded.parent,
        step(call("shell", command="python3 -B -m unittest test_try")),
        {"text": "done"},
    )
    given = RunOptions(model="scripted:script", mode="auto-edit", someone=False, trust=True)
    async with driving(guarded, options=given) as driver:
        isolation = (await driver.next(SessionChanged)).isolation
        await driver.prompt("go")
        (done,) = driver.all(ToolCallFinished)
    if isolation == "full":
        assert done.result.isolation == "bwrap build"
    else:
        assert done.result.outcome == "denied", "nobody is there to answer for what is not held in"
    after = kept(guarded, person)
    before.pop(str(guarded / "a.py"))
    assert {name: after.get(name) for name in before} == before
    new = {str(guarded / "ran")} if isolation == "full" else set()
    assert set(after) - {*before, str(guarded / "a.py")} == new


def test_the_patch_command_refuses_protected_files_too(guarded: Path, person: Path) -> None:
    before = kept(guarded, person)
    file = guarded.parent / "p.patch"
    bodies = {"Add": "+changed\n", "Update": "@@\n-    return 1\n+    return 2\n", "Delete": ""}
    for name in NAMES:
        for head, body in bodies.items():
            file.write_text(
                f"*** Begin Patch\n*** {head} File: {name}\n{body}*** End Patch\n", encoding="utf-8"
            )
            assert patch.main([str(file), "--root", str(guarded)]) == 1, (head, name)
    assert kept(guarded, person) == before
