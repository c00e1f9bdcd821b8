"""The `project_map` tool: the languages, manifests, commands and folders of a project.

`survey` walks the project and `manifests` reads its build files; both are imported with the first call,
because registering the tool needs neither. This module formats the result.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

if TYPE_CHECKING:
    from cockpit.builtin.tools.project_map.survey import ProjectSurvey

MAX_FOLDERS = 40
MAX_LANGUAGES = 12
MAX_COMMANDS = 20


@dataclass(frozen=True, slots=True)
class ProjectMapArguments:
    path: str = "."
    depth: int = 2


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(ProjectMapArguments, arguments).path.strip() or "."
    return Preview(title=f"map {path}", paths=(context.workspace.resolve(path, "read"),))


async def describe_project(arguments: ProjectMapArguments, context: Context) -> Done:
    from cockpit.builtin.tools.project_map.survey import survey_project

    path = arguments.path.strip() or "."
    try:
        survey = await survey_project(path, max(1, min(arguments.depth, 6)), context.workspace.files)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; use `list` to see what does") from error
    if not survey.files:
        return Done("no files here (ignored and hidden files are not counted)")
    # The root is named after its folder.
    name = context.workspace.root.replace("\\", "/").rstrip("/").rpartition("/")[2] if path == "." else path
    return Done("\n".join(_format_survey(survey, name)))


def _format_survey(survey: "ProjectSurvey", name: str) -> Iterator[str]:
    yield from _format_heading(survey, name)
    yield from _format_languages(survey)
    yield from _format_manifests(survey)
    if survey.folders:
        yield "folders:"
        for folder in sorted(survey.folders)[:MAX_FOLDERS]:
            purpose = f": {survey.purposes[folder]}" if folder in survey.purposes else ""
            indent = "  " * (folder.count("/") + 1)
            yield f"{indent}{folder.rsplit('/', 1)[-1]}/ ({_count_files(survey.folders[folder])}){purpose}"
        if (more := len(survey.folders) - MAX_FOLDERS) > 0:
            yield f"  ... and {more} more; name one as `path` to see it"
    if survey.largest:
        yield "biggest files:"
        yield from (f"  {name} ({size / 1000:.1f} kB)" for size, name in survey.largest)


def _format_heading(survey: "ProjectSurvey", name: str) -> Iterator[str]:
    named = next((facts for _, facts in survey.manifests if facts.name), None)
    about = survey.readme or next((facts.purpose for _, facts in survey.manifests if facts.purpose), "")
    title = named.name if named and named.name else name
    yield f"{title}: {about}" if about else title
    more = "" if survey.whole else " at least (stopped at a limit; name a `path` for the rest)"
    yield f"{_count_files(survey.files)}, {survey.bytes / 1000:,.0f} kB{more}"


def _format_languages(survey: "ProjectSurvey") -> Iterator[str]:
    from cockpit.builtin.tools.project_map.survey import NON_CODE_LANGUAGES

    ranked = sorted(
        survey.by_language, key=lambda name: (name in NON_CODE_LANGUAGES, -survey.lines[name], name)
    )
    about = "~" if survey.estimated else ""
    rows = [
        f"{name} {_count_files(survey.by_language[name])} {about}{survey.lines[name]:,} lines"
        for name in ranked[:MAX_LANGUAGES]
    ]
    if rows:
        yield "languages: " + "; ".join(rows)


def _format_manifests(survey: "ProjectSurvey") -> Iterator[str]:
    if not survey.manifests:
        yield "manifests: none"
        return
    yield "manifests: " + ", ".join(f"{path} ({facts.kind})" for path, facts in survey.manifests)
    entries = dict.fromkeys(entry for _, facts in survey.manifests for entry in facts.entries)
    if entries:
        yield "entry points: " + "; ".join(list(entries)[:MAX_LANGUAGES])
    tests = dict.fromkeys(
        facts.test for path, facts in survey.manifests if facts.test and path.count("/") < 2
    )
    if tests:
        yield "test: " + "; ".join(tests)
    commands = dict.fromkeys(
        command for path, facts in survey.manifests if path.count("/") < 2 for command in facts.commands
    )
    if commands:
        yield "build and run: " + "; ".join(list(commands)[:MAX_COMMANDS])


def _count_files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


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
