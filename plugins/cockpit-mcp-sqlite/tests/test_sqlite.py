"""Calls the server over its pipes, with a client of the official SDK."""

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
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute("CREATE TABLE goods (name TEXT, price REAL)")
        database.execute("INSERT INTO goods VALUES ('tea', 3.5)")
    return tmp_path


def call_tools(folder: Path, *calls: tuple[str, dict[str, str]]) -> list[str]:
    async def run_calls() -> list[str]:
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER), str(folder)])
        async with Client(stdio_client(parameters)) as client:
            results = [await client.call_tool(name, dict(arguments)) for name, arguments in calls]
        return ["".join(getattr(part, "text", "") for part in result.content) for result in results]

    return asyncio.run(run_calls())


def test_tables_are_read_and_never_written(shop: Path) -> None:
    everything, schema, dropped, outside = call_tools(
        shop,
        ("query", {"database": "shop.db", "sql": "SELECT * FROM goods"}),
        ("schema", {"database": "shop.db"}),
        ("query", {"database": "shop.db", "sql": "DROP TABLE goods"}),
        ("query", {"database": "../other.db", "sql": "SELECT 1"}),
    )
    assert everything == "name\tprice\ntea\t3.5" and "CREATE TABLE goods" in schema
    assert "readonly" in dropped and "not a file" in outside


def test_plugin_registers_the_server(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("mcp_sqlite")
    assert row["registers"] == ["mcp_servers: sqlite"]
