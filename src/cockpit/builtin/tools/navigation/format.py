"""The `format` tool: formats a file with its language server."""

import re
from dataclasses import dataclass, replace

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

PROBLEMS_SECONDS = 5.0
# ty and ruff report invalid-syntax, clangd expected_semi, TypeScript codes like 1005, others a message.
SYNTAX_ERROR = re.compile(r"^expected_|^1\d{3} |(?:invalid|syntax)[- _]?(?:syntax|error)")


@dataclass(frozen=True, slots=True)
class FormatArguments:
    path: str


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(FormatArguments, arguments).path
    real = context.workspace.resolve(path, "write")
    if await file_changes.read_current(context, path) is None:
        raise ToolFailed(f"{path} does not exist; use `glob` or `list` to see what does")
    edits = await context.navigator.formatted((await context.workspace.files.stat(path)).path)
    changes = await context.workspace.plan(edits)
    if not changes.files:
        return Preview(f"format {path}", paths=(real,))
    return replace(await file_changes.preview_edits(context, f"format {path}", edits), paths=(real,))


async def run(arguments: Arguments, context: Context) -> Done:
    running = context.call
    path = parse(FormatArguments, arguments).path
    planned = running.preview if running and running.preview else await preview(arguments, context)
    if planned.changes is None:
        return await _explain_unchanged(path, context)
    return await file_changes.apply_previewed(arguments, context, preview)


async def _explain_unchanged(path: str, context: Context) -> Done:
    """Formatters give the same answer for a formatted file and for a file they cannot parse."""
    entry = await context.workspace.files.stat(path)
    problems = await context.navigator.problems((entry.path,), PROBLEMS_SECONDS)
    for row in problems.rows:
        if row.severity == "error" and SYNTAX_ERROR.search(f"{row.code} {row.message}".lower()):
            text = f"{path} was not formatted: syntax error at line {row.line}: {row.message}"
            return Done(text, is_error=True)
    if not problems.complete:
        return Done(f"the language server found nothing to change in {path}, or cannot parse it")
    return Done(f"{path} is already formatted")


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="format",
            kind="edit",
            description="Format a file, by language server.",
            parameters=schema(FormatArguments),
            capabilities=frozenset({"fs.write"}),
            run=run,
            title=lambda arguments: f"format {arguments.get('path', '')}",
            preview=preview,
            deferred=True,
            keywords=("lsp", "formatter", "style", "pretty"),
        )
    )
