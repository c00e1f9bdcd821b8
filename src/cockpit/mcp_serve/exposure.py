"""Which tools a client may use. A tool that is not exposed is neither listed nor callable."""

from collections.abc import Iterable
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

    def takes(self, row: ToolRow) -> bool:
        """Whether clients may use the tool `row`. Tools of other MCP servers are never exposed."""
        # A client must connect to those servers itself: the user approved them for cockpit only.
        if is_mcp_name(row.name):
            return False
        looks = row.looks_only and row.kind in READING_KINDS
        return any(looks if name == DEFAULT_SET else fnmatchcase(row.name, name) for name in self.names)

    def rows(self, rows: Iterable[ToolRow]) -> tuple[ToolRow, ...]:
        """The exposed tools among `rows`, by name."""
        return tuple(sorted((row for row in rows if self.takes(row)), key=lambda row: row.name))

    def missing(self, rows: Iterable[ToolRow]) -> tuple[str, ...]:
        """The names that match no tool, so that the user learns of them."""
        known = {row.name for row in rows}
        return tuple(
            entry
            for entry in self.names
            if entry != DEFAULT_SET and not any(entry == name or fnmatchcase(name, entry) for name in known)
        )


def parse_exposed(text: str | None, words: tuple[str, ...]) -> ExposedTools:
    """The exposure given on the command line (`--expose a,b`), else in the settings (`mcp.expose_tools`)."""
    if text is None:
        return ExposedTools(words) if words else ExposedTools()
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise CockpitError(
            "--expose names no tool", f"for example --expose {DEFAULT_SET},edit; or leave the option out"
        )
    return ExposedTools(names)
