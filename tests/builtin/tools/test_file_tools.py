"""read, list and glob: what a model is shown of a folder."""

import json
import os
import struct
from pathlib import Path

import pytest
from tests.support.contexts import writing_context
from tests.support.session_view import call, registered
from tests.workspace.trees import grow

from cockpit.builtin.tools import glob, list, read
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Done, ToolFailed

READ, LIST, GLOB = registered(read)["read"], registered(list)["list"], registered(glob)["glob"]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return writing_context(tmp_path)


async def refused(context: Context, path: str) -> str:
    with pytest.raises((ToolFailed, PathRefused)) as raised:
        await call(READ, context, path=path)
    return str(raised.value)


async def test_read_numbers_lines_and_hides_line_ends(context: Context, tmp_path: Path) -> None:
    grow(tmp_path, {"文件/说明.txt": "\ufeffeins\r\nzwei\r\n\r\nvier"})
    done = await call(READ, context, path="文件/说明.txt")
    assert done.text == "1\teins\n2\tzwei\n3\t\n4\tvier\n[the file starts with a byte order mark]"


async def test_read_pages_and_names_the_next_start(context: Context, tmp_path: Path) -> None:
    grow(tmp_path, {"long.txt": "".join(f"line {number}\n" for number in range(1, 5001))})
    done = await call(READ, context, path="long.txt")
    assert done.text.endswith("2000\tline 2000\n[lines 1 to 2000 of 5000; go on with start=2001]")
    done = await call(READ, context, path="long.txt", start=4999, lines=10)
    assert done.text == "4999\tline 4999\n5000\tline 5000\n[lines 4999 to 5000 of 5000]"
    assert (await call(READ, context, path="long.txt", start=-1)).text.startswith("5000\tline 5000")
    assert "has only 5000 lines; start at 5000" in await refused_at(context, "long.txt", 5001)


async def refused_at(context: Context, path: str, start: int) -> str:
    with pytest.raises(ToolFailed) as raised:
        await call(READ, context, path=path, start=start)
    return str(raised.value)


async def test_read_cuts_long_lines_and_long_pages(context: Context, tmp_path: Path) -> None:
    grow(tmp_path, {"one.js": "x" * 5000, "wide.txt": ("中" * 1000 + "\n") * 100})
    assert "[... 3,000 more characters in this line]" in (await call(READ, context, path="one.js")).text
    done = await call(READ, context, path="wide.txt")
    assert len(done.text.encode()) < 50_000
    assert "of 100; go on with start=" in done.text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "a.png",
            b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480),
            "a PNG image, 640 x 480 pixels",
        ),
        ("a.gif", b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0", "a GIF image, 3 x 4 pixels"),
        ("a.pdf", b"%PDF-1.7\n", "a PDF document"),
        ("a.o", b"\x7fELF\0\0", "binary, 6 bytes"),
        ("a.txt", "hi".encode("utf-16"), "UTF-16 text"),
    ],
)
async def test_read_describes_files_that_are_not_text(
    context: Context, tmp_path: Path, name: str, content: bytes, text: str
) -> None:
    grow(tmp_path, {name: content})
    assert text in (await call(READ, context, path=name)).text


async def test_read_says_what_to_do_instead(context: Context, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {"src/parser.py": "x", "empty": "", "latin": b"caf\xe9\n", ".env": "KEY=1", "src/config.py": "x"},
    )
    assert (await call(READ, context, path="empty")).text == "empty is empty"
    assert "not UTF-8" in (await call(READ, context, path="latin")).text
    assert "did you mean src/parser.py?" in await refused(context, "parser.py")
    assert "did you mean src/parser.py?" in await refused(context, "src/prser.py")
    assert "use `list`" in await refused(context, "src")
    assert "a file name used for secrets" in await refused(context, ".env")
    assert "a part of the path is a file" in await refused(context, "empty/x")
    assert (await call(READ, context, path="src/config.py")).text == "1\tx"


async def test_read_does_not_wait_for_a_pipe(context: Context, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "FIFO" in await refused(context, "pipe")


async def test_list_shows_folders_first_and_no_ignored_files(context: Context, tmp_path: Path) -> None:
    grow(
        tmp_path,
        dict.fromkeys(["b.txt", "src/a/deep.py", "src/m.py", ".hidden", "x.log"], "")
        | {".gitignore": "*.log"},
    )
    assert (await call(LIST, context)).text == "src/\nb.txt"
    assert (await call(LIST, context, path="src", depth=2)).text == "a/\n  deep.py\nm.py"
    assert ".hidden" in (await call(LIST, context, hidden=True)).text
    with pytest.raises(ToolFailed, match="does not exist"):
        await call(LIST, context, path="nowhere")


async def test_list_and_glob_are_capped_with_a_count(context: Context, tmp_path: Path) -> None:
    grow(tmp_path, {f"f{number:04}.txt": "" for number in range(620)})
    assert lines(await call(LIST, context))[-1] == "[120 more entries; list a folder in it, or use glob]"
    expected = await call(GLOB, context, pattern="*.txt")
    assert len(lines(expected)) == 501
    assert lines(expected)[-1] == "[120 more files; narrow the pattern or the path]"


async def test_names_that_are_not_utf8_are_shown_with_marks(context: Context, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    for done in (await call(LIST, context), await call(GLOB, context, pattern="*.txt")):
        assert done.text == "caf?.txt"
        json.dumps(done.data, ensure_ascii=False).encode("utf-8")


def lines(done: Done) -> "list[str]":
    return done.text.split("\n")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", ".", ["a.py", "src/b.py", "src/in/c.py"]),
        ("src/*.py", ".", ["src/b.py"]),
        ("src/**/*.py", ".", ["src/b.py", "src/in/c.py"]),
        ("**/*.{py,ts}", "src", ["src/b.py", "src/d.ts", "src/in/c.py"]),
        ("*.py", "src", ["src/b.py", "src/in/c.py"]),
        ("[ab].py", ".", ["a.py", "src/b.py"]),
        ("?.ts", ".", ["src/d.ts"]),
        (".github/**", ".", [".github/ci.yml"]),
        ("my dir/*", ".", ["my dir/中.txt"]),
        ("*.{rs,go}", ".", []),
    ],
)
async def test_glob_patterns_match_paths(
    context: Context, tmp_path: Path, pattern: str, path: str, expected: "list[str]"
) -> None:
    names = [
        "a.py",
        "src/b.py",
        "src/in/c.py",
        "src/d.ts",
        ".github/ci.yml",
        "my dir/中.txt",
        "node_modules/x/y.py",
    ]
    grow(tmp_path, dict.fromkeys(names, ""))
    done = await call(GLOB, context, pattern=pattern, path=path)
    assert done.data == expected
