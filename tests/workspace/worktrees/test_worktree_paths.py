"""Names, paths and links of worktrees as text, those of Windows included."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cockpit.workspace.resolver import Resolver
from cockpit.workspace.worktrees.package_links import PackageLink, plan_links
from cockpit.workspace.worktrees.values import (
    branch_name,
    folder_name,
    make_slug,
    origin_path,
    origin_tree,
    worktrees_folder,
)

NAMES = {
    "Fix the login!": "fix-the-login",
    "main/review-2": "main-review-2",
    "../../etc": "etc",
    ".git": "git",
    "-rf": "rf",
    "日本": "work",
    "": "work",
    "con": "work-con",
    "LPT1": "work-lpt1",
    "merging-1": "work-merging-1",
    "a" * 80: "a" * 40,
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_a_name_is_safe_on_every_platform(name: str, expected: str) -> None:
    assert make_slug(name) == expected


@given(some.text(max_size=60), some.integers(1, 99))
def test_any_name_makes_a_plain_folder_and_branch(name: str, number: int) -> None:
    made = folder_name(make_slug(name), number)
    assert made.strip("-") == made != ""
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in made)
    assert branch_name(make_slug(name), number).count("/") == 1


ORIGINS = {
    "/r/.cockpit/worktrees/x/src/a.py": "/r/src/a.py",
    "/r/.cockpit/worktrees/x": "/r",
    "/r/sub/.cockpit/worktrees/x/a": "/r/sub/a",
    "/r/.cockpit/worktrees/x/.cockpit/worktrees/y/a": "/r/a",
    "/r/.Cockpit/Worktrees/x/a": "/r/a",
    "/r/.cockpit/worktrees": "/r/.cockpit/worktrees",
    "/r/.cockpit/settings.toml": "/r/.cockpit/settings.toml",
    "C:\\r\\.cockpit\\worktrees\\x\\src": "C:/r/src",
    "/r/src/a.py": "/r/src/a.py",
    "/.cockpit/worktrees/x": "/",
}


@pytest.mark.parametrize(("path", "expected"), ORIGINS.items())
def test_a_path_in_a_worktree_maps_to_the_origin(path: str, expected: str) -> None:
    assert origin_path(path) == expected


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/r/.cockpit/worktrees/x", "/r"),
        ("/r/.cockpit/worktrees/x/deep/er", "/r"),
        ("/r/.cockpit/worktrees", ""),
        ("/r", ""),
        ("C:\\r\\.cockpit\\worktrees\\x", "C:/r"),
    ],
)
def test_the_origin_of_a_worktree_is_found(root: str, expected: str) -> None:
    assert origin_tree(root) == expected


def test_the_folder_of_worktrees() -> None:
    assert worktrees_folder("/r/") == "/r/.cockpit/worktrees"
    assert worktrees_folder("C:\\r") == "C:/r/.cockpit/worktrees"


LISTED = (
    "node_modules/",
    "packages/a/node_modules/",
    "node_modules/b/node_modules/",
    "target/",
    ".venv",
    "vendor/",
    "secret.txt",
    "",
)


def test_packages_are_linked_and_build_outputs_are_not() -> None:
    assert plan_links("/r", "/w", LISTED, "linux") == (
        PackageLink("/w/node_modules", "/r/node_modules", "symlink"),
        PackageLink("/w/packages/a/node_modules", "/r/packages/a/node_modules", "symlink"),
        PackageLink("/w/vendor", "/r/vendor", "symlink"),
    )


def test_on_windows_the_links_are_junctions() -> None:
    assert plan_links("C:\\r", "C:\\w", LISTED[:2], "win32") == (
        PackageLink("C:\\w\\node_modules", "C:\\r\\node_modules", "junction"),
        PackageLink("C:\\w\\packages\\a\\node_modules", "C:\\r\\packages\\a\\node_modules", "junction"),
    )


def test_the_origin_is_not_written_from_its_worktree() -> None:
    resolver = Resolver("/r/.cockpit/worktrees/x", origin="/r")
    assert resolver.judge("/r/src/a.py", "write").level == "deny"
    assert "use src/a.py instead" in resolver.judge("/r/src/a.py", "write").reason
    assert resolver.judge("/r/src/a.py", "read").level == "ask"
    assert resolver.judge("src/a.py", "write").level == "allow"
    assert resolver.judge("/r/.cockpit/worktrees/x/src/a.py", "write").level == "allow"
    assert resolver.judge("/r/.cockpit/worktrees/y/src/a.py", "write").level == "deny"
