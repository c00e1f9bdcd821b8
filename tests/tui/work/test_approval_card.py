"""The approval in Work: hunks are taken, left and edited; commands show what was thought of each."""

import pytest
from tests.support.cockpits import seat
from tests.support.pictures import Compare, picture
from tests.support.scenes import EDIT, TESTS, Scene
from tests.tui.work.approval_scenes import with_facts

from cockpit.protocol import ops
from cockpit.protocol.content import Diff
from cockpit.protocol.rows import ApprovalPart, HunkEdit, HunkRow
from cockpit.workspace.files.changes import count_lines, diff_hunks

BEFORE = "".join(f"line {n}\n" for n in range(1, 61)).encode()
AFTER = (
    BEFORE.replace(b"line 3\n", b"line three\n").replace(b"line 30\n", b"").replace(b"line 58\n", b"a\nb\n")
)


def three_hunks(path: str = "notes.txt", refused: bool = False) -> ApprovalPart:
    made = diff_hunks(BEFORE, AFTER, path)
    diff = Diff(path, made, *count_lines(made))
    rows = tuple(
        HunkRow(f"{path}#{n}", hunk.old_start, True, refused and n == 3) for n, hunk in enumerate(made, 1)
    )
    return ApprovalPart(path, path, "", diff, hunks=rows)


def scene(*parts: ApprovalPart, **more: object) -> Scene:
    made = Scene().start().says("go").step().calls("c1", "apply_patch", "patch notes.txt", "edit")
    made.asks(call="c1", title="patch notes.txt", parts=parts or (three_hunks(),))
    for name, value in more.items():
        object.__setattr__(made.envelopes[-1].event, name, value)
    return made


def decided(s: object) -> ops.Decide:
    (op,) = [op for op in getattr(s, "ops", ()) if isinstance(op, ops.Decide)]
    return op


async def test_a_hunk_is_left_out_with_space_and_the_others_are_named() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "down", "j", "space")
        assert "left out" in s.screen
        await s.press("y")
        assert decided(s).parts == ("notes.txt#1", "notes.txt#3") and decided(s).edits == ()


async def test_k_goes_back_and_space_takes_again() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "down", "space", "j", "k", "space", "y")
        assert decided(s).parts == ()


async def test_a_files_box_takes_or_leaves_all_of_its_hunks() -> None:
    async with seat(scene(three_hunks(), ApprovalPart("p2", "b", "", TESTS))) as s:
        await s.press("f5", "space")
        assert s.screen.count("left out") == 3
        await s.press("y")
        assert decided(s).parts == ("p2",)


async def test_with_everything_left_out_yes_means_no() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "space", "y")
        assert decided(s).decision == "reject_once"


async def test_e_edits_the_hunk_under_the_cursor() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "down", "e")
        assert "Esc done" in s.screen
        await s.press("ctrl+home", "X", "escape")
        assert "edited by you" in s.screen and "Xline 1" in s.screen
        await s.press("y")
        op = decided(s)
        assert op.parts == ()
        assert op.edits == (HunkEdit("notes.txt#1", "Xline 1\nline 2\nline three\nline 4\nline 5\nline 6\n"),)


async def test_tab_indents_in_the_hunk_editor() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "down", "e", "tab", "X", "escape", "y")
        (edit,) = decided(s).edits
        assert edit.text.startswith("    Xline 1\n")


async def test_a_hunk_put_back_as_it_was_sent_is_not_edited() -> None:
    async with seat(scene()) as s:
        await s.press("f5", "down", "e", "X", "ctrl+r", "escape", "y")
        assert decided(s).edits == ()


async def test_a_hunk_with_control_characters_is_not_edited_in_the_terminal() -> None:
    made = diff_hunks(b"a\n", b"\x1b]52;c;x\x07\n", "f")
    part = ApprovalPart("f", "f", "", Diff("f", made, 1, 1), hunks=(HunkRow("f#1", 1, True),))
    async with seat(scene(part)) as s:
        await s.press("e")
        assert len(s.app.screen_stack) == 1


