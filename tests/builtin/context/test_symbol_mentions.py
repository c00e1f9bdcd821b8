"""`@Class.method` in a prompt: completed beside files, and only its lines travel."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.support.decks import Driver, driving, script
from tests.support.session_view import context_on

from cockpit.builtin.context import symbol_mentions
from cockpit.builtin.languages.python import PYTHON
from cockpit.navigation.index.client import TreeIndex
from cockpit.navigation.navigator import LiveNavigator
from cockpit.protocol.code import SymbolRow
from cockpit.protocol.content import Block, Code, Text
from cockpit.protocol.events import TurnStarted
from cockpit.protocol.queries import Complete, Completion, Completions
from cockpit.workspace.local import LocalWorkspace

CART = '''"""Carts."""


class Cart:
    """Prices."""

    # What is to be paid.
    @property
    def total(self) -> int:
        return sum(self.prices)

    def empty(self) -> bool:
        return not self.prices


def secret() -> int:
    return 42
'''
PAY = """from cart import Cart


def checkout(cart: Cart) -> str:
    return str(cart.total)


def show(cart: Cart) -> None:
    print(checkout(cart))


def quiet() -> None: ...
"""
TESTS = """from pay import checkout


def test_checkout() -> None:
    assert checkout(None)
"""


@pytest.fixture
async def session(root: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Driver]:
    (root / "cart.py").write_text(CART, encoding="utf-8")
    (root / "pay.py").write_text(PAY, encoding="utf-8")
    (root / "test_pay.py").write_text(TESTS, encoding="utf-8")
    (root / "quiet").write_text("a file without an ending\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    script(root.parent, {"text": "Done."})
    async with driving(root) as driver:
        yield driver


async def attached(driver: Driver, words: str) -> tuple[Block, ...]:
    """What goes to the model beside the words."""
    await driver.prompt(words)
    return driver.all(TurnStarted)[-1].content[1:]


async def offered(driver: Driver, word: str) -> list[Completion]:
    """The completions of `word`. The first request starts the index, so it is repeated until symbols come."""
    async with asyncio.timeout(20):
        rows = await complete(driver, word)
        while all(row.insert == "@cart.py " for row in rows):
            rows = await complete(driver, word)
    return rows


async def complete(driver: Driver, word: str) -> list[Completion]:
    text = f"look at {word}"
    reply = await driver.channel.ask(Complete("@", text, len(text)))
    assert isinstance(reply, Completions)
    assert all(text[row.start : row.end] == word for row in reply.rows)
    return list(reply.rows)


async def test_method_mention_adds_its_lines_with_decorator_and_comment(session: Driver) -> None:
    (block,) = await attached(session, "why is @Cart.total slow?")
    assert isinstance(block, Code) and (block.path, block.line) == ("cart.py", 7)
    assert block.text.startswith("[@Cart.total: cart.py:7-10]\n")
    assert "# What is to be paid." in block.text and "return sum(self.prices)" in block.text
    assert "empty" not in block.text and "secret" not in block.text


async def test_file_prefix_narrows_the_symbol_and_is_not_added(session: Driver) -> None:
    (block,) = await attached(session, "explain @cart.py:Cart.empty.")
    assert isinstance(block, Code) and block.line == 12
    assert "def empty" in block.text and "secret" not in block.text and "sum(" not in block.text


async def test_callers_and_tests_add_those_definitions(session: Driver) -> None:
    (callers,) = await attached(session, "who needs @callers:checkout")
    assert isinstance(callers, Text) and "pay.py:8" in callers.text and "def show" in callers.text
    assert "def checkout" not in callers.text and "quiet" not in callers.text
    (tests,) = await attached(session, "run @tests:checkout")
    assert isinstance(tests, Text) and "test_pay.py:4" in tests.text and "def test_checkout" in tests.text
    assert "import" not in tests.text


async def test_file_wins_over_a_symbol_with_its_name(session: Driver) -> None:
    (block,) = await attached(session, "read @quiet")
    assert isinstance(block, Code) and "a file without an ending" in block.text


async def test_unknown_words_stay_words_and_unknown_relations_are_reported(session: Driver) -> None:
    assert await attached(session, "ask @alice about @nothing.here and a@b.example") == ()
    (block,) = await attached(session, "see @callers:nothing_here")
    assert isinstance(block, Text) and block.text.startswith("[@callers:nothing_here: ")


async def test_ambiguous_mention_lists_the_definitions(session: Driver, root: Path) -> None:
    (root / "other.py").write_text("def show() -> None: ...\n", encoding="utf-8")
    (block,) = await attached(session, "see @show")
    assert isinstance(block, Text) and "other.py:1" in block.text and "pay.py:8" in block.text
    assert "def show" not in block.text


async def test_symbols_are_completed_beside_files_best_match_first(session: Driver) -> None:
    rows = await offered(session, "@Cart.to")
    assert rows[0].insert == "@Cart.total " and rows[0].label == "Cart.total" and "cart.py" in rows[0].detail
    rows = await offered(session, "@Cart")
    inserts = [row.insert for row in rows]
    assert "@cart.py " in inserts and "@Cart " in inserts
    rows = await offered(session, "@callers:check")
    assert rows[0].insert == "@callers:checkout " and all("callers:" in row.insert for row in rows)
    rows = await offered(session, "@cart.py:em")
    assert [row.insert for row in rows] == ["@cart.py:Cart.empty "]


async def test_owner_completes_its_members_exact_match_first(session: Driver, root: Path) -> None:
    more = "".join(f"class C{n}:\n    def empty(self): ...\n\n\n" for n in range(250))
    (root / "more.py").write_text(f"{more}def total(): ...\n\n\ndef totals(): ...\n", encoding="utf-8")
    rows = await offered(session, "@Cart.")
    assert {row.insert for row in rows} - {"@cart.py "} == {"@Cart.total ", "@Cart.empty "}
    assert [row.insert for row in await offered(session, "@Cart.total")] == ["@Cart.total "]
    (root / "twin.py").write_text("class Cart:\n    def empty(self): ...\n    def empty_all(self): ...\n")
    async with asyncio.timeout(20):
        while "@twin.py:Cart.empty " not in (
            inserts := [row.insert for row in await complete(session, "@Cart.empty")]
        ):
            pass
    assert sorted(inserts[:2]) == ["@cart.py:Cart.empty ", "@twin.py:Cart.empty "]
    assert inserts[2] == "@Cart.empty_all "


class Growing:
    """An index that never gets whole and knows nothing yet."""

    progress = (1, 2)
    is_cut = False

    async def whole(self, seconds: float) -> bool:
        return False

    async def named(self, path: str) -> tuple[SymbolRow, ...]:
        return ()

    async def symbols(self, query: str, limit: int = 200) -> tuple[SymbolRow, ...]:
        return ()


async def test_unknown_name_during_indexing_is_reported(root: Path) -> None:
    navigator = LiveNavigator(
        LocalWorkspace(str(root)), index=cast("TreeIndex", Growing()), languages=(PYTHON,)
    )
    context = replace(context_on(root), navigator=navigator)
    block = await symbol_mentions.expand_symbol("Cart.total", context)
    assert block == Text("[@Cart.total: still indexing the project; mention it again]")


async def test_path_completes_files_only(session: Driver) -> None:
    assert all(row.insert.startswith("@") and ".py" in row.insert for row in await complete(session, "@y.p"))


async def test_completed_mention_can_be_expanded(session: Driver) -> None:
    for word in ("@empty", "@callers:check", "@cart.py:tot"):
        insert = (await offered(session, word))[0].insert
        blocks = await attached(session, f"see {insert}please")
        assert len(blocks) == 1, insert
