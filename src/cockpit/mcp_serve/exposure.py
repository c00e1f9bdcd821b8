"""Which tools a client may see. What is not exposed is not there for it: not listed, not callable."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cockpit.errors import CockpitError
from cockpit.protocol.queries import ToolRow

DEFAULT_SET = "default"
# What the agent does with itself (its list, its plan, a question to its person) is no client's business.
READING_KINDS = ("read", "search")
# Of another server: whoever wants its tools connects to it; its approval is not ours to lend.
MCP_TOOLS = "mcp__*"


@dataclass(frozen=True, slots=True)
class ExposedTools:
    """The names (or globs) that were asked for, `default` standing for what reads and searches only."""

    names: tuple[str, ...] = (DEFAULT_SET,)

    def takes(self, row: ToolRow) -> bool:
        """Whether `row` is for clients. A tool of another MCP server never is."""
        if fnmatchcase(row.name, MCP_TOOLS):
            return False
        looks = row.looks_only and row.kind in READING_KINDS
        return any(looks if one == DEFAULT_SET else fnmatchcase(row.name, one) for one in self.names)

    def rows(self, rows: Iterable[ToolRow]) -> tuple[ToolRow, ...]:
        """Those of `rows` that are for clients, by name."""
        return tuple(sorted((row for row in rows if self.takes(row)), key=lambda row: row.name))

    def missing(self, rows: Iterable[ToolRow]) -> tuple[str, ...]:
        """Names that no tool has: a word of a person that would have no effect."""
        known = {row.name for row in rows}
        return tuple(
            one
            for one in self.names
            if one != DEFAULT_SET and not any(one == name or fnmatchcase(name, one) for name in known)
        )


def parse_exposed(text: str | None, words: tuple[str, ...]) -> ExposedTools:
    """What the command line asks for (`--expose a,b`), else what settings do (`mcp.expose_tools`)."""
    if text is None:
        return ExposedTools(words) if words else ExposedTools()
    names = tuple(one.strip() for one in text.split(",") if one.strip())
    if not names:
        raise CockpitError("--expose names no tool", f"as --expose {DEFAULT_SET},edit; or leave it out")
    return ExposedTools(names)
