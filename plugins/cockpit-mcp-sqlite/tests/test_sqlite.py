"""The server is asked as any client asks it: over its pipes, by the official SDK."""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


SERVER = PLUGIN / "src" / "cockpit_mcp_sqlite" / "server.py"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made, made:
        made.execute("CREATE TABLE goods (name TEXT, price REAL)")
        made.execute("INSERT INTO goods VALUES ('tea', 3.5)")
    return tmp_path


def asked(folder: Path, *calls: tuple[str, dict[str, str]]) -> list[str]:
    async def ask() -> list[str]:
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER), str(folder)])
        async with Client(stdio_client(parameters)) as client:
            results = [await client.call_tool(name, dict(arguments)) for name, arguments in calls]
        return ["".join(getattr(part, "text", "") for part in one.content) for one in results]

    return asyncio.run(ask())


def test_it_reads_tables_and_writes_none(shop: Path) -> None:
    everything, schema, dropped, outside = asked(
        shop,
        ("query", {"database": "shop.db", "sql": "SELECT * FROM goods"}),
        ("schema", {"database": "shop.db"}),
        ("query", {"database": "shop.db", "sql": "DROP TABLE goods"}),
        ("query", {"database": "../other.db", "sql": "SELECT 1"}),
    )
    assert everything == "name\tprice\ntea\t3.5" and "CREATE TABLE goods" in schema
    assert "readonly" in dropped and "no file" in outside


def test_the_plugin_registers_how_it_is_started(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("mcp_sqlite")
    assert row["registers"] == ["mcp_servers: sqlite"]
