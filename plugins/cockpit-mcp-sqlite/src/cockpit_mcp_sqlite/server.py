"""The server: `python server.py FOLDER` speaks MCP on stdin and stdout. It reads and never writes."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

MAX_ROWS = 200


def connect(folder: Path, database: str) -> sqlite3.Connection:
    """Open a database read-only. Raises ValueError if the file is missing or outside `folder`."""
    path = (folder / database).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError(f"{database} is not a file in {folder.name}; name a file relative to it")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    # ATTACH would open another file.
    connection.set_authorizer(
        lambda action, *names: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )
    return connection


def read_schema(folder: Path, database: str) -> str:
    """The statements that create the tables, views and indexes of a database."""
    with closing(connect(folder, database)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return "\n".join(f"{sql};" for (sql,) in rows) or "The database is empty."


def run_query(folder: Path, database: str, sql: str) -> str:
    """The first 200 rows of a query, tab-separated, below the column names."""
    with closing(connect(folder, database)) as connection:
        cursor = connection.execute(sql)
        rows = cursor.fetchmany(MAX_ROWS + 1)
        lines = ["\t".join(name for name, *_ in cursor.description or ())]
        lines += ["\t".join("" if value is None else str(value) for value in row) for row in rows[:MAX_ROWS]]
    return "\n".join(lines) + (
        f"\n... more than {MAX_ROWS} rows; add LIMIT or WHERE" if len(rows) > MAX_ROWS else ""
    )


@contextmanager
def report_errors(error: type[Exception]) -> Iterator[None]:
    """Turn errors of a call into errors that the model reads."""
    try:
        yield
    except (ValueError, sqlite3.Error) as cause:
        raise error(str(cause)) from cause


def main() -> None:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    server = MCPServer("sqlite", instructions="Reads the SQLite files of the project.")

    @server.tool()
    def schema(database: str) -> str:
        """The tables and columns of a SQLite file, `database` relative to the project."""
        with report_errors(ToolError):
            return read_schema(folder, database)

    @server.tool()
    def query(database: str, sql: str) -> str:
        """Run one SELECT on a SQLite file; nothing can be changed."""
        with report_errors(ToolError):
            return run_query(folder, database, sql)

    server.run("stdio")


if __name__ == "__main__":
    main()
