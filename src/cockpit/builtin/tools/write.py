"""`write`: create a file, or replace all of one."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class WriteArguments:
    path: str
    content: Annotated[str, "the whole file"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(WriteArguments, arguments)
    real = context.workspace.resolve(wanted.path, "write")
    content = wanted.content.encode("utf-8", "surrogatepass")
    title = f"write {wanted.path}"
    with suppress(OSError, CockpitError):
        # Who means to create a file must see that there is one.
        if (await context.workspace.files.stat(real)).size:
            title += ", which exists: all of it is replaced"
    return await file_changes.preview_edits(context, title, (WriteFile(real, content),))


async def run(arguments: Arguments, context: Context) -> Done:
    return await file_changes.apply_previewed(arguments, context, preview)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("file_path", "path"), ("filename", "path"), ("contents", "content"), ("file_text", "content"))
    register(
        Tool(
            name="write",
            kind="edit",
            description="Create a file or replace all of it; to change a part use `edit`.",
            parameters=schema(WriteArguments),
            capabilities=frozenset({"fs.write"}),
            run=run,
            title=lambda arguments: f"write {arguments.get('path', '')}",
            preview=preview,
            aliases=tuple(Alias(name, renamed) for name in ("Write", "write_file", "create_file")),
            keywords=("create", "overwrite", "new file"),
        )
    )
