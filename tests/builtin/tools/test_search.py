"""The search tool: equal results with ripgrep and without."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from tests.support.session_view import call, context_on, registered

from cockpit.builtin.tools import search
from cockpit.builtin.tools.search import dialect, engines, scan
from cockpit.plugin.context import PathRefused
from cockpit.plugin.tools import ToolFailed

TOOL = registered(search)["search"]
QUERIES = [
    {"pattern": "foo"},
    {"pattern": "^foo"},
    {"pattern": "foo$"},
    {"pattern": "foo", "context": 2},
    {"pattern": "foo", "context": 2, "limit": 9},
    {"pattern": "foo", "context": 5, "limit": 1},
    {"pattern": "f(o+) {"},
    {"pattern": "FOO|Bar"},
    {"pattern": "FOO|Bar", "case": "ignore"},
    {"pattern": r"[[:alpha:]]+\s*=\s*\d"},
    {"pattern": r"\p{Han}+"},
    {"pattern": "caf."},
    {"pattern": r"foo\b.*\S"},
    {"pattern": "x*"},
    {"pattern": "[^a-z ]", "limit": 20},
    {"pattern": "foo", "glob": "*.{py,txt}"},
    {"pattern": "foo", "glob": "!*.txt"},
    {"pattern": "foo", "glob": "a/"},
    {"pattern": "foo", "path": "ignored"},
    {"pattern": "foo", "path": "long.js"},
    {"pattern": r"o\s*$", "path": "a/crlf.txt"},
    {"pattern": "a.b(c", "literal": True},
    {"pattern": r"(?i)FOO = \d"},
    {"pattern": r"\x{6587}"},
    {"pattern": "[]{}&&--~~[a]+"},
    {"pattern": "o{2}"},
    {"pattern": r"(?<one>fo)o"},
    {"pattern": "nowhere at all"},
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that the engines could treat differently. Tests only read them."""
    root = tmp_path_factory.mktemp("tree")
    (root / "a").mkdir()
    (root / "ignored").mkdir()
    for name, content in {
        "a/x.py": b"import os\nfoo = 1\n",
        "a/crlf.txt": b"foo\r\nbar foo\r\n",
        "bom.txt": b"\xef\xbb\xbffoo after a mark\nx",
        "u16.txt": "foo utf16\nline2 foo\n".encode("utf-16"),
        "zero.bin": b"foo\n" * 10 + b"\0" + b"foo\n" * 200,
        # The zero is far behind the first block, so ripgrep reports matches before it. Few lines suffice.
        "late-zero.bin": (b"foo" + b" " * 700 + b"\n") * 120 + b"\0",
        "latin.txt": b"caf\xe9 foo\nfoo \xff\xfe end\n",
        "中文 文件.txt": "这里 foo 有\n".encode() * 3,
        "long.js": b"x" * 1500 + b"foo" + b"y" * 1500,
        "braces.c": b"foo {\n a.b(c) [a] && --\n\ttabbed foo \n",
        ".gitignore": b"ignored/\n",
        ".env": b"foo=secret\n",
        "server.pem": b"foo\n",
        ".hidden": b"foo\n",
        "ignored/i.txt": b"foo\n",
        "empty": b"",
        "blank.txt": b"\n\n",
    }.items():
        (root / name).write_bytes(content)
    rows = "\n".join(f"line {at}{' foo' if at % 7 == 0 else ''}" for at in range(40))
    (root / "rows.txt").write_text(rows)
    return root


@pytest.mark.parametrize("query", QUERIES, ids=[str(query) for query in QUERIES])
async def test_both_engines_give_the_same_answer(query: dict[str, object], tree: Path) -> None:
    # Without ripgrep both contexts use the Python engine.
    either = await call(TOOL, context_on(tree), **query)
    python = await call(TOOL, context_on(tree, {"engine": "python"}), **query)
    assert either == python


async def test_ignored_hidden_binary_and_secret_files_are_left_out(tree: Path) -> None:
    text = (await call(TOOL, context_on(tree), pattern="foo", limit=500)).text
    assert text.startswith("20 matches in 9 files")
    for name in ("ignored", "zero.bin", ".env", ".pem", ".hidden"):
        assert name not in text


async def test_matches_are_grouped_by_file_with_path_and_line(tree: Path) -> None:
    text = (await call(TOOL, context_on(tree), pattern="foo", path="a")).text
    assert text.splitlines()[1:] == ["a/crlf.txt:1: foo", "a/crlf.txt:2: bar foo", "a/x.py:2: foo = 1"]


