"""Which files of a folder are looked at for problems: those a server reads, what changed last first."""

from collections.abc import Sequence

from cockpit.navigation import problems
from cockpit.navigation.languages import language_of
from cockpit.navigation.life import Sources
from cockpit.plugin.languages import Language
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import ProblemRows

MOST = 50


async def problems_of(
    live: Sources, workspace: Workspace, paths: tuple[str, ...], patience: float
) -> ProblemRows:
    """Diagnostics of `paths`; of a folder among them those of its files, and how many that were."""
    folders = [path for path in paths if await _is_folder(workspace, path)]
    if live.servers is None or not folders:
        return await problems.problems(live, paths, patience)
    files: dict[str, str] = {}
    for folder in folders:
        files.update(await served(workspace, live.languages, folder))
    silent, mute = await _mute(live, files, patience)
    readable = [path for path, language in files.items() if language not in mute]
    chosen = tuple(readable[:MOST])
    others = tuple(path for path in paths if path not in folders)
    found = await problems.problems(live, (*others, *chosen), patience) if others or chosen else None
    said = _said(len(chosen), len(readable)) if readable or not files else "no file looked at"
    notes = [said, *silent, *filter(None, [found.note if found else ""])]
    complete = len(chosen) == len(readable) and (found is None or found.complete)
    return ProblemRows(found.rows if found else (), complete, "; ".join(dict.fromkeys(notes)))


async def served(workspace: Workspace, languages: Sequence[Language], folder: str) -> dict[str, str]:
    """The files below a folder that some server reads, what changed last first, each with its language."""
    found: list[tuple[float, str, str]] = []
    async for entry in workspace.files.walk(folder):
        language = language_of(entry.path, languages)
        if entry.kind == "file" and language is not None and language.servers:
            found.append((-entry.modified, entry.path, language.name))
    return {path: name for _, path, name in sorted(found)}


async def _mute(live: Sources, files: dict[str, str], patience: float) -> tuple[list[str], set[str]]:
    """The languages for which no server is there, told by one file of each; and why."""
    firsts: dict[str, str] = {}
    for path, language in files.items():
        firsts.setdefault(language, path)
    reasons: list[str] = []
    mute: set[str] = set()
    for language, path in firsts.items():
        asked = await problems.silence(live, path, patience)
        if asked:
            reasons.append(asked)
            mute.add(language)
    return reasons, mute


def _said(count: int, known: int) -> str:
    if not known:
        return "no file looked at: no language server reads what is here"
    files = "1 file" if count == 1 else f"{count} files"
    return f"{files} looked at" if count == known else f"{files} looked at of {known}; name a path for others"


async def _is_folder(workspace: Workspace, path: str) -> bool:
    try:
        return (await workspace.files.stat(path)).kind == "folder"
    except (OSError, PathRefused):
        return False
