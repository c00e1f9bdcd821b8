"""Open documents match the disk even without a watcher; problems belong to the current text."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.navigation.lsp.small import QUICK, Make, small, until

from cockpit.navigation.answers import FileDiagnostics, ServerAnswer
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.navigation import Position

KINDS = [("utf-16",), ("utf-8",), ("full",), ("pull",), ("no-version",), ("registers",), ("pull", "utf-8")]


@pytest.fixture(autouse=True)
def file(root: Path) -> Path:
    path = root / "a.tiny"
    path.write_text("def one():\n    one()\n")
    return path


@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_after_an_edit_sees_the_new_text(
    make: Make, file: Path, kind: tuple[str, ...]
) -> None:
    servers = make(small(*kind))
    for count in range(5):
        text = f"x = '😀é' # {count}\n" * count + "def one(): bad\n  '😀' one()\n"
        file.write_text(text, newline="\r\n" if count % 2 else "\n")
        found = await servers.related("definition", Position("a.tiny", count + 2, 8), 10)
        assert isinstance(found, ServerAnswer)
        assert [(row.line, row.column) for row in found.rows] == [(count + 1, 5)]
        problems = await servers.diagnosed("a.tiny", 10)
        assert isinstance(problems, FileDiagnostics)
        assert [(one.line, one.column, one.end_column) for one in problems.rows] == [(count + 1, 12, 15)]
    assert {path: len(rows) for path, rows in servers.published().items()} == {"a.tiny": 1}


async def test_a_file_written_twice_within_a_tick_is_read_again(make: Make, file: Path) -> None:
    servers = make(small("pull"))
    for word in ["good", "bad1", "good", "bad2"] * 5:
        before = file.stat()
        file.write_text(f"{word}\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        problems = await servers.diagnosed("a.tiny", 10)
        assert isinstance(problems, FileDiagnostics) and bool(problems.rows) == word.startswith("bad")


@pytest.mark.parametrize("kind", KINDS)
async def test_problems_disappear_when_they_are_fixed(make: Make, file: Path, kind: tuple[str, ...]) -> None:
    servers = make(small(*kind))
    file.write_text("bad\n")
    await servers.diagnosed("a.tiny", 10)
    await until(servers, lambda: "a.tiny" in servers.published())
    file.write_text("good\n")
    servers.changed(["a.tiny"])
    await until(servers, lambda: "a.tiny" not in servers.published())


async def test_servers_are_notified_of_changes_in_open_and_other_files(
    make: Make, root: Path, notes: Path
) -> None:
    servers = make(small(notes=notes))
    await servers.outline("a.tiny", 10)
    (root / "a.tiny").write_text("def two():\n")
    (root / "new.tiny").write_text("x\n")
    servers.changed(["a.tiny", "new.tiny", "gone.tiny"])
    await until(servers, lambda: "watched 3 gone.tiny" in notes.read_text())
    heard = notes.read_text()
    assert "textDocument/didChange" in heard and 'saved "def two():\\n"' in heard
    assert "watched 2 a.tiny" in heard and "watched 1 new.tiny" in heard


async def test_a_deleted_file_is_closed_and_its_problems_disappear(
    make: Make, file: Path, notes: Path
) -> None:
    servers = make(small(notes=notes))
    file.write_text("bad\n")
    await servers.diagnosed("a.tiny", 10)
    await until(servers, lambda: "a.tiny" in servers.published())
    file.unlink()
    servers.changed(["a.tiny"])
    await until(servers, lambda: servers.published() == {})
    await until(servers, lambda: "textDocument/didClose" in notes.read_text())


async def test_least_recently_used_documents_are_closed(make: Make, root: Path, notes: Path) -> None:
    servers = make(small(notes=notes), limits=replace(QUICK, documents=3))
    for count in range(6):
        (root / f"f{count}.tiny").write_text("def x():\n")
        assert isinstance(await servers.outline(f"f{count}.tiny", 10), ServerAnswer)
    assert notes.read_text().count("textDocument/didClose") == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_an_overlay_shows_problems_before_and_after_and_is_withdrawn(
    make: Make, root: Path, kind: tuple[str, ...]
) -> None:
    (root / "a.tiny").write_text("bad\n")
    servers = make(small(*kind))
    after = {"a.tiny": b"good\nbad2 bad3\n", "new.tiny": b"bad4\n"}
    staged = await servers.staged(after, 10)
    assert isinstance(staged, tuple)
    assert {path: [row.message for row in one.rows] for path, one in staged[0].items()} == {
        "a.tiny": ["bad is bad"],
        "new.tiny": [],
    }
    assert {path: [row.message for row in one.rows] for path, one in staged[1].items()} == {
        "a.tiny": ["bad2 is bad", "bad3 is bad"],
        "new.tiny": ["bad4 is bad"],
    }
    problems = await servers.diagnosed("a.tiny", 10)
    assert isinstance(problems, FileDiagnostics) and [row.message for row in problems.rows] == ["bad is bad"]
    assert "new.tiny" not in servers.published()


async def test_an_overlay_may_have_another_base_than_the_disk(make: Make, root: Path) -> None:
    servers = make(small("pull"))
    staged = await servers.staged({"a.tiny": b"bad1\n"}, 10, base={"a.tiny": b"bad0\n"})
    assert isinstance(staged, tuple)
    assert [row.message for row in staged[0]["a.tiny"].rows] == ["bad0 is bad"]
    assert [row.message for row in staged[1]["a.tiny"].rows] == ["bad1 is bad"]


async def test_questions_never_see_an_overlay(make: Make, file: Path) -> None:
    servers = make(small("no-version"))
    await servers.outline("a.tiny", 10)
    staging = [asyncio.create_task(servers.staged({"a.tiny": b"def other():\n"}, 10)) for _ in range(3)]
    outlines = await asyncio.gather(*(servers.outline("a.tiny", 10) for _ in range(5)))
    assert all(isinstance(one, tuple) for one in await asyncio.gather(*staging))
    assert {row.name for one in outlines if isinstance(one, ServerAnswer) for row in one.rows} == {"one"}


async def test_cancelling_an_overlay_withdraws_it(make: Make, file: Path) -> None:
    servers = make(small("silent"))
    await servers.outline("a.tiny", 10)
    staging = asyncio.create_task(servers.staged({"a.tiny": b"def other():\n"}, 30))
    await asyncio.wait({staging}, timeout=0.1)
    staging.cancel()
    found = await servers.outline("a.tiny", 10)
    assert isinstance(found, ServerAnswer) and [row.name for row in found.rows] == ["one"]


async def test_the_edits_of_a_command_are_the_actions(make: Make, file: Path) -> None:
    file.write_text("bad = 1\n")
    servers = make(small())
    actions = await servers.actions("a.tiny", 1, 1, 10)
    assert isinstance(actions, tuple) and [one.title for one in actions] == ["Mend"]
    edits = await servers.action(actions[0].id, 10)
    assert isinstance(edits, tuple) and isinstance(edits[0], WriteFile)
    assert (edits[0].path, edits[0].content) == ("a.tiny", b"good = 1\n")
    assert file.read_text() == "bad = 1\n"
    file.write_text("bad = 2\n")
    assert "list them again" in str(await servers.action(actions[0].id, 10))


async def test_a_rename_that_leaves_the_root_is_refused(make: Make) -> None:
    servers = make(small("outside"))
    answer = await servers.rename(Position("a.tiny", 1, 5), "two", 10)
    assert "outside the project" in str(answer)


async def test_references_are_settled_once_the_server_has_worked(make: Make) -> None:
    servers = make(small("worked"), limits=replace(QUICK, quiet=60, apart=60))
    await servers.outline("a.tiny", 10)
    await until(servers, lambda: True)
    found = await servers.related("references", Position("a.tiny", 1, 5), 10)
    assert isinstance(found, ServerAnswer) and found.settled and len(found.rows) == 2
    assert {row.kind for row in found.rows} == {"reference"}


async def test_references_are_unsettled_while_it_works(make: Make) -> None:
    servers = make(small("works"), limits=replace(QUICK, quiet=0, apart=0))
    await servers.outline("a.tiny", 10)
    await until(servers, lambda: servers.rows()[0].state == "indexing")
    for _ in range(3):
        found = await servers.related("references", Position("a.tiny", 1, 5), 10)
        assert isinstance(found, ServerAnswer) and not found.settled


async def test_equal_answers_far_enough_apart_count_as_settled(make: Make) -> None:
    servers = make(small(), limits=replace(QUICK, quiet=60, apart=0.05))
    answers = []
    async with asyncio.timeout(10):
        while not answers or not answers[-1].settled:
            found = await servers.related("references", Position("a.tiny", 1, 5), 10)
            assert isinstance(found, ServerAnswer)
            answers.append(found)
    assert not answers[0].settled


async def test_problems_are_requested_again_on_refresh(make: Make, root: Path, file: Path) -> None:
    servers = make(small("pull", "refreshes"))
    (root / "b.tiny").write_text("bad\n")
    await servers.diagnosed("b.tiny", 10)
    await servers.outline("a.tiny", 10)
    file.write_text("def two():\n")
    await servers.outline("a.tiny", 10)
    await until(servers, lambda: servers.published()["b.tiny"][0].message == "bad is worse")
