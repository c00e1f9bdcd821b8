"""`format`: a file as its language server formats it."""

from dataclasses import dataclass, replace

from cockpit.builtin import changing
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class Format:
    path: str


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(Format, arguments).path
    real = context.workspace.resolve(path, "write")
    edits = await context.navigator.formatted((await context.workspace.files.stat(path)).path)
    changes = await context.workspace.plan(edits)
    if not changes.files:
        return Preview(f"format {path}", paths=(real,))
    return replace(await changing.previewed(context, f"format {path}", edits), paths=(real,))


async def run(arguments: Arguments, context: Context) -> Done:
    running = context.call
    path = parse(Format, arguments).path
    planned = running.preview if running and running.preview else await preview(arguments, context)
    if planned.changes is None:
        return Done(f"{path} is formatted already")
    return await changing.applied(arguments, context, preview)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="format",
            kind="edit",
            description="Format a file, by language server.",
            parameters=schema(Format),
            capabilities=frozenset({"fs.write"}),
            run=run,
            title=lambda arguments: f"format {arguments.get('path', '')}",
            preview=preview,
            deferred=True,
            keywords=("lsp", "formatter", "style", "pretty"),
        )
    )
