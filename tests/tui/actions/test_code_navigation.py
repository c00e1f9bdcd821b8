"""Code for people: go to a symbol, its uses, problems, renaming; Work's tabs; the viewer; the editor."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.cockpits import Seat, seat, settled
from tests.support.scenes import Scene, asking
from tests.support.told import CART, OUTLINE, PROBLEMS
from textual.widgets import Input

from cockpit.protocol import events, ops
from cockpit.protocol.code import Navigate, ProblemRow, ProblemRows, Problems, SymbolRow, SymbolRows, Symbols
from cockpit.protocol.messages import ToolCall
from cockpit.protocol.queries import Query, Reply
from cockpit.protocol.rows import PanelRow
from cockpit.tui.actions.open_location import open_in_viewer
from cockpit.tui.screens.live_picker import LivePicker
from cockpit.tui.screens.reader import FileViewer, SourceView


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)


def idle(root: str = "/home/ada/shop") -> Scene:
    return Scene(root).start()


def reading(scene: Scene, path: str = CART) -> Scene:
    call = ToolCall("c1", "read", {"path": path, "offset": 18})
    return scene.says("look").step(1).add(events.ToolCallStarted(call, "read", f"read {path}"), "c1")


async def until(condition: Callable[[], object], s: Seat, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await s.pilot.pause(0.01)
    await settled(s.app, s.pilot)


def live(s: Seat) -> LivePicker:
    screen = s.app.screen
    assert isinstance(screen, LivePicker)
    return screen


async def test_go_to_symbol_narrows_while_typing_and_enter_looks_without_an_editor() -> None:
    async with seat(idle()) as s:
        await s.press("f6")
        await until(lambda: "checkout" in s.screen, s)
        await s.type("total")
        await until(lambda: "checkout" not in s.screen, s)
        assert "Cart.total" in s.screen and f"{CART}:15" in s.screen and "lsp" in s.screen
        await s.press("enter")
        await until(lambda: isinstance(s.app.screen, FileViewer), s)
        await until(lambda: "def total(self) -> Decimal:" in s.screen, s)
        assert "line 15 of" in s.screen
        await s.press("escape")
        assert len(s.app.screen_stack) == 1 and s.state.code.current_file == CART


async def test_an_older_answer_never_overwrites_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            asked.append(query.query)
            return SymbolRows(tuple(row for row in OUTLINE if query.query in row.name))
        return None

    async with seat(idle(), replies=replies) as s:
        gate = asyncio.Event()
        channel = s.app.controller and s.app.controller.link.channel
        assert channel is not None
        usual = channel.ask

        async def slow(query: Query) -> Reply:
            if isinstance(query, Symbols) and query.query == "to":
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    await gate.wait()  # an answer that is on its way cannot be called back
            return await usual(query)

        monkeypatch.setattr(channel, "ask", slow)
        await s.press("f6")
        await s.type("to")
        await until(lambda: live(s)._number >= 2, s)
        live(s).query_one(Input).value = "reb"
        await until(lambda: "rebate" in s.screen and "checkout" not in s.screen, s)
        gate.set()
        await settled(s.app, s.pilot)
        assert "rebate" in s.screen and "Cart.total " not in s.screen


async def test_an_incomplete_answer_shows_why_and_is_queried_again_when_a_server_changes() -> None:
    ready: list[bool] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            if ready:
                return SymbolRows(OUTLINE)
            row = SymbolRow("checkout", "function", CART, 24, 5, "def checkout(cart):", "tree-sitter")
            return SymbolRows((row,), False, "ty is starting")
        return None

    scene = idle()
    async with seat(scene, replies=replies) as s:
        await s.press("f6")
        await until(lambda: "tree-sitter, ty is starting" in s.screen, s)
        ready.append(True)
        await s.play(scene.add(events.PanelChanged("servers", (PanelRow("ty  python", "ready"),))))
        await until(lambda: "Cart.total" in s.screen, s)
        assert "is starting" not in s.screen


async def test_the_list_shows_index_progress_and_fills_by_itself() -> None:
    done: list[int] = [0]

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            whole = done[0] == 885
            return SymbolRows(OUTLINE if whole else (), whole, "" if whole else "the index is not whole")
        return None

    def reading(done: int, known: int) -> events.PanelChanged:
        row = PanelRow("index", "indexing", files_read=done, files_known=known)
        return events.PanelChanged("servers", (row,))

    scene = idle()
    async with seat(scene, replies=replies) as s:
        await s.press("f6")
        await until(lambda: "the index is not whole" in s.screen, s)
        await s.play(scene.add(reading(0, 0)))
        await until(lambda: "looking for files" in s.screen, s)
        await s.play(scene.add(reading(120, 885)))
        await until(lambda: "reading files: 120 of 885" in s.screen, s)
        assert "no match" not in s.screen
        done[0] = 885
        await s.play(scene.add(events.PanelChanged("servers", ())))
        await until(lambda: "Cart.total" in s.screen and "reading files" not in s.screen, s)


async def test_a_complete_index_is_queried_again_without_a_report_of_progress() -> None:
    asked: list[str] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            asked.append(query.query)
            return SymbolRows(OUTLINE) if len(asked) > 1 else SymbolRows((), False, "0 of 1 files")
        return None

    async with seat(idle(), replies=replies) as s:
        await s.press("f6")
        await until(lambda: "Cart.total" in s.screen, s)
        assert len(asked) == 2


async def test_an_answer_that_stays_incomplete_is_queried_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cockpit.tui.screens.live_picker.RETRY_SECONDS", 0.0)
    asked: list[str] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            asked.append(query.query)
            return SymbolRows(OUTLINE, False, "too many files")
        return None

    async with seat(idle(), replies=replies) as s:
        await s.press("f6")
        await until(lambda: live(s)._retries > 4, s)
        assert live(s)._retry_timer is None and len(asked) == 5


async def test_the_cursor_keeps_its_choice_when_an_incomplete_answer_is_replaced() -> None:
    more: list[bool] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols) and not query.path:
            rows = tuple(row for row in OUTLINE if query.query in row.name)
            return SymbolRows(rows[-1:] + rows[:-1] if more else rows, False, "ty is starting")
        return None

    scene = idle()
    async with seat(scene, replies=replies) as s:
        await s.press("f6")
        await until(lambda: "checkout" in s.screen, s)
        await s.press("down", "down", "down")
        more.append(True)
        await s.play(scene.add(events.PanelChanged("servers", (PanelRow("ty  python", "ready"),))))
        await until(lambda: live(s).rows.choices[0].label == "checkout", s)
        assert "▸ Cart.total " in s.screen
        await s.type("t")
        await until(lambda: len(live(s).rows.choices) == 5, s)
        assert "▸ checkout" in s.screen  # other letters: the best one is chosen


async def test_the_outline_of_the_current_file_is_a_picker() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.press("f7")
        assert "there is no current file yet" in "".join(str(one.message) for one in s.app._notifications)
        await s.play(reading(scene))
        await s.press("f7")
        await until(lambda: "Cart.total.rebate" in s.screen, s)
        await s.type("check")
        await until(lambda: [choice.label for choice in live(s).rows.choices] == ["checkout"], s)
        await s.press("tab")
        await until(lambda: isinstance(s.app.screen, FileViewer) and "line 24 of" in s.screen, s)


async def test_references_start_at_the_current_symbol() -> None:
    asked: list[Navigate] = []

    def replies(query: Query) -> Reply | None:
        if isinstance(query, Navigate):
            asked.append(query)
        return None

    async with seat(reading(idle()), replies=replies) as s:
        await s.type("/references")
        await s.press("enter")
        await until(lambda: isinstance(s.app.screen, LivePicker), s)
        assert live(s).query_one(Input).value == "rebate"
        live(s).query_one(Input).value = "total"
        await until(lambda: "Cart.total " in s.screen, s)
        await s.press("enter")
        await until(lambda: "References of total" in s.screen, s)
        assert "assert cart.total() == 7" in s.screen and "tests/test_cart.py:8" in s.screen
        assert (asked[0].relation, asked[0].place) == ("references", f"{CART}:15:9")


async def test_renaming_asks_for_the_name_and_submits_a_call() -> None:
    async with seat(idle()) as s:
        await s.type("/rename")
        await s.press("enter")
        await until(lambda: isinstance(s.app.screen, LivePicker), s)
        await s.type("checkout")
        await until(lambda: "TAX" not in s.screen, s)
        await s.press("enter")
        await until(lambda: "Rename checkout to" in s.screen, s)
        s.app.screen.query_one(Input).value = "pay"
        await s.press("enter")
        await until(lambda: [op for op in s.ops if isinstance(op, ops.CallTool)], s)
        call = next(op for op in s.ops if isinstance(op, ops.CallTool))
        assert (call.name, dict(call.arguments)) == ("rename", {"symbol": f"{CART}:24:5", "to": "pay"})


async def test_restarting_the_servers_is_a_command() -> None:
    async with seat(idle()) as s:
        await s.press("ctrl+p")
        await s.type("restart lang")
        await s.press("enter")
        sent = [op for op in s.ops if isinstance(op, ops.Invoke)]
        assert [(op.action, dict(op.arguments)) for op in sent] == [("lsp", {"text": "restart"})]


async def test_problems_are_a_picker_and_a_tab_with_their_counts() -> None:
    scene = idle()
    async with seat(scene) as s:
        assert "  Problems" in s.screen and "✗1" not in s.screen
        await s.play(scene.add(events.PanelChanged("problems", (PanelRow("x", "error"),))))
        await until(lambda: "Problems ✗1 ▲2" in s.screen, s)
        await s.press("alt+3")
        await until(lambda: "may be None here" in s.screen, s)
        assert "1 error, 1 warning" in s.screen and "ruff" in s.screen
        await s.press("f8")
        await s.type("unused")
        await until(lambda: "may be None" not in s.screen.split("Problems")[2], s)


async def test_new_problems_take_the_place_of_old_ones_while_the_tab_is_open() -> None:
    rows: list[ProblemRow] = list(PROBLEMS)

    def replies(query: Query) -> Reply | None:
        return ProblemRows(tuple(rows)) if isinstance(query, Problems) else None

    scene = idle()
    async with seat(scene, replies=replies) as s:
        await s.press("alt+3")
        await until(lambda: "may be None here" in s.screen, s)
        rows.clear()
        await s.play(scene.add(events.PanelChanged("problems", ())))
        await until(lambda: "none known" in s.screen, s)


async def test_the_outline_tab_is_nested_follows_the_current_file_and_opens_lines() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.press("alt+2")
        assert "no current file yet" in s.screen
        await s.play(reading(scene))
        await until(lambda: "│ │ rebate" in s.screen, s)
        assert "▸ │ │ rebate" in s.screen and CART in s.screen
        await s.press("f5", "down", "down", "v")
        await until(lambda: isinstance(s.app.screen, FileViewer), s)
        assert "line 11 of" in s.screen


async def test_the_outline_follows_a_file_that_another_program_changes() -> None:
    rows = list(OUTLINE)

    def replies(query: Query) -> Reply | None:
        return SymbolRows(tuple(rows)) if isinstance(query, Symbols) and query.path else None

    scene = reading(idle())
    async with seat(scene, replies=replies) as s:
        await s.press("alt+2")
        await until(lambda: "checkout" in s.screen, s)
        del rows[-1]
        await s.play(scene.add(events.PanelChanged("files", ())))
        await until(lambda: "checkout" not in s.screen, s)
        assert "FILES" not in s.screen and "rebate" in s.screen


MANY = tuple(
    SymbolRow(f"function_{n:03}", "function", f"src/shop/deep/module_{n:03}.py", n + 1, 5, "def f():", "lsp")
    for n in range(200)
)
SMALL = pytest.mark.parametrize("size", [(60, 16), (60, 20), (80, 24), (100, 30), (140, 40)])


@SMALL
async def test_the_chosen_row_and_the_keys_stay_in_sight_on_every_screen(size: tuple[int, int]) -> None:
    def replies(query: Query) -> Reply | None:
        if isinstance(query, Symbols | Navigate):
            return SymbolRows(MANY, False, "the server is still reading files; tree-sitter's rows are joined")
        if isinstance(query, Problems) and query.path:
            return ProblemRows(())
        if isinstance(query, Problems):
            rows = (ProblemRow(row.path, row.line, 1, 1, 2, "error", row.name, "x", "ty") for row in MANY)
            return ProblemRows(tuple(rows))
        return None

    def is_whole(chosen: str) -> bool:
        return f"▸ {chosen}" in s.screen and "Enter " in s.screen and "Esc close" in s.screen

    async with seat(reading(idle()), size, replies=replies) as s:
        for key in ("f6", "f7"):
            await s.press(key)
            await until(lambda: live(s).rows.choices, s)
            await s.press(*["down"] * 20)
            assert is_whole("function_020"), s.screen
            await s.press("up", "pagedown", "pagedown", "pagedown")
            assert is_whole("function_049"), s.screen
            assert "still reading files" in s.screen
            await s.press("escape")
        await s.press("f8")
        await until(lambda: live(s).rows.choices, s)
        await s.press(*["down"] * 20)
        assert is_whole("✗ function_020"), s.screen
        await s.press("escape")


@SMALL
async def test_a_screen_that_shrinks_keeps_the_chosen_row(size: tuple[int, int]) -> None:
    def replies(query: Query) -> Reply | None:
        return SymbolRows(MANY) if isinstance(query, Symbols) else None

    async with seat(idle(), (140, 40), replies=replies) as s:
        await s.press("f6")
        await until(lambda: live(s).rows.choices, s)
        await s.press(*["down"] * 15)
        await s.pilot.resize_terminal(*size)
        await until(lambda: "▸ function_015" in s.screen, s)
        assert "Esc close" in s.screen


@SMALL
async def test_the_viewer_and_the_new_name_fit(size: tuple[int, int]) -> None:
    async with seat(idle(), size) as s:
        await s.press("f6")
        await until(lambda: live(s).rows.choices, s)
        await s.press("tab")
        await until(lambda: isinstance(s.app.screen, FileViewer), s)
        await until(lambda: 'TAX = Decimal("0.19")' in s.screen, s)
        assert "Esc close" in s.screen and "set $EDITOR to edit" in s.screen and "line 5 of" in s.screen
        await s.press("escape")
        await s.type("/rename")
        await s.press("enter")
        await until(lambda: live(s).rows.choices, s)
        await s.press("enter")
        await until(lambda: "Rename TAX to" in s.screen, s)
        assert "Esc close" in s.screen and "Enter shows every change first" in s.screen


async def test_brackets_and_a_click_walk_over_the_tabs() -> None:
    async with seat(reading(idle())) as s:
        await s.press("f5", "right_square_bracket")
        await until(lambda: "OUTLINE" in s.screen, s)
        await s.press("right_square_bracket")
        await until(lambda: "src/shop/cart.py  " in s.screen and "1 error" in s.screen, s)
        await s.press("left_square_bracket", "left_square_bracket")
        assert s.state.code.tab == "now" and "RUNNING" in s.screen
        await s.pilot.click("#work", offset=(9, 0))
        await until(lambda: "OUTLINE" in s.screen, s)


async def test_an_approval_brings_now_and_gives_the_tab_back() -> None:
    scene = asking()
    held = scene.envelopes.pop()
    async with seat(scene) as s:
        await s.press("alt+3")
        await until(lambda: "may be None" in s.screen, s)
        scene.envelopes.append(held)
        await s.play(scene)
        assert "APPROVE" in s.screen and "may be None" not in s.screen
        await s.play(scene.decided())
        assert "APPROVE" not in s.screen and "may be None" in s.screen


async def test_a_panels_row_that_names_a_place_opens_it() -> None:
    rows = (PanelRow("cart.py:19 wrong", "error", f"open {CART}:19:20"),)
    async with seat(idle().add(events.PanelChanged("checks", rows))) as s:
        await s.press("f5", "enter")
        await until(lambda: isinstance(s.app.screen, FileViewer), s)
        assert "line 19 of" in s.screen


async def test_a_big_file_is_fetched_page_by_page() -> None:
    async with seat(idle()) as s:
        assert s.app.controller is not None
        s.app.run_worker(open_in_viewer(s.app, s.app.controller.link, "big.log", 4000, 1))
        await until(lambda: "line 4000 " in s.screen, s)
        source = s.app.screen.query_one(SourceView)
        assert len(source._lines) <= 1200
        await s.press("home")
        await until(lambda: "line 17" in s.screen, s)
        await s.press("end")
        await until(lambda: "line 5000" in s.screen, s)


EDITOR = """import json, sys
open(sys.argv[1], "w").write(json.dumps(sys.argv[2:]))
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What an editor with a window of its own, called `code`, was told."""
    (tmp_path / "editor.py").write_text(EDITOR, encoding="utf-8")
    told = tmp_path / "told.json"
    name = "code.cmd" if sys.platform == "win32" else "code"
    line = f'"{sys.executable}" "{tmp_path / "editor.py"}" "{told}"'
    script = f"@{line} %*\n" if sys.platform == "win32" else f'#!/bin/sh\nexec {line} "$@"\n'
    (tmp_path / name).write_text(script, encoding="utf-8")
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("EDITOR", f"'{tmp_path / name}' --wait")
    return told


async def test_enter_opens_the_editor_at_line_and_column(written: Path) -> None:
    async with seat(idle()) as s:
        await s.press("f6")
        await s.type("checkout")
        await until(lambda: "TAX" not in s.screen, s)
        await s.press("enter")
        await until(lambda: written.is_file() and written.read_text(), s)
        place = str(Path("/home/ada/shop", CART))
        assert json.loads(written.read_text("utf-8")) == ["--goto", f"{place}:24:5"]
        assert len(s.app.screen_stack) == 1


async def test_a_missing_editor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nonexistent/code")
    async with seat(idle()) as s:
        await s.press("f6")
        await until(lambda: "checkout" in s.screen, s)
        await s.press("enter")
        await until(lambda: s.app._notifications, s)
        assert "did not start" in "".join(str(one.message) for one in s.app._notifications)
