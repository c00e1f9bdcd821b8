"""The verdict on paths: allowed, needing approval, or denied."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cockpit.plugin.context import PathRefused
from cockpit.workspace.resolver import PathLevel, Resolver, judge_windows_path

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "paths.jsonl"
WORDS: dict[PathLevel, str] = {"allow": "allow", "ask": "confirm", "deny": "deny"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COCKPIT_HOME", str(home / ".config" / "own"))
    return home


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x\n")
    return root


def levels(root: Path, path: str) -> tuple[PathLevel, PathLevel]:
    resolver = Resolver(os.path.realpath(root), str(root))
    return resolver.judge(path, "read").level, resolver.judge(path, "write").level


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "./src/../src/a.py",
        "new/file.txt",
        "config.py",
        "src/secrets.py",
        "tokens.json",
        ".gitignore",
        ".env.example",
        ".env.local.sample",
        "keys.txt",
        "monkey.keyboard",
        "文件/说明.md",
        "a b/c'd.txt",
        "-rf",
        ".github/workflows/ci.yml",
        "~$draft.docx",
        "environment.env.py",
        "github/x",
        ".gitattributes",
        "id.rsa",
    ],
)
def test_plain_files_inside_may_be_read_and_written(root: Path, path: str) -> None:
    assert levels(root, path) == ("allow", "allow")


@pytest.mark.parametrize("path", ["../x", "../ws2/x", "/tmp/../tmp/elsewhere", "~", "~/notes.txt", "/"])
def test_paths_outside_need_approval(root: Path, path: str) -> None:
    assert levels(root, path)[0] == "ask"
    assert not Resolver(str(root)).is_inside(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "sub/.env.production",
        ".ENV",
        ".env.",
        ".envrc",
        "server.pem",
        "a/B.KEY",
        "x.p12",
        "x.pfx",
        "id_rsa",
        "id_ed25519.bak",
        "~/.ssh/config",
        "~/.aws/credentials",
        "~/.netrc",
        "~/.config/gh/hosts.yml",
        "~/.npmrc",
        "~/.docker/config.json",
        "~/.local/share/keyrings/login.keyring",
        ".git-credentials",
        "~/.bash_history",
        "/etc/shadow",
        "/etc/ssh/ssh_host_rsa_key",
        "/proc/self/environ",
        "/proc/1/mem",
        "/dev/sda",
        "/dev/null",
        ".e\u200bnv",
        "\uff0eenv",
        ".env::$DATA",
        "a\0b",
        "a\nb",
        "a\x1b[31mb",
        "x\u202egnp.exe",
        "",
        "x" * 5000,
        "~/.config/own/config/credentials.toml",
    ],
)
def test_secrets_devices_and_unreadable_names_are_refused_for_both(root: Path, path: str) -> None:
    assert levels(root, path) == ("deny", "deny")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".git./config",
        "sub/.git/x",
        "git~1/config",
        ".g\u200cit/config",
        ".cockpit/rules.toml",
        ".vscode/settings.json",
        ".mcp.json",
        ".MCP.json",
        ".claude/settings.json",
        ".idea/workspace.xml",
        ".gitmodules",
        ".bashrc",
        "sub/.zshrc",
    ],
)
def test_files_that_run_later_can_be_read_but_not_written(root: Path, path: str) -> None:
    assert levels(root, path) == ("allow", "deny")


@pytest.mark.parametrize(
    "path", ["/etc/hosts", "/usr/bin/ls", "/var/log/x", "~/.bashrc", "~/.config/fish/config.fish"]
)
def test_outside_the_system_and_start_up_files_are_never_written(root: Path, path: str) -> None:
    assert levels(root, path) == ("ask", "deny")


def test_a_link_inside_is_the_file_it_leads_to(root: Path) -> None:
    (root / "link").symlink_to("src/a.py")
    resolver = Resolver(str(root))
    assert resolver.resolve("link", "write") == str(root / "src" / "a.py")


def test_a_link_that_leaves_is_asked_about_for_reading_and_refused_for_writing(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (root / "ext").symlink_to(tmp_path / "out")
    assert levels(root, "ext/new.txt") == ("ask", "deny")


def test_links_to_secrets_and_protected_folders_are_seen_through(root: Path, home: Path) -> None:
    (home / ".ssh").mkdir()
    (root / "notes").symlink_to(home / ".ssh")
    (root / "hooks").symlink_to(".git/hooks")
    (root / ".env").write_text("KEY=1")
    (root / "public.txt").symlink_to(".env")
    assert levels(root, "notes/id") == ("deny", "deny")
    assert levels(root, "hooks/pre-commit") == ("allow", "deny")
    assert levels(root, "public.txt") == ("deny", "deny")


def test_links_in_a_circle_are_refused(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert levels(root, "one") == ("deny", "deny")
    assert levels(root, "one/x") == ("deny", "deny")


def test_the_git_folder_of_a_worktree_is_protected_wherever_it_is(root: Path, tmp_path: Path) -> None:
    store = root / "store"
    store.mkdir()
    (root / ".git").write_text(f"gitdir: {store}\n")
    assert levels(root, "store/hooks/post-checkout") == ("allow", "deny")
    assert levels(root, ".git") == ("allow", "deny")
    (root / ".git").write_text(f"gitdir: {root}\n")
    assert levels(root, "src/a.py") == ("allow", "allow"), "a false pointer does not forbid the project"


def test_a_root_below_a_protected_name_is_still_a_root(tmp_path: Path, home: Path) -> None:
    root = tmp_path / ".claude" / "worktrees" / "one"
    root.mkdir(parents=True)
    assert levels(root, "src/a.py") == ("allow", "allow")


def test_fifos_and_sockets_are_refused_by_name(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(PathRefused, match="it is a FIFO"):
        Resolver(str(root)).resolve("pipe", "read")


def test_a_root_named_through_a_link_takes_paths_written_either_way(root: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    resolver = Resolver(os.path.realpath(alias), str(alias))
    assert resolver.resolve(f"{alias}/src/a.py", "write") == str(root / "src" / "a.py")
    assert resolver.is_inside(f"{alias}/src/a.py")


WINDOWS = [
    (r"src\a.py", "allow", "allow"),
    (r"C:\proj\ws\src\a.py", "allow", "allow"),
    (r"c:\PROJ\WS\a.py", "allow", "allow"),
    (r"C:\proj\ws2\a.py", "ask", "ask"),
    (r"..\x", "ask", "ask"),
    (r"D:\x", "ask", "ask"),
    (r"\temp\x", "ask", "ask"),
    (r"C:\Windows\System32\drivers\etc\hosts", "ask", "deny"),
    (r"src\..\.git\config", "allow", "deny"),
    (r".GIT\config", "allow", "deny"),
    (r"GIT~1\config", "deny", "deny"),
    (r".env", "deny", "deny"),
    (r"~\.ssh\id_rsa", "deny", "deny"),
    (r"C:\Users\dev\.aws\credentials", "deny", "deny"),
    (r"\\host\share\x", "deny", "deny"),
    ("//host/share/x", "deny", "deny"),
    (r"\\?\C:\proj\ws\a.py", "deny", "deny"),
    (r"\\.\PhysicalDrive0", "deny", "deny"),
    (r"C:a.py", "deny", "deny"),
    (r"a.py:hidden", "deny", "deny"),
    (r"a.py::$DATA", "deny", "deny"),
    (r"CON", "deny", "deny"),
    (r"src\nul.txt", "deny", "deny"),
    (r"com1", "deny", "deny"),
    (r"LPT¹", "deny", "deny"),
    (r"a. ", "deny", "deny"),
    (r"dir.\a.py", "deny", "deny"),
    (r"what?.txt", "deny", "deny"),
    (r"console.py", "allow", "allow"),
    (r"auxiliary\nullable.py", "allow", "allow"),
]


@pytest.mark.parametrize(("path", "read", "write"), WINDOWS)
def test_windows_paths_are_judged_by_their_letters_on_any_platform(
    path: str, read: PathLevel, write: PathLevel
) -> None:
    root, home = r"C:\proj\ws", r"C:\Users\dev"
    assert judge_windows_path(path, "read", root, home).level == read
    assert judge_windows_path(path, "write", root, home).level == write


def shared_cases() -> list[dict[str, Any]]:
    """The team's own path cases where their folder is beside this one; none elsewhere."""
    if not CORPUS.exists():
        return []
    return [json.loads(line) for line in CORPUS.read_text().splitlines()]


def test_recorded_cases(tmp_path: Path, home: Path) -> None:
    for number, case in enumerate(shared_cases()):
        root, out = tmp_path / f"{number}" / "ws", tmp_path / f"{number}" / "out"
        root.mkdir(parents=True)

        def filled(text: object, root: Path = root, out: Path = out) -> str:
            return (
                str(text).replace("{WS}", str(root)).replace("{OUT}", str(out)).replace("{HOME}", str(home))
            )

        setup: list[dict[str, str]] = case["setup"]
        for step in setup:
            path = Path(filled(step["path"]))
            path.parent.mkdir(parents=True, exist_ok=True)
            match step["op"]:
                case "file":
                    path.write_text(step["text"])
                case "mkdir":
                    path.mkdir(parents=True, exist_ok=True)
                case "symlink":
                    path.symlink_to(filled(step["target"]))
        path_text = filled(case["path"])
        for access in ("read", "write"):
            if case["os"] == "windows":
                level = judge_windows_path(path_text, access, r"C:\proj\ws", r"C:\Users\dev").level
            else:
                level = Resolver(os.path.realpath(root), str(root)).judge(path_text, access).level
            accepted: list[str] = case[f"{access}_accept"]
            assert WORDS[level] in accepted, (case["id"], access)
