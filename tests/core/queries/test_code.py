"""Code by symbol in a session: problems shown before an edit, previews, and the panels of code."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.code import APP, shop
from tests.support.decks import Driver, call, driving, script

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.code import (
    FileText,
    Navigate,
    ProblemRows,
    Problems,
    ServerRows,
    Servers,
    SymbolRows,
    TextPage,
)
from cockpit.protocol.events import ApprovalRequested, FileChanged, PanelChanged, ToolCallFinished
from cockpit.protocol.queries import Refused


@pytest.fixture
def project(root: Path) -> Path:
    return shop(root)


async def result(driver: Driver, name: str, origin: str = "tui", **arguments: Any) -> Any:
    """A call's one result."""
    id = await driver.run_tool(name, origin, **arguments)
    found = await driver.until(
        lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.call == id
    )
    assert isinstance(found.event, ToolCallFinished)
    return found.event.result


@pytest.fixture
async def warm(project: Path) -> AsyncIterator[Driver]:
    """A session whose server has answered."""
    async with driving(project, options=RunOptions(model="offline")) as driver:
        found = await driver.channel.ask(Navigate("definition", "app.py:7:16", "lsp"))
        assert isinstance(found, SymbolRows) and found.rows, found
        yield driver


async def test_an_approval_says_which_problems_the_edit_would_bring(warm: Driver, project: Path) -> None:
    await warm.run_tool("edit", "schedule:1", path="app.py", old="cart.add(3)", new="cart.ad(3)")
    asked = await warm.next(ApprovalRequested)
    assert asked.note.startswith("new problems: 1 - app.py:6 ")
    await warm.decide(asked.id, "reject_once")
    await warm.next(ToolCallFinished)
    assert (project / "app.py").read_text() == APP


async def test_an_approval_of_a_good_edit_reports_no_problems(warm: Driver) -> None:
    await warm.run_tool("rename", "schedule:1", symbol="Cart.total", to="sum_up")
    asked = await warm.next(ApprovalRequested)
    assert asked.note.startswith("new problems: 0") and [part.id for part in asked.parts] == [
        "app.py",
        "shop.py",
    ]
    await warm.decide(asked.id, "allow_once")
    await warm.next(FileChanged)


PATCH = """*** Begin Patch
*** Update File: app.py
@@
-    cart.add(3)
+    cart.ad(3)
*** Update File: shop.py
@@
-class Cart:
+class Cart:  # of a shop
*** End Patch
"""


async def test_of_a_part_of_a_change_nothing_is_claimed(warm: Driver, project: Path) -> None:
    await warm.run_tool("apply_patch", "schedule:1", patch=PATCH)
    asked = await warm.next(ApprovalRequested)
    assert not asked.whole and asked.note.startswith("new problems: 1")
    await warm.decide(asked.id, "allow_once", parts=("shop.py",))
    finished = await warm.next(ToolCallFinished)
    assert "new problems" not in finished.result.text
    assert (project / "app.py").read_text() == APP and "of a shop" in (project / "shop.py").read_text()


async def test_a_rename_goes_as_a_whole_or_not_at_all(warm: Driver, project: Path) -> None:
    before = (project / "shop.py").read_text()
    await warm.run_tool("rename", "schedule:1", symbol="Cart.total", to="sum_up")
    asked = await warm.next(ApprovalRequested)
    assert asked.whole and len(asked.parts) == 2
    await warm.decide(asked.id, "allow_once", parts=("shop.py",))
    result = (await warm.next(ToolCallFinished)).result
    assert result.outcome == "denied" and "as a whole" in result.text and "left out app.py" in result.text
    assert (project / "app.py").read_text() == APP and (project / "shop.py").read_text() == before


async def test_all_parts_by_name_are_the_whole_rename(warm: Driver, project: Path) -> None:
    await warm.run_tool("rename", "schedule:1", symbol="Cart.total", to="sum_up")
    asked = await warm.next(ApprovalRequested)
    await warm.decide(asked.id, "allow_once", parts=("app.py", "shop.py"))
    assert (await warm.next(ToolCallFinished)).result.outcome == "ok"
    assert "sum_up" in (project / "app.py").read_text() and "sum_up" in (project / "shop.py").read_text()


