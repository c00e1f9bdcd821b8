"""The index follows the files: built, cached, updated, and nothing it should not read."""

import itertools
import json
import os
from pathlib import Path

import pytest
from tests.support.sources import at, indexed, languages, names, places, until, write

from cockpit.navigation.index.client import TreeIndex

SOURCES = "=== a.py\ndef alpha(): ...\n=== pkg/b.py\nfrom a import alpha\ndef beta(): alpha()\n"


async def found(index: TreeIndex, query: str) -> list[str]:
    return places(await index.symbols(query))


async def test_changed_new_deleted_and_renamed_files_are_followed(root: Path) -> None:
    write(root, SOURCES)
    async with indexed(root) as index:
        assert await found(index, "alpha") == ["a.py:1"]
        (root / "a.py").write_text("\n\ndef gamma(): ...\n")
        (root / "c.py").write_text("class Delta: ...\n")
        index.changed([str(root / "a.py"), "c.py"])
        assert await found(index, "alpha") == [] and await found(index, "gamma") == ["a.py:3"]
        assert await found(index, "Delta") == ["c.py:1"] and index.progress == (3, 3)
        (root / "c.py").rename(root / "pkg" / "d.py")
        (root / "a.py").unlink()
        index.changed(["c.py", "pkg/d.py", "a.py"])
        assert await found(index, "Delta") == ["pkg/d.py:1"] and await found(index, "gamma") == []
        (root / "pkg").rename(root / "moved")
        index.changed(["pkg", "moved"])
        assert await found(index, "Delta") == ["moved/d.py:1"] and await found(index, "beta") == [
            "moved/b.py:2"
        ]


async def test_changes_on_disk_are_seen_without_notification(root: Path) -> None:
    write(root, SOURCES)
    async with indexed(root, watching=True) as index:
        written = itertools.count()

        async def is_heard() -> bool:
            # Written again and again: nobody knows when a watcher has begun to look.
            (root / "later.py").write_text(f"# {next(written)}\ndef written_later(): ...\n")
            return bool(await found(index, "written_later"))

        async def is_gone() -> bool:
            return not await found(index, "written_later")

        await until(is_heard)
        (root / "later.py").unlink()
        await until(is_gone)


