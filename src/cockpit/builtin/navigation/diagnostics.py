"""`diagnostics`: what the language servers find wrong."""

from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.navigation import showing
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Panel, Register, Scope
from cockpit.protocol.code import ProblemRows

PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Diagnostics:
    path: Annotated[str, "a file or folder; empty: the files that changed last"] = ""


async def diagnostics(arguments: Diagnostics, context: Context) -> Done:
    found = await _found(arguments.path.strip().rstrip("/"), context)
    servers = ", ".join(dict.fromkeys(row.server for row in found.rows))
    count = len(found.rows)
    head = f"{count} problem{'' if count == 1 else 's'}{f' ({servers})' if servers else ''}"
    if found.note:
        head += f"; {'' if found.complete else 'maybe not all: '}{found.note}"
    text = f"{head}\n{showing.problems(found.rows)}" if found.rows else head
    return Done(text, data=showing.problems_told(found))


async def _found(path: str, context: Context) -> ProblemRows:
    try:
        entry = await context.workspace.files.stat(path or ".")
    except OSError as error:
        raise ToolFailed(f"{path} does not exist; `glob` or `list` shows what does") from error
    return await context.navigator.problems((entry.path or ".",), PATIENCE)


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(Diagnostics, arguments).path.strip()
    return Preview(f"diagnostics {path}", paths=(context.workspace.resolve(path, "read"),) if path else ())


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="diagnostics",
            kind="search",
            description="Errors and warnings of the language servers.",
            parameters=schema(Diagnostics),
            capabilities=frozenset({"fs.read"}),
            run=typed(Diagnostics, diagnostics),
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
