"""The language plugin as a user has it: installed, found by its entry point, used on code."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.decks import driving, script

from cockpit.protocol.channel import Channel
from cockpit.protocol.code import Navigate, ServerRows, Servers, SymbolRows, Symbols
from cockpit.protocol.queries import PluginRows, Plugins

PLUGIN = Path(__file__).parents[2] / "plugins" / "cockpit-lang-lua"
CART = """local Cart = {}

-- Adds what something costs.
function Cart.add(cart, price)
  local sum = cart.sum + price
  return sum
end

function Cart:total()
  return self.sum
end

return Cart
"""
MAIN = """local cart = require("shop.cart")
cart.add(nil, 3)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin installed in it, from a wheel built of these sources."""
    folder = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), str(PLUGIN))
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options], check=True
    )
    return folder


@pytest.fixture
def project(root: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setenv("COCKPIT_PLUGINS", "language_lua")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    script(root.parent, {"text": "hi"})
    (root / "shop").mkdir()
    (root / "shop" / "cart.lua").write_text(CART, encoding="utf-8")
    (root / "main.lua").write_text(MAIN, encoding="utf-8")
    return root


async def places(channel: Channel, query: Symbols | Navigate) -> list[str]:
    answer = await channel.ask(query)
    assert isinstance(answer, SymbolRows) and {row.source for row in answer.rows} <= {"tree-sitter"}
    return [f"{row.kind} {row.name} {row.path}:{row.line}" for row in answer.rows]


async def test_plugin_is_listed_with_its_values(project: Path) -> None:
    async with driving(project) as driver:
        plugins = await driver.channel.ask(Plugins())
    assert isinstance(plugins, PluginRows)
    row = next(row for row in plugins.rows if row.name == "language_lua")
    assert (row.distribution, row.state, row.registers) == ("cockpit-lang-lua", "loaded", ("languages: lua",))


async def test_lua_files_have_outlines_definitions_and_references(project: Path) -> None:
    async with driving(project) as driver:
        outline = await places(driver.channel, Symbols("", "shop/cart.lua"))
        definition = await places(driver.channel, Navigate("definition", "main.lua:2:6", "tree-sitter"))
        local = await places(driver.channel, Navigate("definition", "shop/cart.lua:6:10", "tree-sitter"))
        uses = await places(driver.channel, Navigate("references", "shop/cart.lua:Cart.add", "tree-sitter"))
    assert outline == [
        "variable Cart shop/cart.lua:1",
        "method add shop/cart.lua:4",
        "method total shop/cart.lua:9",
    ]
    assert definition == ["method add shop/cart.lua:4"]
    assert local == ["variable sum shop/cart.lua:5"]
    assert uses == ["reference add main.lua:2", "method add shop/cart.lua:4"]


async def test_missing_server_says_how_to_install_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with driving(project) as driver:
        await driver.channel.ask(Navigate("definition", "main.lua:2:6"))
        answer = await driver.channel.ask(Servers())
    assert isinstance(answer, ServerRows)
    row = next(row for row in answer.rows if row.language == "lua")
    assert row.state == "absent" and "brew install lua-language-server" in row.detail


def test_example_is_short() -> None:
    lines = [line for path in (PLUGIN / "src").rglob("*.py") for line in path.read_text("utf-8").splitlines()]
    assert len(lines) <= 150
