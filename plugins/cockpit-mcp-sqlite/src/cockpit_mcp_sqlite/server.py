"""The server: `python server.py FOLDER` speaks MCP on its stdin and stdout. Reads, never writes."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

MOST = 200


def connected(folder: Path, database: str) -> sqlite3.Connection:
    """A connection that can only read. Raises ValueError for a file outside of `folder`, or that is none."""
    path = (folder / database).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError(f"{database} is no file in {folder.name}; name one relative to it")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    # A file may be read only; ATTACH would open another one.
    connection.set_authorizer(
        lambda action, *names: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )
    return connection


def schema_of(folder: Path, database: str) -> str:
    """The statements that made the tables, views and indexes of a database."""
    with closing(connected(folder, database)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return "\n".join(f"{sql};" for (sql,) in rows) or "The database is empty."


def asked(folder: Path, database: str, sql: str) -> str:
    """The rows of one query, tab-separated below the names of its columns, at most 200."""
    with closing(connected(folder, database)) as connection:
        cursor = connection.execute(sql)
        rows = cursor.fetchmany(MOST + 1)
        lines = ["\t".join(name for name, *_ in cursor.description or ())]
        lines += ["\t".join("" if one is None else str(one) for one in row) for row in rows[:MOST]]
    return "\n".join(lines) + (f"\n... more than {MOST} rows; add LIMIT or WHERE" if len(rows) > MOST else "")


@contextmanager
def told(error: type[Exception]) -> Iterator[None]:
    """Let the model read what was wrong with its call."""
    try:
        yield
    except (ValueError, sqlite3.Error) as fault:
        raise error(str(fault)) from fault


def main() -> None:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    server = MCPServer("sqlite", instructions="Reads the SQLite files of the project.")

    @server.tool()
    def schema(database: str) -> str:
        """The tables and columns of a SQLite file, `database` relative to the project."""
        with told(ToolError):
            return schema_of(folder, database)

    @server.tool()
    def query(database: str, sql: str) -> str:
        """Run one SELECT on a SQLite file; nothing can be changed."""
        with told(ToolError):
            return asked(folder, database, sql)

    server.run("stdio")


if __name__ == "__main__":
    main()
