"""Names, paths and links of worktrees, by their letters alone: also those of Windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cockpit.workspace.resolver import Resolver
from cockpit.workspace.worktrees.linking import Link, planned
from cockpit.workspace.worktrees.names import (
    branch_name,
    folder_name,
    folder_of,
    origin_of,
    slug,
    tree_of,
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
    assert slug(name) == expected


@given(some.text(max_size=60), some.integers(1, 99))
def test_any_name_makes_a_plain_folder_and_branch(name: str, number: int) -> None:
    made = folder_name(slug(name), number)
    assert made.strip("-") == made != ""
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in made)
    assert branch_name(slug(name), number).count("/") == 1


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
def test_a_path_in_a_worktree_stands_for_one_of_the_tree(path: str, expected: str) -> None:
    assert origin_of(path) == expected


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
def test_the_tree_that_a_worktree_was_made_from(root: str, expected: str) -> None:
    assert tree_of(root) == expected


def test_where_worktrees_lie() -> None:
    assert folder_of("/r/") == "/r/.cockpit/worktrees"
    assert folder_of("C:\\r") == "C:/r/.cockpit/worktrees"


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


def test_packages_are_linked_and_built_things_are_not() -> None:
    assert planned("/r", "/w", LISTED, "linux") == (
        Link("/w/node_modules", "/r/node_modules", "symlink"),
        Link("/w/packages/a/node_modules", "/r/packages/a/node_modules", "symlink"),
        Link("/w/vendor", "/r/vendor", "symlink"),
    )


def test_on_windows_the_links_are_junctions() -> None:
    assert planned("C:\\r", "C:\\w", LISTED[:2], "win32") == (
        Link("C:\\w\\node_modules", "C:\\r\\node_modules", "junction"),
        Link("C:\\w\\packages\\a\\node_modules", "C:\\r\\packages\\a\\node_modules", "junction"),
    )


def test_the_tree_a_worktree_was_made_from_is_not_written_from_it() -> None:
    resolver = Resolver("/r/.cockpit/worktrees/x", origin="/r")
    assert resolver.judge("/r/src/a.py", "write").level == "deny"
    assert "name src/a.py instead" in resolver.judge("/r/src/a.py", "write").reason
    assert resolver.judge("/r/src/a.py", "read").level == "ask"
    assert resolver.judge("src/a.py", "write").level == "allow"
    assert resolver.judge("/r/.cockpit/worktrees/x/src/a.py", "write").level == "allow"
    assert resolver.judge("/r/.cockpit/worktrees/y/src/a.py", "write").level == "deny"
