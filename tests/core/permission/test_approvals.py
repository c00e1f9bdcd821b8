"""The hunk ledger: accepted hunks are written, refused ones never are, and the model is informed."""

import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.decks import Driver, call, driving, script

from cockpit.core.permission import approvals
from cockpit.core.session.options import RunOptions
from cockpit.plugin.changes import ChangeSet
from cockpit.protocol.content import new_text
from cockpit.protocol.events import ApprovalRequested, ApprovalResolved, ToolCallFinished, Warned
from cockpit.protocol.ops import Decide
from cockpit.protocol.queries import RefusalRows, Refusals
from cockpit.protocol.rows import HunkEdit
from cockpit.workspace.files.changes import make_file_change

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
AFTER = BEFORE.replace("line 3\n", "line three\n").replace("line 20\n", "").replace("line 38\n", "a\nb\n")

LINE = st.sampled_from(["a", "b", "c\r", "", "é", "\ufeffx", "\x0c"])
TEXT = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(),
    st.lists(LINE, max_size=30),
    st.sampled_from(["", "\n"]),
)


def one(before: bytes | None, after: bytes | None, path: str = "a.txt") -> ChangeSet:
    return ChangeSet((make_file_change(path, before, after, 0o644),))


def content(taken: approvals.ReviewedChanges) -> bytes | None:
    (file,) = taken.changes.files
    return file.after


@given(TEXT, TEXT)
@settings(max_examples=300)
def test_accepting_all_hunks_gives_the_new_text_and_none_writes_nothing(before: bytes, after: bytes) -> None:
    changes = one(before, after)
    part = approvals.approval_part(changes.files[0])
    taken = approvals.review_changes(changes, tuple(row.id for row in part.hunks))
    assert taken.changes == changes and taken.note == ""
    none = approvals.review_changes(changes, ("another file",))
    assert none.changes.files == () and none.refused == [row.id for row in part.hunks]


@given(TEXT, TEXT, st.data())
@settings(max_examples=300)
def test_accepted_and_refused_hunks_together_make_the_whole_change(
    before: bytes, after: bytes, data: st.DataObject
) -> None:
    changes = one(before, after)
    names = [row.id for row in approvals.approval_part(changes.files[0]).hunks]
    kept = tuple(name for name in names if data.draw(st.booleans(), label=name))
    taken = approvals.review_changes(changes, kept or ("nothing",))
    assert (*sorted(taken.accepted), *sorted(taken.refused)) == (
        *sorted(kept),
        *sorted(set(names) - set(kept)),
    )
    for file in taken.changes.files:
        rest = make_file_change("a.txt", file.after, after, 0o644)
        assert len(rest.hunks) <= len(names)
        assert file.before == before


@given(TEXT, TEXT)
@settings(max_examples=300)
def test_an_edit_that_writes_the_same_lines_gives_after(before: bytes, after: bytes) -> None:
    changes = one(before, after)
    (change,) = changes.files
    part = approvals.approval_part(change)
    texts = [line for hunk in change.hunks for line in hunk.lines if line[:1] in ("+", " ")]
    # An editor knows one kind of line end, and a CR alone at the end is none.
    if (
        not part.hunks[0].can_edit
        or len({line.endswith("\r") for line in texts}) > 1
        or after.endswith(b"\r")
    ):
        return
    edits = tuple(
        HunkEdit(row.id, new_text(hunk)) for row, hunk in zip(part.hunks, change.hunks, strict=True)
    )
    if before == after:
        return
    assert content(approvals.review_changes(changes, (), edits)) == after


def test_an_edited_hunk_is_written_as_edited_with_the_files_line_ends() -> None:
    before, after = BEFORE.replace("\n", "\r\n").encode(), AFTER.replace("\n", "\r\n").encode()
    taken = approvals.review_changes(
        one(before, after), ("a.txt#3",), (HunkEdit("a.txt#1", "line 1\nline 2\nmine\n"),)
    )
    made = content(taken)
    assert made is not None and made.startswith(b"line 1\r\nline 2\r\nmine\r\nline 7\r\n")
    assert b"line 20\r\n" in made and b"a\r\nb\r\n" in made and b"\n" not in made.replace(b"\r\n", b"")
    assert (taken.accepted, taken.refused, taken.edited) == (["a.txt#3"], ["a.txt#2"], ["a.txt#1"])
    assert "1 of 3 written" in taken.note and "-line 20" in taken.note and "  mine" in taken.note


