"""Which tools a client may use. A tool that is not exposed is neither listed nor callable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cockpit.errors import CockpitError
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.queries import ToolRow

DEFAULT_SET = "default"
# Tools for the agent's own work (its todo list, its plan, questions to its user) are not for clients.
READING_KINDS = ("read", "search")


@dataclass(frozen=True, slots=True)
class ExposedTools:
    """The names or globs to expose; `default` stands for tools that only read and search."""

    names: tuple[str, ...] = (DEFAULT_SET,)

    def includes(self, row: ToolRow) -> bool:
        """Whether clients may use the tool `row`. Tools of other MCP servers are never exposed."""
        # A client must connect to those servers itself: the user approved them for cockpit only.
        if is_mcp_name(row.name):
            return False
        reads = row.looks_only and row.kind in READING_KINDS
        return any(reads if name == DEFAULT_SET else fnmatchcase(row.name, name) for name in self.names)

    def rows(self, rows: Iterable[ToolRow]) -> list[ToolRow]:
        """The exposed tools among `rows`, by name."""
        return sorted((row for row in rows if self.includes(row)), key=lambda row: row.name)

    def unmatched(self, rows: Sequence[ToolRow]) -> list[str]:
        """The names and globs that match no tool."""
        globs = [name for name in self.names if name != DEFAULT_SET]
        return [glob for glob in globs if not any(fnmatchcase(row.name, glob) for row in rows)]


def parse_exposed(text: str | None, words: tuple[str, ...]) -> ExposedTools:
    """The exposure given on the command line (`--expose a,b`), else in the settings (`mcp.expose_tools`)."""
    if text is None:
        return ExposedTools(words) if words else ExposedTools()
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise CockpitError("--expose names no tool", f"write for example --expose {DEFAULT_SET},edit")
    return ExposedTools(names)