async def test_a_file_changed_by_another_program_is_reported(warm: Driver, project: Path) -> None:
    def is_told(one: Any) -> bool:
        return isinstance(one.event, PanelChanged) and one.event.panel == "files" and not one.event.rows

    async with asyncio.timeout(30):
        telling = asyncio.create_task(warm.until(is_told))
        number = 0
        while not telling.done():  # the watcher may only just begin
            number += 1
            (project / "app.py").write_text(APP + f"# {number}\n")
            await asyncio.wait((telling,), timeout=1.0)


@pytest.mark.parametrize("mode", ["ask", "plan"])
async def test_a_rename_preview_needs_no_approval(project: Path, mode: Any) -> None:
    async with driving(project, options=RunOptions(model="offline", mode=mode, someone=False)) as driver:
        shown = await result(driver, "rename", "schedule:1", symbol="Cart.total", to="sum_up", apply=False)
        assert shown.outcome == "ok" and "nothing is written" in shown.text
        done = await result(driver, "rename", "schedule:1", symbol="Cart.total", to="sum_up")
        assert done.outcome == "denied"
    assert (project / "app.py").read_text() == APP


async def test_an_edit_that_says_it_changes_nothing_outside_of_the_root_still_asks(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("x = 1\n")
    async with driving(project, options=RunOptions(model="offline", someone=False)) as driver:
        listed = await result(driver, "code_actions", "schedule:1", path=str(tmp_path / "beside.py"), first=1)
    assert listed.outcome == "denied" and "outside" in listed.text


async def test_panels_show_servers_and_problems_with_locations(warm: Driver, project: Path) -> None:
    (project / "app.py").write_text(APP + "    print(unknown)\n")
    assert "[ty " in (await result(warm, "diagnostics", path="app.py")).text

    def has_problem(one: Any) -> bool:
        event = one.event
        return isinstance(event, PanelChanged) and event.panel == "problems" and len(event.rows) > 0

    event: Any = (await warm.until(has_problem)).event
    assert event.rows[0].action == "open app.py:8:11" and event.rows[0].state == "error"

    def is_ready(one: Any) -> bool:
        event = one.event
        rows = event.rows if isinstance(event, PanelChanged) and event.panel == "servers" else ()
        return any(row.text.startswith("ty") and row.state == "ready" for row in rows)

    await warm.until(is_ready)


async def test_queries_answer_by_symbol(warm: Driver) -> None:
    ask = warm.channel.ask
    found = await ask(Navigate("references", "shop.py:Cart.total", "lsp"))
    assert isinstance(found, SymbolRows) and ("app.py", 7) in [(row.path, row.line) for row in found.rows]
    rows = await ask(Servers())
    assert isinstance(rows, ServerRows) and "ty" in [row.name for row in rows.rows]
    assert isinstance(await ask(Problems("app.py")), ProblemRows)
    page = await ask(FileText("app.py", 4, 5))
    assert page == TextPage("app.py", 4, "def main() -> None:\n    cart = Cart()", 8)
    refused = await ask(Navigate("definition", "nothing_like_it"))
    assert isinstance(refused, Refused) and "nothing_like_it" in refused.reason


async def test_a_second_session_of_the_root_shares_its_servers(project: Path) -> None:
    deck = LocalDeck(RunOptions(model="offline"))
    try:
        one = await deck.open(str(project))
        await one.ask(Navigate("definition", "app.py:7:16", "lsp"))
        other = await deck.open(str(project))
        first, second = [await session.ask(Servers()) for session in (one, other)]
        assert isinstance(first, ServerRows) and first.rows[0].pid and first == second
    finally:
        await deck.close()


async def test_new_problems_go_to_the_model_with_the_next_request(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = script(
        tmp_path,
        {"calls": [call("definition", symbol="Cart.total")]},
        {"calls": [call("shell", command="sleep 1")]},
        {"calls": [call("edit", path="app.py", old="cart.add(3)", new="cart.ad(3)")]},
        {"text": "done"},
    )
    monkeypatch.setenv("COCKPIT_SCRIPT", str(steps))
    async with driving(project, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("go")
        texts = [one.result.text for one in driver.all(ToolCallFinished)]
    assert sum("new problems: 1" in text for text in texts) == 1


async def test_the_offline_model_renames_the_named_symbol(project: Path) -> None:
    (project / "notes.md").write_text("The total of it.\n")
    async with driving(project, options=RunOptions(model="offline", mode="full")) as driver:
        await driver.prompt("rename total to sum_up")
    assert "cart.sum_up()" in (project / "app.py").read_text()
    assert (project / "notes.md").read_text() == "The total of it.\n"
