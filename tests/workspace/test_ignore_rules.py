"""The files of a project are those that git lists, without well-known caches."""

import subprocess
from pathlib import Path

import pytest
from tests.workspace.trees import grow

from cockpit.workspace.files.ignore_rules import is_ignored
from cockpit.workspace.local import LocalWorkspace, walk_files


def paths(root: Path, start: str = ".", hidden: bool = False) -> list[str]:
    return [entry.path for entry in walk_files(str(root), start, hidden)]


RULES: dict[str, bytes | str] = {
    ".gitignore": "*.log\n!keep.log\n/build/\ndocs/*.html\n# no\n\\#odd\ntrailing  \n"
    "**/deep/x\nlogs/**/*.txt\na[bc].c\n",
    "sub/.gitignore": "!special.log\nlocal/\n/only-here\n",
    ".git/info/exclude": "excluded.txt\n",
}
NAMES = (
    """
a.log|keep.log|build/x|src/build/x|docs/a.html|docs/in/a.html|#odd|trailing|one/deep/x|one/deep/y|logs/a.txt
logs/p/q/a.txt|logs/a.md|ab.c|ad.c|sub/special.log|sub/other.log|sub/local/x|sub/only-here|sub/in/only-here
excluded.txt|sub/excluded.txt|中文/说明.txt|z.py
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    grow(tmp_path, dict.fromkeys(NAMES, "x") | RULES)
    return tmp_path


def test_the_walk_lists_the_files_that_git_lists(repository: Path) -> None:
    argv = [
        "git",
        "-C",
        str(repository),
        "-c",
        "core.quotePath=false",
        "ls-files",
        "-co",
        "--exclude-standard",
    ]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(paths(repository, hidden=True)) == sorted(listed)


def test_is_ignored_agrees_with_the_walk(repository: Path) -> None:
    found = set(paths(repository, hidden=True))
    for name in NAMES:
        assert is_ignored(str(repository), name) == (name not in found), name


def test_rules_above_the_root_apply(repository: Path) -> None:
    assert paths(repository / "sub") == ["in/only-here", "special.log"]


def test_an_ignored_folder_can_be_walked_by_name(repository: Path) -> None:
    assert paths(repository, "build") == ["build/x"]
    assert paths(repository, "sub/local") == ["sub/local/x"]


def test_caches_and_git_are_never_walked_and_hidden_names_only_when_asked(tmp_path: Path) -> None:
    grow(
        tmp_path,
        dict.fromkeys(
            ["node_modules/x/i.js", ".venv/x", "a/__pycache__/b.pyc", ".git/HEAD", ".h/x", "a/b"], ""
        ),
    )
    assert paths(tmp_path) == ["a/b"]
    assert paths(tmp_path, hidden=True) == [".h/x", "a/b"]


def test_other_rule_files_win_over_gitignore(tmp_path: Path) -> None:
    grow(
        tmp_path,
        {".gitignore": "*.gen\n", ".ignore": "!wanted.gen\nnotes\n", ".cockpitignore": "!notes\nbig.csv\n"},
    )
    grow(tmp_path, dict.fromkeys(["wanted.gen", "other.gen", "notes", "big.csv", "a"], ""))
    assert paths(tmp_path) == ["a", "notes", "wanted.gen"]


def test_the_order_is_by_name_part_by_part_and_links_are_not_followed(tmp_path: Path) -> None:
    grow(tmp_path, dict.fromkeys(["b/x", "a.txt", "a/z", "a-b"], ""))
    (tmp_path / "loop").symlink_to(".")
    entries = list(walk_files(str(tmp_path)))
    assert [(entry.path, entry.kind) for entry in entries] == [
        ("a/z", "file"),
        ("a-b", "file"),
        ("a.txt", "file"),
        ("b/x", "file"),
        ("loop", "link"),
    ]


async def test_folders_come_first_among_entries_and_ignored_ones_are_left_out(repository: Path) -> None:
    workspace = LocalWorkspace(str(repository))
    names = [entry.path for entry in await workspace.files.entries(".")]
    assert names[:3] == ["docs", "logs", "one"] and "build" not in names and "a.log" not in names
    assert [entry.path async for entry in workspace.files.walk("sub")] == [
        "sub/in/only-here",
        "sub/special.log",
    ]
    with pytest.raises(FileNotFoundError):
        await workspace.files.entries("nowhere")