async def test_only_files_changed_since_the_cache_are_parsed_again(root: Path, tmp_path: Path) -> None:
    write(root, SOURCES)
    cache = tmp_path / "cache"
    async with indexed(root, cache):
        pass
    (kept,) = cache.iterdir()
    before = kept.stat().st_mtime_ns
    async with indexed(root, cache) as index:
        assert await found(index, "alpha") == ["a.py:1"]
    assert kept.stat().st_mtime_ns == before
    # The same size and the same time: only its bytes say that it is another file.
    stat = (root / "a.py").stat()
    (root / "a.py").write_text("def omega(): ...\n")
    os.utime(root / "a.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (root / "pkg" / "b.py").unlink()
    async with indexed(root, cache) as index:
        assert await found(index, "omega") == ["a.py:1"] and await found(index, "beta") == []


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "other"])
async def test_a_broken_cache_only_slows_the_start(root: Path, tmp_path: Path, harm: str) -> None:
    write(root, SOURCES)
    cache = tmp_path / "cache"
    async with indexed(root, cache):
        pass
    (kept,) = cache.iterdir()
    raw = kept.read_bytes()
    broken = {
        "cut": raw[: len(raw) // 2],
        "flipped": raw[:60] + bytes([raw[60] ^ 255]) + raw[61:],
        "empty": b"",
        "other": b"\0" * 20 + raw[20:],
    }
    kept.write_bytes(broken[harm])
    async with indexed(root, cache) as index:
        assert await found(index, "alpha") == ["a.py:1"] and not index.failure
    assert kept.read_bytes()[:20] == raw[:20]


async def test_an_unwritable_cache_folder_is_ignored(root: Path, tmp_path: Path) -> None:
    write(root, SOURCES)
    (tmp_path / "file").write_text("")
    async with indexed(root, tmp_path / "file" / "cache") as index:
        assert await found(index, "alpha") == ["a.py:1"]


async def test_ignored_hidden_linked_minified_binary_and_huge_files_stay_out(root: Path) -> None:
    write(root, SOURCES)
    write(root, "=== gone/x.py\ndef left_out(): ...\n=== .hid/x.py\ndef left_out(): ...\n")
    write(root, "=== node_modules/m/x.js\nfunction left_out() {}\n")
    (root / ".gitignore").write_text("gone/\n")
    (root / "link.py").symlink_to(root / "a.py")
    (root / "min.js").write_text("function left_out(){};" * 1000)
    (root / "bin.py").write_bytes(b"def left_out(): ...\0")
    (root / "big.py").write_text("def left_out(): ...\n" * 60_000)
    (root / "empty.py").write_text("")
    async with indexed(root) as index:
        assert await found(index, "left_out") == []
        assert index.left_out == 3 and dict(index.languages()) == {"python": 3}
        assert await found(index, "alpha") == ["a.py:1"]
        index.changed(["gone/x.py", ".hid/x.py"])
        assert await found(index, "left_out") == []
        (root / ".gitignore").write_text("")
        index.changed([".gitignore"])
        await until(lambda: found(index, "left_out"))


async def test_a_file_is_outlined_before_the_index_has_reached_it(root: Path) -> None:
    for number in range(400):
        (root / f"m{number}.py").write_text("class C:\n    def f(self): ...\n" * 40)
    (root / "wanted.py").write_text("from m3 import C\nC\ndef wanted(): ...\n")
    index = TreeIndex(str(root), languages(), "", watching=False)
    try:
        index.start()
        assert names(await index.outline("wanted.py")) == ["wanted"]
        assert places(await index.related("definition", at(root, "wanted.py", "\n|C\n")))[0] == "m3.py:79"
        assert await index.whole(30) and index.progress == (401, 401)
    finally:
        await index.close()


async def test_invalid_utf_8_and_broken_code_are_parsed_as_far_as_possible(
    root: Path,
) -> None:
    (root / "latin.py").write_bytes("# é\ndef caf\xe9(): ...\nx = 'é' ; y = 1\ny\n".encode("latin-1"))
    (root / "wide.py").write_text("s = '😀é'; target = 1\nprint('😀', target)\n", encoding="utf-8")
    (root / "broken.py").write_text(
        "def good():\n    pass\n\ndef bad(x):\n    return = x\n\nclass Later:\n    def m(self): ...\n"
    )
    async with indexed(root) as index:
        assert "good" in names(await index.outline("broken.py"))
        assert "Later.m" in names(await index.outline("broken.py"))
        (row,) = await index.related("definition", at(root, "wide.py", "', |target"))
        assert (row.line, row.column, row.end_column) == (1, 11, 17)
        assert len(await index.outline("latin.py")) >= 2 and not index.failure


async def test_questions_about_missing_files_have_no_answer(root: Path) -> None:
    from cockpit.plugin.navigation import Position

    write(root, SOURCES)
    async with indexed(root) as index:
        for place in (Position("no.py", 1, 1), Position("a.py", 99, 1), Position("../x.py", 1, 1)):
            assert await index.related("definition", place) == ()
            assert await index.extent(place) is None and await index.hover(place) == ""
        assert await index.outline("no.py") == () and await index.named("") == ()
        assert not index.failure


async def test_what_it_answers_can_be_sent(root: Path) -> None:
    write(root, SOURCES)
    async with indexed(root) as index:
        (row,) = await index.symbols("alpha")
    assert row.source == "tree-sitter" and json.dumps([row.name, row.path, row.line])
    assert (row.first, row.last, row.text, row.kind) == (1, 1, "def alpha(): ...", "function")


async def test_an_incomplete_answer_says_so(root: Path) -> None:
    write(
        root, "=== few.py\ndef rare(): ...\nrare()\n=== many.py\ndef common(): ...\n" + "common()\n" * 2_100
    )
    async with indexed(root) as index:
        assert len(await index.related("references", at(root, "many.py", "def |common"))) == 2_000
        assert index.is_cut
        assert len(await index.related("references", at(root, "few.py", "def |rare"))) == 2
        assert not index.is_cut
