"""What a survey found, in lines. Loaded with the first call."""

from collections.abc import Iterator

from cockpit.builtin.project_map import ProjectMap, survey
from cockpit.builtin.project_map.languages import NOT_CODE
from cockpit.builtin.project_map.survey import Survey
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, ToolFailed

FOLDERS = 40
LANGUAGES = 12


async def describe(arguments: ProjectMap, context: Context) -> Done:
    path = arguments.path.strip() or "."
    try:
        found = await survey.survey(path, max(1, min(arguments.depth, 6)), context.workspace.files)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; `list` shows what does") from error
    if not found.files:
        return Done("no files here (ignored and hidden ones are not counted)")
    # A root without a name of its own has its folder's.
    name = context.workspace.root.replace("\\", "/").rstrip("/").rpartition("/")[2] if path == "." else path
    return Done("\n".join(_lines(found, name)))


def _lines(found: Survey, name: str) -> Iterator[str]:
    yield from _heading(found, name)
    yield from _languages(found)
    yield from _manifests(found)
    if found.folders:
        yield "folders:"
        for folder in sorted(found.folders)[:FOLDERS]:
            purpose = f": {found.purposes[folder]}" if folder in found.purposes else ""
            indent = "  " * (folder.count("/") + 1)
            yield f"{indent}{folder.rsplit('/', 1)[-1]}/ ({_files(found.folders[folder])}){purpose}"
        if (more := len(found.folders) - FOLDERS) > 0:
            yield f"  ... and {more} more; ask for one by `path`"
    if found.largest:
        yield "biggest files:"
        yield from (f"  {name} ({size / 1000:.1f} kB)" for size, name in found.largest)


def _heading(found: Survey, name: str) -> Iterator[str]:
    named = next((facts for _, facts in found.manifests if facts.name), None)
    about = found.readme or next((facts.purpose for _, facts in found.manifests if facts.purpose), "")
    title = named.name if named and named.name else name
    yield f"{title}: {about}" if about else title
    more = "" if found.whole else " at least (stopped at a bound; name a `path` for the rest)"
    yield f"{_files(found.files)}, {found.bytes / 1000:,.0f} kB{more}"


def _languages(found: Survey) -> Iterator[str]:
    ranked = sorted(found.by_language, key=lambda name: (name in NOT_CODE, -found.lines[name], name))
    about = "~" if found.estimated else ""
    said = [
        f"{name} {_files(found.by_language[name])} {about}{found.lines[name]:,} lines"
        for name in ranked[:LANGUAGES]
    ]
    if said:
        yield "languages: " + "; ".join(said)


def _manifests(found: Survey) -> Iterator[str]:
    if not found.manifests:
        yield "manifests: none"
        return
    yield "manifests: " + ", ".join(f"{path} ({facts.kind})" for path, facts in found.manifests)
    entries = dict.fromkeys(entry for _, facts in found.manifests for entry in facts.entries)
    if entries:
        yield "entry points: " + "; ".join(list(entries)[:LANGUAGES])
    tests = dict.fromkeys(facts.test for path, facts in found.manifests if facts.test and path.count("/") < 2)
    if tests:
        yield "test: " + "; ".join(tests)
    commands = dict.fromkeys(
        one for path, facts in found.manifests if path.count("/") < 2 for one in facts.commands
    )
    if commands:
        yield "build and run: " + "; ".join(list(commands)[:20])


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
