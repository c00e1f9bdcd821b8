"""The `apply_patch` tool: edits in several files at once, all or nothing."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class ApplyPatchArguments:
    patch: Annotated[str, "a unified diff, or *** Begin Patch ... *** End Patch"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    # Patch parsing is imported with the first patch.
    from cockpit.workspace.patches.planner import match_workspace_patch

    patch = await match_workspace_patch(context.workspace, parse(ApplyPatchArguments, arguments).patch)
    files = patch.files
    title = f"patch {files[0].path}" if len(files) == 1 else f"patch {len(files)} files"
    return await file_changes.preview_edits(context, title, patch.edits, "; ".join(patch.patch.notes))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("input", "patch"), ("diff", "patch"), ("patchText", "patch"))
    register(
        Tool(
            name="apply_patch",
            kind="edit",
            description="Change, add, delete or rename several files at once, all or nothing.",
            parameters=schema(ApplyPatchArguments),
            capabilities=frozenset({"fs.write", "fs.delete"}),
            run=partial(file_changes.apply_previewed, preview=preview),
            title=lambda arguments: "apply_patch",
            preview=preview,
            aliases=tuple(Alias(name, renamed) for name in ("ApplyPatch", "applyPatch", "patch")),
            keywords=("diff", "patch", "multi-file"),
        )
    )
