"""Where definition files are searched: cockpit's own folders and those of other agents.

Project folders are searched from the root up to the top of the repository, the nearest first, never in or
above the home folder. Only names folders; reads nothing.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """A folder that may contain definition files. `family` is the agent it belongs to: `cockpit`, `claude`,
    `agents`, `opencode`, `gemini`, `codex` or `crush`."""

    folder: Path
    layer: Layer
    family: str


def find_repository_top(root: Path, home: Path) -> Path:
    """The top of the repository, or `root` if there is none; never the home folder or above."""
    for folder in (root, *root.parents):
        if folder == home or folder == Path(folder.anchor):
            return root
        if (folder / ".git").exists():
            return folder
    return root


def list_folders_upward(root: Path, home: Path) -> tuple[Path, ...]:
    """`root` and its parents up to the top of the repository, the nearest first."""
    top = find_repository_top(root, home)
    return (root, *(parent for parent in root.parents if parent.is_relative_to(top)))


def list_search_folders(
    root: Path,
    trusted: bool,
    home: Path,
    project: tuple[tuple[str, str], ...],
    user: tuple[tuple[str, str], ...],
) -> tuple[SearchFolder, ...]:
    """The folders for one kind of definition, strongest first: an earlier folder hides names in later ones.

    `project` and `user` are pairs of family and relative folder, strongest first. In a project the nearest
    folder wins, then the family. A project that is not trusted has no folders of its own. cockpit's user
    folder comes before those of other agents.
    """
    folders: list[SearchFolder] = []
    if trusted:
        for folder in list_folders_upward(root, home):
            folders += [SearchFolder(folder / name, "project", family) for family, name in project]
    for family, name in user:
        base = paths.config() if family == "cockpit" else home
        folders.append(SearchFolder(base / name, "user", family))
    return tuple(folders)


def refuse_outside_link(
    path: Path, name: str, place: SearchFolder, top: Path | None, kind: str
) -> Unloaded | None:
    """The refusal of a project's file that is a link to somewhere outside `top`; None for any other file."""
    real = os.path.realpath(path)
    if place.layer != "project" or top is None or Path(real).is_relative_to(os.path.realpath(top)):
        return None
    remedy = f"copy the file here, or put it into ~/.claude/{kind}"
    fault = FileProblem(str(path), 0, f"it is a link to {real}, outside the project", remedy)
    return Unloaded(name, Origin(str(path), place.layer, refused=(fault,)))
