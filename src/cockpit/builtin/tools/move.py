"""The `move` tool: moves or renames one file."""

import posixpath
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import MoveFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class MoveArguments:
    path: str
    to: Annotated[str, "the new path, or an existing folder"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(MoveArguments, arguments)
    for path in (parsed.path, parsed.to):
        context.workspace.resolve(path, "write")
    if await file_changes.is_folder(parsed.path, context):
        raise ToolFailed(f"{parsed.path} is a folder; use shell: git mv {parsed.path} {parsed.to}")
    to = parsed.to
    if await file_changes.is_folder(to, context):
        to = posixpath.join(to, posixpath.basename(parsed.path))
    title = f"move {parsed.path} to {to}"
    return await file_changes.preview_edits(context, title, (MoveFile(parsed.path, to),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("source", "path"), ("from", "path"), ("destination", "to"), ("new_path", "to"))
    register(
        Tool(
            name="move",
            kind="move",
            description="Move or rename one file; nothing is overwritten.",
            parameters=schema(MoveArguments),
            capabilities=frozenset({"fs.write", "fs.delete"}),
            run=partial(file_changes.apply_previewed, preview=preview),
            title=lambda arguments: f"move {arguments.get('path', '')} to {arguments.get('to', '')}",
            preview=preview,
            aliases=tuple(Alias(name, renamed) for name in ("Move", "move_file", "rename_file")),
            keywords=("rename", "mv"),
        )
    )