async def test_first_line_names_the_total_when_the_limit_is_reached(tree: Path) -> None:
    text = (await call(TOOL, context_on(tree), pattern="foo", limit=3)).text
    assert "first 3 of 20" in text.splitlines()[0]
    assert len(text.splitlines()) == 4


async def test_long_line_is_cut_around_its_match(tree: Path) -> None:
    line = (await call(TOOL, context_on(tree), pattern="foo", path="long.js")).text.splitlines()[1]
    assert "…x" in line
    assert "foo" in line
    assert len(line) < 300


async def test_secret_file_as_path_is_refused(tree: Path) -> None:
    with pytest.raises(PathRefused):
        await call(TOOL, context_on(tree), pattern="foo", path=".env")


async def test_endlessly_backtracking_pattern_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("early aa\n")
    (tmp_path / "b.txt").write_text("a" * 60 + "!\n")
    monkeypatch.setattr(engines, "SEARCH_SECONDS", 1.0)
    context = context_on(tmp_path, {"engine": "python"})
    done = await asyncio.wait_for(call(TOOL, context, pattern=r"^early|(a+)+$"), 20)
    assert "a.txt:1: early aa" in done.text
    assert "the rest was not searched" in done.text


async def test_look_around_and_back_references_work(tree: Path) -> None:
    done = await call(TOOL, context_on(tree), pattern=r"(?<=bar )fo(o)\b|(f)\2")
    assert "a/crlf.txt:2: bar foo" in done.text


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "empty"),
        ("foo(", "literal=true"),
        ("[a", "without a ]"),
        ("a\\", "lone backslash"),
        (r"a\nb", "one line at a time"),
        ("a\nb", "one line at a time"),
        (r"\p{Lu}", "Han"),
        (r"\Kfoo", "unknown escape"),
        ("foo(?i)bar", "only at the start"),
        ("(?x)a b", "flag x"),
        ("[[:nope:]]", "unknown class"),
    ],
)
def test_patterns_the_engines_would_read_differently_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ToolFailed, match=message.replace("(", r"\(").replace("[", r"\[").replace("]", r"\]")):
        dialect.translate_pattern(pattern)


async def test_missing_path_is_named(tree: Path) -> None:
    with pytest.raises(ToolFailed, match="nowhere does not exist"):
        await call(TOOL, context_on(tree), pattern="x", path="nowhere")


async def test_glob_without_matching_files_is_reported(tree: Path) -> None:
    done = await call(TOOL, context_on(tree), pattern="foo", glob="*.rs")
    assert "no file matches the glob *.rs" in done.text


def test_smart_case_considers_only_typed_letters() -> None:
    assert dialect.translate_pattern("Foo").has_upper
    assert not dialect.translate_pattern(r"\W\S[A-Z]foo").has_upper
    assert dialect.escape_literal("a.B").has_upper


def test_command_lines_stay_below_the_size_limit() -> None:
    files = tuple(f"some/folder/file-{number}.txt" for number in range(5_000))
    parts = list(engines.split_files(files, 10_000))
    assert tuple(path for part in parts for path in part) == files
    assert all(sum(len(os.fsencode(path)) + 9 for path in part) <= 10_000 for part in parts)


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", "src/a.py", "src/a.pyc"),
        ("src/*.py", "src/a.py", "lib/src/a.py"),
        ("src/**/*.{ts,tsx}", "src/a/b/c.tsx", "src/a.js"),
        ("*.py, *.md", "x/README.md", "x.txt"),
        ("!tests/", "src/a.py", "tests/a.py"),
    ],
)
def test_globs_include_and_exclude_files(glob: str, yes: str, no: str) -> None:
    matches = search.compile_globs(glob)
    assert matches(yes)
    assert not matches(no)


def test_only_line_feeds_end_a_line() -> None:
    assert scan.split_lines("a\x0cb\r\nc\u2028d\n") == ["a\x0cb", "c\u2028d"]


async def test_missing_ripgrep_is_not_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = await call(TOOL, context_on(tree), pattern="foo")
    python_only = str(Path(shutil.which("git") or "").parent / "nowhere")
    monkeypatch.setenv("PATH", python_only)
    assert await call(TOOL, context_on(tree), pattern="foo") == expected