async def test_a_choice_does_not_outlive_its_approval() -> None:
    made = scene()
    async with seat(made) as s:
        await s.press("f5", "space", "escape")
        await s.play(made.decided("a1", "reject_once").asks("a2", call="c1", parts=(three_hunks(),)))
        await s.press("y")
        assert decided(s).request == "a2" and decided(s).parts == ()


def command() -> Scene:
    line = "cd src && pytest -q | tail -5; git push origin main"
    parts = (
        ApprovalPart("line", line, "src/shop"),
        ApprovalPart("command#1", "cd src", level="allow"),
        ApprovalPart("command#2", "pytest -q", level="ask", reason="runs the project's own code"),
        ApprovalPart("command#3", "tail -5", level="allow"),
        ApprovalPart("command#4", "git push origin main", level="ask", reason="sends commits to origin"),
    )
    made = Scene().start().says("go").step().calls("c1", "shell", line, "execute")
    made.asks(
        call="c1",
        tool="shell",
        title=f"$ {line}",
        parts=parts,
        reason="sends commits to origin",
        destination="origin (git@example.org:shop.git)",
        risk=75,
        shape="shell(pytest *)",
    )
    return with_facts(
        made,
        expires=90.0,
        held="held in: writes only in the workspace; has network",
        confined=True,
        alternative="push by hand once the tests are green",
    )


def one_command(line: str, *, parts: int = 1) -> Scene:
    told = [ApprovalPart("line", line)]
    told += [
        ApprovalPart(f"command#{n}", line, level="ask", reason="a script of the project")
        for n in range(parts)
    ]
    made = Scene().start().says("go").step().calls("c1", "shell", line, "execute")
    made.asks(
        call="c1",
        tool="shell",
        title=f"$ {line}",
        parts=tuple(told),
        reason="a script of the project",
        shape="shell(npm test *)",
    )
    return made


async def test_an_ordinary_command_is_shown_once() -> None:
    async with seat(one_command("npm test", parts=2)) as s:
        lines = s.screen.splitlines()
        top = next(y for y, line in enumerate(lines) if "APPROVE" in line)
        end = next(y for y, line in enumerate(lines) if "RUNNING" in line)
        card = "\n".join(line[74:] for line in lines[top:end])
        assert end - top <= 8 and card.count("a script of the project") == 1
        assert card.count("$ npm test") == 1 and "a and p cover shell(npm test *)" in card


async def test_a_long_command_leaves_the_keys_visible_and_is_complete_below() -> None:
    line = "python -c '" + "; ".join(f"x{n} = {n}" for n in range(400)) + "'"
    async with seat(one_command(line)) as s:
        keys = next(y for y, text in enumerate(s.screen.splitlines()) if " y  once" in text)
        assert keys < 10
        await s.press("v")
        await s.press("end")
        assert "x399 = 399'" in s.screen


async def test_a_command_shows_each_of_its_parts_and_offers_no_boxes() -> None:
    async with seat(command()) as s:
        for words in ("runs the project's own code", "git push origin main", "in 01:30", "instead: push"):
            assert words in s.screen
        assert "☑" not in s.screen and "read every part" in s.screen
        await s.press("y")
        assert decided(s).parts == ()


@pytest.mark.parametrize("size", [(120, 44), (60, 44)], ids=["wide", "narrow"])
def test_hunks(snap_compare: Compare, size: tuple[int, int]) -> None:
    parts = (three_hunks(refused=True), ApprovalPart("p2", "b", "", EDIT))
    assert picture(snap_compare, scene(*parts), size, keys=("f5", "down", "down", "space"))


def test_a_hunk_being_edited(snap_compare: Compare) -> None:
    assert picture(snap_compare, scene(), keys=("f5", "down", "e"))


def test_a_command_line(snap_compare: Compare) -> None:
    assert picture(snap_compare, command(), (120, 40))
