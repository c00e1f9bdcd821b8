"""`project_map`: what this project is: languages, manifests, how to test, build and run it, folders."""

from dataclasses import dataclass

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class ProjectMap:
    path: str = "."
    depth: int = 2


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(ProjectMap, arguments).path.strip() or "."
    return Preview(title=f"map {path}", paths=(context.workspace.resolve(path, "read"),))


async def describe(arguments: ProjectMap, context: Context) -> Done:
    # What surveys a project is loaded with the first call.
    from cockpit.builtin.project_map.describing import describe

    return await describe(arguments, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="project_map",
            kind="read",
            description="What a project is: languages, manifests, test and run commands, folders.",
            parameters=schema(ProjectMap),
            capabilities=frozenset({"fs.read"}),
            run=typed(ProjectMap, describe),
            title=lambda arguments: f"map {arguments.get('path', '.')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(Alias("ProjectMap"), Alias("repo_map", (("max_depth", "depth"),))),
            keywords=("overview", "structure", "languages", "architecture"),
        )
    )
