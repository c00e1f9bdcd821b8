"""The navigator with a real server, a real index and failing servers: who answers, and how soon."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from tests.support.code import APP, NO_SERVER, TY, opened, ready, shop, with_faults

from cockpit.navigation.navigator import LiveNavigator, ManagedNavigator
from cockpit.plugin.changes import ChangeSet, DeleteFile, WriteFile
from cockpit.plugin.navigation import NotPossible, PlaceAmbiguous, PlaceUnknown, Position
from cockpit.protocol.code import SymbolRows
from cockpit.workspace.local import LocalWorkspace

T = TypeVar("T")
BOUND = 2.0


@pytest.fixture
def project(root: Path) -> Path:
    return shop(root)


def places(found: SymbolRows) -> list[tuple[str, int]]:
    return sorted((row.path, row.line) for row in found.rows)


def sources(found: SymbolRows) -> set[str]:
    return {row.source for row in found.rows}


async def within(seconds: float, asked: Awaitable[T]) -> T:
    """The answer, which must come before the bound (a guard against hanging, no measure of speed)."""
    began = time.monotonic()
    answer = await asyncio.wait_for(asked, 20)
    assert time.monotonic() - began < seconds
    return answer


async def changes_of(managed: ManagedNavigator, path: str, text: str) -> ChangeSet:
    return await managed.root.workspace.plan((WriteFile(path, text.encode()),))


async def test_without_server_and_index_text_search_answers(project: Path) -> None:
    navigator = LiveNavigator(LocalWorkspace(str(project)))
    at = await navigator.locate("Cart.total")
    assert at == Position("shop.py", 10, 9)
    found = await navigator.related("definition", await navigator.locate("app.py:7:16"))
    assert places(found) == [("shop.py", 10)] and sources(found) == {"text"}
    assert (await navigator.related("references", at)).complete
    assert [row.name for row in (await navigator.outline("app.py")).rows] == ["main"]
    with pytest.raises(NotPossible, match="no language server"):
        await navigator.rename(at, "sum_up")


async def test_a_ready_server_answers_and_the_index_on_request(project: Path) -> None:
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        at = await managed.navigator.locate("app.py:7:16")
        found = await managed.navigator.related("definition", at)
        assert places(found) == [("shop.py", 10)] and sources(found) == {"lsp"}
        by_tree = await managed.navigator.related("definition", at, "tree-sitter")
        assert places(by_tree) == [("shop.py", 10)] and sources(by_tree) == {"tree-sitter"}
        assert "The sum." in await managed.navigator.hover(at)


async def test_the_index_never_asks_a_server(project: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with opened(project, with_faults(notes=notes)) as managed:
        at = await managed.navigator.locate("Cart.total")
        assert (await managed.navigator.related("references", at, "tree-sitter")).rows
        assert (await managed.navigator.symbols("Cart", source="tree-sitter")).rows
    assert not notes.exists()


@pytest.mark.parametrize(
    "fault", ["hang-initialize", "hang-request", "die-start", "lies", "garbage", "wrong-id"]
)
async def test_a_failing_server_falls_back_to_the_index(project: Path, fault: str) -> None:
    async with opened(project, with_faults(fault)) as managed:
        at = await managed.navigator.locate("app.py:7:16")
        for _ in range(2):
            found = await within(BOUND, managed.navigator.related("definition", at, patience=0.25))
            assert places(found) == [("shop.py", 10)] and sources(found) == {"tree-sitter"}
            assert found.note
        references = await within(BOUND, managed.navigator.related("references", at, patience=0.25))
        assert ("app.py", 7) in places(references)


@pytest.mark.parametrize("fault", ["hang-initialize", "hang-request silent", "die-start", "silent"])
async def test_a_failing_server_delays_no_edit(project: Path, fault: str) -> None:
    async with opened(project, with_faults(*fault.split())) as managed:
        managed.navigator.seen("app.py")
        await managed.navigator.locate("Cart.total")
        changes = await changes_of(managed, "app.py", APP.replace("add(3)", "add(4)"))
        checked = await within(BOUND, managed.navigator.checked(changes, 1.0))
        assert checked.state == "unknown" and checked.note and not checked.new


async def test_an_incomplete_answer_is_merged_with_the_index_and_says_so(project: Path) -> None:
    async with opened(project, with_faults("works")) as managed:
        at = await managed.navigator.locate("shop.py:Cart.total")
        await managed.navigator.related("definition", at, "lsp")
        found = await managed.navigator.related("references", at)
        assert not found.complete and found.note
        assert ("app.py", 7) in places(found)
        assert len(places(found)) == len(set(places(found)))


async def test_asking_only_the_server_says_why_there_is_none(project: Path) -> None:
    async with opened(project, NO_SERVER) as managed:
        at = await managed.navigator.locate("Cart.total")
        found = await managed.navigator.related("definition", at, "lsp")
        assert not found.rows and found.note
        assert sources(await managed.navigator.related("definition", at)) == {"tree-sitter"}


@pytest.mark.parametrize(
    ("place", "position"),
    [
        ("shop.py:10:9", Position("shop.py", 10, 9)),
        ("shop.py:10", Position("shop.py", 10, 9)),
        ("app.py:7", Position("app.py", 7, 5)),
        ("shop.py:Cart.total", Position("shop.py", 10, 9)),
        ("Cart.total", Position("shop.py", 10, 9)),
        ("total", Position("shop.py", 10, 9)),
        ("./shop.py:10:900", Position("shop.py", 10, 28)),
    ],
)
async def test_a_place_is_found(project: Path, place: str, position: Position) -> None:
    async with opened(project, NO_SERVER) as managed:
        assert await managed.navigator.locate(place) == position


async def test_an_unknown_place_names_similar_ones(project: Path) -> None:
    (project / "other.py").write_text("class Basket:\n    def total(self): ...\n", encoding="utf-8")
    async with opened(project, NO_SERVER) as managed:
        with pytest.raises(PlaceAmbiguous) as ambiguous:
            await managed.navigator.locate("total")
        assert {row.path for row in ambiguous.value.candidates} == {"shop.py", "other.py"}
        with pytest.raises(PlaceUnknown, match=r"Cart\.total"):
            await managed.navigator.locate("shop.py:totl")
        with pytest.raises(PlaceUnknown, match="no file"):
            await managed.navigator.locate("gone.py:3")
        with pytest.raises(PlaceUnknown, match="has no line 99"):
            await managed.navigator.locate("app.py:99")
        with pytest.raises(PlaceUnknown, match="invalid place"):
            await managed.navigator.locate("three words here")


async def test_an_edit_is_checked_before_it_is_written(project: Path) -> None:
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        worse = await changes_of(managed, "app.py", APP.replace("cart.add(3)", "cart.ad(3)"))
        checked = await managed.navigator.checked(worse, 5.0)
        assert checked.state == "checked" and [row.line for row in checked.new] == [6]
        assert (project / "app.py").read_text() == APP
        (project / "app.py").write_text("# above\n" + APP.replace("cart.add(3)", "cart.ad(3)"))
        managed.navigator.changed("app.py", APP.encode(), checked.new)
        better = await changes_of(managed, "app.py", APP)
        mended = await managed.navigator.checked(better, 5.0)
        assert (mended.state, mended.before, mended.new, mended.gone) == ("checked", 1, (), 1)


async def test_new_problems_are_reported_once_and_old_ones_never(project: Path) -> None:
    old = APP + "    print(unknown)\n"
    (project / "app.py").write_text(old)
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        (project / "app.py").write_text("# above\n" + old + "    print(another)\n")
        managed.navigator.changed("app.py", old.encode())
        news = await managed.navigator.news()
        assert [row.line for row in news.rows] == [10] and "another" in news.rows[0].message
        assert (await managed.navigator.news()).rows == ()


async def test_problems_in_a_result_are_not_reported_again(project: Path) -> None:
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        changes = await changes_of(managed, "app.py", APP + "    print(another)\n")
        checked = await managed.navigator.checked(changes, 5.0)
        await managed.root.workspace.apply(changes)
        managed.navigator.changed("app.py", APP.encode(), checked.new)
        assert checked.new and (await managed.navigator.news()).rows == ()


async def test_what_changes_on_disk_reaches_server_and_index(project: Path) -> None:
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        (project / "app.py").write_text("\n\n" + APP)
        managed.navigator.changed("app.py", APP.encode())
        at = await managed.navigator.locate("Cart.total")
        for source in ("lsp", "tree-sitter"):
            found = await managed.navigator.related("references", at, source)
            assert ("app.py", 9) in places(found) and ("app.py", 7) not in places(found)


async def test_a_rename_comes_as_edits_of_every_file(project: Path) -> None:
    async with opened(project, TY) as managed:
        edits = await managed.navigator.rename(await managed.navigator.locate("Cart.total"), "sum_up")
        changes = await managed.root.workspace.plan(edits)
        assert [change.path for change in changes.files] == ["app.py", "shop.py"]
        assert b"cart.sum_up()" in (changes.files[0].after or b"")


async def test_revoked_trust_stops_servers_that_run_project_code(project: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    language = with_faults(notes=notes)
    language = replace(language, servers=(replace(language.servers[0], runs_project=True),))
    async with opened(project, language) as managed:
        await managed.navigator.related("definition", Position("app.py", 7, 16), "lsp")
        assert [row.state for row in managed.navigator.servers()] == ["ready"]
        await managed.use(replace(managed.root, trusted=False))
        assert [row.state for row in managed.navigator.servers()] != ["ready"]
        found = await managed.navigator.related("definition", Position("app.py", 7, 16))
        assert sources(found) == {"tree-sitter"}


async def test_other_languages_are_adopted_and_equal_ones_change_nothing(project: Path) -> None:
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        (before,) = managed.navigator.servers()
        await managed.use(replace(managed.root, warn=print))
        assert [row.pid for row in managed.navigator.servers()] == [before.pid]
        await managed.use(replace(managed.root, languages=(NO_SERVER,)))
        found = await managed.navigator.related("definition", await managed.navigator.locate("app.py:7:16"))
        assert sources(found) == {"tree-sitter"} and managed.navigator.servers() == ()


async def test_what_a_change_breaks_elsewhere_is_found_before_writing(project: Path) -> None:
    shop = (project / "shop.py").read_text(encoding="utf-8")
    async with opened(project, TY) as managed:
        await ready(managed.navigator)
        await managed.navigator.symbols("total", source="tree-sitter")
        renamed = await changes_of(managed, "shop.py", shop.replace("def total(", "def totals("))
        checked = await managed.navigator.checked(renamed, 5.0)
        assert {row.path for row in checked.new} >= {"app.py"} and checked.files >= 2
        gone = await managed.root.workspace.plan((DeleteFile("shop.py"),))
        assert {row.path for row in (await managed.navigator.checked(gone, 5.0)).new} >= {"app.py"}


async def test_between_names_there_is_no_definition(project: Path) -> None:
    async with opened(project, NO_SERVER) as managed:
        blank = await managed.navigator.locate("shop.py:10:900")
        assert not (await managed.navigator.related("definition", blank)).rows
