"""The `delete` tool: removes one file."""

from dataclasses import dataclass
from functools import partial

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import DeleteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class DeleteArguments:
    path: str


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(DeleteArguments, arguments).path
    context.workspace.resolve(path, "write")
    if await file_changes.is_folder(path, context):
        if await context.workspace.files.entries(path, hidden=True):
            raise ToolFailed(
                f"{path} is a folder with files in it; delete each file, or use shell: rm -r {path}"
            )
        raise ToolFailed(f"{path} is an empty folder; remove it with shell: rmdir {path}")
    return await file_changes.preview_edits(context, f"delete {path}", (DeleteFile(path),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("file_path", "path"), ("target_file", "path"))
    register(
        Tool(
            name="delete",
            kind="delete",
            description="Delete one file.",
            parameters=schema(DeleteArguments),
            capabilities=frozenset({"fs.delete"}),
            run=partial(file_changes.apply_previewed, preview=preview),
            title=lambda arguments: f"delete {arguments.get('path', '')}",
            preview=preview,
            aliases=tuple(Alias(name, renamed) for name in ("Delete", "delete_file", "remove_file")),
            keywords=("remove", "rm"),
        )
    )