@pytest.mark.parametrize(
    ("before", "after"), [(None, b"new\n"), (b"old\n", None), (b"\0old", b"\0new"), (b"\xff\n", b"\xfe\n")]
)
def test_added_deleted_and_binary_files_are_one_hunk(before: bytes | None, after: bytes | None) -> None:
    (row,) = approvals.approval_part(one(before, after).files[0]).hunks
    assert row.id == "a.txt#1" and row.can_edit == (before is None)


def test_an_edit_never_writes_the_mark_of_a_redacted_secret() -> None:
    taken = approvals.review_changes(
        one(BEFORE.encode(), AFTER.encode()), (), (HunkEdit("a.txt#1", "[redacted KEY]"),)
    )
    assert "redaction mark" in taken.problem


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text(BEFORE, encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


OPTIONS = RunOptions(model="scripted:script", mode="ask", someone=True)
EDIT = call("write", path="a.txt", content=AFTER)


async def answer(
    driver: Driver, *parts: str, edits: tuple[HunkEdit, ...] = (), decision: str = "allow_once"
) -> None:
    request = await driver.next(ApprovalRequested)
    op = Decide(uuid.uuid4().hex, "tui", request.id, "allow_once", "", parts, edits)
    await driver.channel.submit(op)


async def test_a_refused_hunk_is_not_written_and_the_model_is_informed(scripted: Path) -> None:
    script(scripted.parent, {"calls": [EDIT]}, {"text": "ok"})
    async with driving(scripted, options=OPTIONS) as driver:
        turn = await driver.begin("go")
        await answer(driver, "a.txt#1", "a.txt#3")
        await driver.end(turn)
    made = (scripted / "a.txt").read_text(encoding="utf-8")
    assert "line three" in made and "line 20\n" in made and "a\nb\n" in made
    (result,) = [one.result for one in driver.all(ToolCallFinished)]
    assert result.outcome == "ok" and "2 of 3 written" in result.text and "-line 20" in result.text
    (resolved,) = driver.all(ApprovalResolved)
    assert resolved.refused == ("a.txt#2",) and resolved.edited == ()


async def test_an_edited_hunk_is_written_as_the_user_wrote_it(scripted: Path) -> None:
    script(scripted.parent, {"calls": [EDIT]}, {"text": "ok"})
    text = "line 1\nline 2\nline drei\nline 4\nline 5\nline 6\n"
    async with driving(scripted, options=OPTIONS) as driver:
        turn = await driver.begin("go")
        await answer(driver, edits=(HunkEdit("a.txt#1", text),))
        await driver.end(turn)
    assert (scripted / "a.txt").read_text(encoding="utf-8") == AFTER.replace("line three", "line drei")
    (result,) = [one.result for one in driver.all(ToolCallFinished)]
    assert "edited by the user, written as: a.txt line 1" in result.text and "line drei" in result.text


async def test_a_later_edit_that_brings_a_refused_hunk_back_is_marked(scripted: Path) -> None:
    script(scripted.parent, {"calls": [EDIT]}, {"calls": [EDIT]}, {"text": "ok"})
    async with driving(scripted, options=OPTIONS) as driver:
        turn = await driver.begin("go")
        await answer(driver, "a.txt#1")
        first = driver.all(ApprovalRequested)[0]
        later = await driver.until(
            lambda one: isinstance(one.event, ApprovalRequested) and one.event.id != first.id
        )
        (part,) = later.event.parts
        assert [row.refused for row in part.hunks] == [True, True]
        reply = await driver.channel.ask(Refusals())
        assert isinstance(reply, RefusalRows) and [row.lines[0] for row in reply.rows] == [
            "-line 20",
            "-line 38",
        ]
        await driver.decide(later.event.id, "reject_once")
        await driver.end(turn)
    assert not any(row.refused for row in first.parts[0].hunks)


async def test_when_nothing_is_left_of_a_change_nothing_is_written(scripted: Path) -> None:
    script(scripted.parent, {"calls": [EDIT]}, {"text": "ok"})
    async with driving(scripted, options=OPTIONS) as driver:
        turn = await driver.begin("go")
        await answer(driver, edits=(HunkEdit("a.txt#1", "x"), HunkEdit("a.txt#9", "y")))
        assert "a.txt#9 cannot be edited" in (await driver.next(Warned)).text
        request = driver.all(ApprovalRequested)[0]
        same = "".join(f"line {n}\n" for n in range(1, 7))
        op = Decide("d2", "tui", request.id, "allow_once", "", ("a.txt#1",), (HunkEdit("a.txt#1", same),))
        await driver.channel.submit(op)
        await driver.end(turn)
    assert (scripted / "a.txt").read_text(encoding="utf-8") == BEFORE
    (result,) = [one.result for one in driver.all(ToolCallFinished)]
    assert result.outcome == "denied" and "nothing was written" in result.text
