"""The `diagnostics` tool: errors and warnings of the language servers; and the panels that show them."""

from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.tools.navigation import symbol_rows
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Panel, Register, Scope

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class DiagnosticsArguments:
    path: Annotated[str, "a file or folder; empty: the files that changed last"] = ""


async def list_diagnostics(arguments: DiagnosticsArguments, context: Context) -> Done:
    path = arguments.path.strip().rstrip("/")
    try:
        entry = await context.workspace.files.stat(path or ".")
    except OSError as error:
        raise ToolFailed(f"{path} does not exist; use `glob` or `list` to see what does") from error
    answer = await context.navigator.problems((entry.path or ".",), PATIENCE_SECONDS)
    servers = ", ".join(dict.fromkeys(row.server for row in answer.rows))
    count = len(answer.rows)
    head = f"{count} problem{'' if count == 1 else 's'}{f' ({servers})' if servers else ''}"
    if answer.note:
        head += f"; {'' if answer.complete else 'maybe not all: '}{answer.note}"
    text = f"{head}\n{symbol_rows.format_problems(answer.rows)}" if answer.rows else head
    return Done(text, data=symbol_rows.problems_as_json(answer))


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(DiagnosticsArguments, arguments).path.strip()
    return Preview(f"diagnostics {path}", paths=(context.workspace.resolve(path, "read"),) if path else ())


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="diagnostics",
            kind="search",
            description="Errors and warnings of the language servers.",
            parameters=schema(DiagnosticsArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(DiagnosticsArguments, list_diagnostics),
            title=lambda arguments: f"diagnostics {arguments.get('path', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(
                Alias("lsp_diagnostics", (("file_path", "path"), ("line", ""), ("character", ""))),
                Alias("getDiagnostics", (("uri", "path"),)),
            ),
            keywords=("lsp", "problems", "errors", "warnings", "lint", "types"),
            polling=True,
        )
    )


@hookimpl
def register_panels(register: Register, scope: Scope) -> None:
    register(Panel("servers", "Language servers"))
    register(Panel("problems", "Problems"))
