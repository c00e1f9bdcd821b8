"""The `write` tool: creates a file or replaces its whole content."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class WriteArguments:
    path: str
    content: Annotated[str, "the whole file"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(WriteArguments, arguments)
    real = context.workspace.resolve(parsed.path, "write")
    content = parsed.content.encode("utf-8", "surrogatepass")
    title = f"write {parsed.path}"
    with suppress(OSError, CockpitError):
        # A user who expects a new file must see that one exists.
        if (await context.workspace.files.stat(real)).size:
            title += ", which exists: all of it is replaced"
    return await file_changes.preview_edits(context, title, (WriteFile(real, content),))


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
            run=partial(file_changes.apply_previewed, preview=preview),
            title=lambda arguments: f"write {arguments.get('path', '')}",
            preview=preview,
            aliases=tuple(Alias(name, renamed) for name in ("Write", "write_file", "create_file")),
            keywords=("create", "overwrite", "new file"),
        )
    )
