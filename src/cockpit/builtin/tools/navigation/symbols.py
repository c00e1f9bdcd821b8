"""The `symbols` tool: the outline of a file, or definitions by name in the workspace."""

from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class SymbolsArguments:
    path: Annotated[str, "the file to outline"] = ""
    query: Annotated[str, "or a name, or part of one, in all files"] = ""
    kind: Annotated[str, "class, function, method..."] = ""


async def list_symbols(arguments: SymbolsArguments, context: Context) -> Done:
    if not arguments.path and not arguments.query:
        raise ToolFailed("give a `path` for its outline, or a `query` to search for in all files")
    navigator = context.navigator
    if not arguments.path:
        answer = await navigator.symbols(arguments.query, arguments.kind)
        rows = answer.rows
        nothing = f"no symbol like {arguments.query}; {symbol_rows.format_head(answer, 'symbol')}"
    else:
        answer = await navigator.outline(arguments.path)
        query = arguments.query.lower()
        rows = tuple(
            row
            for row in answer.rows
            if query in row.name.lower() and (not arguments.kind or row.kind == arguments.kind)
        )
        nothing = f"no known definitions in {arguments.path}; read it"
    if not rows:
        return Done(nothing, data={"results": []})
    head = symbol_rows.format_head(answer, "symbol")
    text = f"{head}\n{symbol_rows.format_rows(rows, outline=bool(arguments.path))}"
    return Done(text, data=symbol_rows.answer_as_json(answer))


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(SymbolsArguments, arguments).path
    return Preview(f"symbols {path}", paths=(context.workspace.resolve(path, "read"),) if path else ())


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="symbols",
            kind="search",
            description="The outline of a file with line numbers, or definitions by name in all files.",
            parameters=schema(SymbolsArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(SymbolsArguments, list_symbols),
            title=lambda arguments: f"symbols {arguments.get('path') or arguments.get('query') or ''}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(size=24_000),
            aliases=(
                Alias("lsp_symbols", (("file_path", "path"), ("line", ""), ("character", ""))),
                Alias("lsp_workspace_symbols", (("symbol", "query"), ("path", ""), ("limit", ""))),
                Alias("lsp_document_symbols", (("file_path", "path"),)),
            ),
            keywords=("outline", "lsp", "navigation", "classes", "functions"),
        )
    )
