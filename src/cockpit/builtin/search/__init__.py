"""`search`: a regular expression over the files of the workspace, by ripgrep where it is there and by
Python where it is not, with the same answer from both. What searches is loaded with the first call.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope

MOST = 2_000


@dataclass(frozen=True, slots=True)
class Search:
    pattern: Annotated[str, "regular expression, matched line by line"]
    path: str = "."
    glob: Annotated[str, "only these files: *.py, src/**/*.{ts,tsx}, !tests/"] = ""
    case: Annotated[
        Literal["smart", "sensitive", "ignore"], "smart: ignored unless pattern has a capital"
    ] = "smart"
    context: Annotated[int, "lines around each match"] = 0
    limit: int = 200
    literal: Annotated[bool, "pattern is plain text"] = False


async def search(arguments: Search, context: Context) -> Done:
    from cockpit.builtin.search.searching import search

    return await search(arguments, context)


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(Search, arguments).path.strip() or "."
    return Preview(title=f"search in {path}", paths=(context.workspace.resolve(path, "read"),))


ALIASES = (
    Alias(
        "Grep",
        (
            ("-C", "context"),
            ("-A", "context"),
            ("-B", "context"),
            ("-n", ""),
            ("-i", ""),
            ("output_mode", ""),
            ("head_limit", "limit"),
            ("multiline", ""),
            ("type", ""),
        ),
    ),
    Alias("grep", (("include", "glob"), ("max_results", "limit"), ("query", "pattern"))),
    Alias(
        "grep_files",
        (("include", "glob"), ("max_results", "limit"), ("before", "context"), ("after", "context")),
    ),
    Alias("search_text", (("query", "pattern"), ("include", "glob"), ("max_results", "limit"))),
    Alias("search_files", (("regex", "pattern"), ("query", "pattern"), ("file_pattern", "glob"))),
    Alias("search_file_content", (("include", "glob"),)),
)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="search",
            kind="search",
            description="Search file contents (not ignored or binary files). Lines as path:line: text.",
            parameters=schema(Search),
            capabilities=frozenset({"fs.read"}),
            run=typed(Search, search),
            title=lambda arguments: f"search {arguments.get('pattern', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(entries=MOST * 3),
            aliases=ALIASES,
            keywords=("grep", "find", "regex", "text"),
        )
    )
