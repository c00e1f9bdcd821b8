"""`paths:` globs: which files they mean."""

import pytest

from cockpit.formats.globs import expand_braces, matches_any, parse_patterns
from cockpit.protocol.messages import Json


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("*.py", "a/b/c.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.ts", "src/a.ts", True),
        ("src/**/*.ts", "src/x/y/a.ts", True),
        ("src/**/*.{ts,tsx}", "src/x/a.tsx", True),
        ("src/**/*.{ts,tsx}", "src/x/a.js", False),
        ("{src,lib}/**", "lib/a", True),
        ("docs", "docs/a/b.md", True),
        ("**/*", "any/where", True),
        ("[", "[", False),
    ],
)
def test_a_glob_means_what_gitignore_says_with_braces(pattern: str, path: str, is_meant: bool) -> None:
    assert matches_any((pattern,), path) == is_meant


def test_invalid_glob_does_not_disable_the_others() -> None:
    assert matches_any(("***a[", "!", "*.py"), "x.py")


@pytest.mark.parametrize(
    ("value", "patterns"),
    [
        ("src/**/*.{ts,tsx}, *.md", ("src/**/*.{ts,tsx}", "*.md")),
        (["./a.py", " b "], ("a.py", "b")),
        ("", ()),
        (None, ()),
        ([1, "a"], ("a",)),
    ],
)
def test_a_field_is_a_list_or_text_with_commas(value: Json, patterns: tuple[str, ...]) -> None:
    assert parse_patterns(value) == patterns


def test_braces_are_bounded() -> None:
    assert expand_braces("{a,b}{1,2}") == ("a1", "a2", "b1", "b2")
    assert len(expand_braces("{a,b,c,d}" * 12)) == 64
