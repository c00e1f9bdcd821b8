"""`project_map`: what this project is: languages, manifests, how to test, build and run it, folders.

What a survey found, in lines. Loaded with the first call.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cockpit.builtin.tools.project_map import survey
from cockpit.builtin.tools.project_map.survey import NON_CODE_LANGUAGES, ProjectSurvey
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class ProjectMapArguments:
    path: str = "."
    depth: int = 2


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(ProjectMapArguments, arguments).path.strip() or "."
    return Preview(title=f"map {path}", paths=(context.workspace.resolve(path, "read"),))


async def describe_project(arguments: ProjectMapArguments, context: Context) -> Done:
    # What surveys a project is loaded with the first call.

    return await run_survey(arguments, context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="project_map",
            kind="read",
            description="What a project is: languages, manifests, test and run commands, folders.",
            parameters=schema(ProjectMapArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(ProjectMapArguments, describe_project),
            title=lambda arguments: f"map {arguments.get('path', '.')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            aliases=(Alias("ProjectMap"), Alias("repo_map", (("max_depth", "depth"),))),
            keywords=("overview", "structure", "languages", "architecture"),
        )
    )


MAX_FOLDERS = 40
MAX_LANGUAGES = 12


async def run_survey(arguments: ProjectMapArguments, context: Context) -> Done:
    path = arguments.path.strip() or "."
    try:
        found = await survey.survey_project(path, max(1, min(arguments.depth, 6)), context.workspace.files)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; `list` shows what does") from error
    if not found.files:
        return Done("no files here (ignored and hidden ones are not counted)")
    # A root without a name of its own has its folder's.
    name = context.workspace.root.replace("\\", "/").rstrip("/").rpartition("/")[2] if path == "." else path
    return Done("\n".join(_format_survey(found, name)))


def _format_survey(found: ProjectSurvey, name: str) -> Iterator[str]:
    yield from _format_heading(found, name)
    yield from _format_languages(found)
    yield from _format_manifests(found)
    if found.folders:
        yield "folders:"
        for folder in sorted(found.folders)[:MAX_FOLDERS]:
            purpose = f": {found.purposes[folder]}" if folder in found.purposes else ""
            indent = "  " * (folder.count("/") + 1)
            yield f"{indent}{folder.rsplit('/', 1)[-1]}/ ({_count_files(found.folders[folder])}){purpose}"
        if (more := len(found.folders) - MAX_FOLDERS) > 0:
            yield f"  ... and {more} more; ask for one by `path`"
    if found.largest:
        yield "biggest files:"
        yield from (f"  {name} ({size / 1000:.1f} kB)" for size, name in found.largest)


def _format_heading(found: ProjectSurvey, name: str) -> Iterator[str]:
    named = next((facts for _, facts in found.manifests if facts.name), None)
    about = found.readme or next((facts.purpose for _, facts in found.manifests if facts.purpose), "")
    title = named.name if named and named.name else name
    yield f"{title}: {about}" if about else title
    more = "" if found.whole else " at least (stopped at a bound; name a `path` for the rest)"
    yield f"{_count_files(found.files)}, {found.bytes / 1000:,.0f} kB{more}"


def _format_languages(found: ProjectSurvey) -> Iterator[str]:
    ranked = sorted(
        found.by_language, key=lambda name: (name in NON_CODE_LANGUAGES, -found.lines[name], name)
    )
    about = "~" if found.estimated else ""
    said = [
        f"{name} {_count_files(found.by_language[name])} {about}{found.lines[name]:,} lines"
        for name in ranked[:MAX_LANGUAGES]
    ]
    if said:
        yield "languages: " + "; ".join(said)


def _format_manifests(found: ProjectSurvey) -> Iterator[str]:
    if not found.manifests:
        yield "manifests: none"
        return
    yield "manifests: " + ", ".join(f"{path} ({facts.kind})" for path, facts in found.manifests)
    entries = dict.fromkeys(entry for _, facts in found.manifests for entry in facts.entries)
    if entries:
        yield "entry points: " + "; ".join(list(entries)[:MAX_LANGUAGES])
    tests = dict.fromkeys(facts.test for path, facts in found.manifests if facts.test and path.count("/") < 2)
    if tests:
        yield "test: " + "; ".join(tests)
    commands = dict.fromkeys(
        one for path, facts in found.manifests if path.count("/") < 2 for one in facts.commands
    )
    if commands:
        yield "build and run: " + "; ".join(list(commands)[:20])


def _count_files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
