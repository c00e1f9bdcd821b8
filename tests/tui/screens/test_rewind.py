"""The screen of rewinding: what it offers, what it asks before it touches a person's files, what it sends."""

import time
from collections.abc import Callable

from tests.support.cockpits import Seat, cockpit, press, seat, settled
from tests.support.scenes import EDIT, TESTS, worked
from textual.pilot import Pilot

from cockpit.protocol import ops
from cockpit.protocol.events import Rewound
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Query, Reply
from cockpit.tui.app import Cockpit
from cockpit.tui.state.entries import PromptEntry

TURN = CheckpointRow(
    "t1",
    "add a discount",
    1_700_000_000.0,
    2,
    12,
    3,
    ("src/shop/cart.py", "tests/test_cart.py"),
    prompt="add it",
)
OLDER = CheckpointRow("t0", "what is this?", 1_699_999_000.0, 0)
BACK = CheckpointRow("r1", "went back to before: say hi", 1_699_999_500.0, 1, 1, 4, kind="rewind")


def replies(persons: tuple[str, ...] = ()) -> Callable[[Query], Reply | None]:
    def reply(query: Query) -> Reply | None:
        if not isinstance(query, Checkpoints):
            return None
        rows = (TURN, BACK, OLDER)
        if not query.turn:
            return CheckpointRows(rows)
        left = ("big.bin: it is too large to keep",)
        return CheckpointRows(rows, (EDIT, TESTS), 2, persons, left)

    return reply


async def test_work_does_not_count_rewound_files_until_the_rewind_is_undone() -> None:
    scene = worked()
    async with seat(scene) as s:
        before = dict(s.state.files)
        first = scene.says("more").envelopes[-1].seq
        scene.changed("mine.txt", "created", 3).changed("new.txt", "created", 5)
        await s.play(scene)
        scene.changed("new.txt", "deleted", 0, 5, call="")
        await s.play(scene.add(Rewound("r9", "t9", "files", first, 1, ("mine.txt",))))
        assert set(s.state.files) == {*before, "mine.txt"}
        scene.changed("new.txt", "created", 5, 0, call="")
        await s.play(scene.add(Rewound("u9", "t9", "files", first, 1, undoes="r9")))
        assert s.state.files["new.txt"].added == 5 and s.state.files["new.txt"].removed == 0
        assert all(s.state.files[path] == one for path, one in before.items())


def rewinds(s: Seat) -> list[ops.Rewind]:
    return [op for op in s.ops if isinstance(op, ops.Rewind)]


async def opened(s: Seat) -> None:
    await s.type("/rewind")
    await s.press("enter")


async def test_turns_are_listed_with_their_files_and_the_way_back_is_shown_first() -> None:
    async with seat(worked(), replies=replies()) as s:
        await opened(s)
        assert "add a discount" in s.screen and "2 files +12 -3" in s.screen
        await s.press("enter")
        assert "Before: add a discount" in s.screen and "rebate" in s.screen
        assert "big.bin: it is too large to keep" in s.screen and rewinds(s) == []
        await s.press("f")
        [op] = rewinds(s)
        assert (op.turn, op.what, op.persons, op.undo) == ("t1", "files", "keep", False)


async def test_changes_of_the_user_stay_unless_they_choose_to_overwrite_them() -> None:
    async with seat(worked(), replies=replies(("notes.md",))) as s:
        await opened(s)
        await s.press("enter", "b")
        assert "You have changed 1 file since: notes.md" in s.screen and rewinds(s) == []
        await s.press("escape")
        assert rewinds(s) == []
        await opened(s)
        await s.press("enter", "b", "k")
        await opened(s)
        await s.press("enter", "b", "o")
        assert [(op.what, op.persons) for op in rewinds(s)] == [("both", "keep"), ("both", "overwrite")]


async def test_the_conversation_alone_asks_about_no_files() -> None:
    async with seat(worked(), replies=replies(("notes.md",))) as s:
        await opened(s)
        await s.press("enter", "c")
        assert [op.what for op in rewinds(s)] == ["conversation"]


async def test_a_rewind_is_undone_from_the_list_and_by_a_word() -> None:
    async with seat(worked(), replies=replies()) as s:
        await opened(s)
        await s.press("down", "enter")
        assert "went back to before: say hi" in s.screen
        await s.press("u")
        await s.type("/rewind undo")
        await s.press("enter")
        assert [(op.turn, op.undo) for op in rewinds(s)] == [("r1", True), ("", True)]


async def test_escape_twice_in_an_empty_composer_opens_it() -> None:
    async with seat(worked(), replies=replies()) as s:
        await s.press("escape", "escape")
        assert "Go back to before" in s.screen


async def test_a_rewind_returns_the_prompt_and_marks_the_rewound_entries() -> None:
    scene = worked()
    async with seat(scene, replies=replies()) as s:
        await opened(s)
        await s.press("enter", "b")
        [op] = rewinds(s)
        first = next(one for one in scene.envelopes if type(one.event).__name__ == "TurnStarted")
        scene.time = time.time()
        scene.add(Rewound(op.id, "t1", "both", first.seq, 2, ("notes.md",), prompt="add it"))
        await s.play(scene)
        assert "2 files restored" in s.screen and "your own changes, left as they are: notes.md" in s.screen
        assert all(one.rewound for one in s.state.entries if isinstance(one, PromptEntry))
        assert s.app.editor.text == "add it"
        scene.add(Rewound("undo", "t1", "both", first.seq, 2, undoes=op.id))
        await s.play(scene)
        assert not any(one.rewound for one in s.state.entries if isinstance(one, PromptEntry))


def test_the_way_back(snap_compare: Callable[..., bool]) -> None:
    app, _, _ = cockpit(worked(), replies=replies(("notes.md",)))

    async def before(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, Cockpit)
        await settled(pilot.app, pilot)
        for key in (*"/rewind", "enter", "enter"):
            await press(pilot.app, pilot, key)
            await settled(pilot.app, pilot)

    assert snap_compare(app, terminal_size=(110, 34), run_before=before)
