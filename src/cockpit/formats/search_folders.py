"""Where people keep files for agents: our folders and those of the agents they came from.

The project's are looked for from the root up to the top of its repository, the nearest first; never in
the home folder or above, which is the user's. Only folders are named here; nothing is read.
"""

from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.plugin.origin import Layer


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """One folder that may hold files of a kind. `family` is the agent it belongs to: `cockpit`, `claude`,
    `agents`, `opencode`, `gemini`, `codex`."""

    folder: Path
    layer: Layer
    family: str


def find_repository_top(root: Path, home: Path) -> Path:
    """The repository's top, `root` where there is none; never the home folder or above."""
    for folder in (root, *root.parents):
        if folder == home or folder == Path(folder.anchor):
            return root
        if (folder / ".git").exists():
            return folder
    return root


def list_folders_upward(root: Path, home: Path) -> tuple[Path, ...]:
    """`root` and the folders above it up to the repository's top, the nearest first."""
    top = find_repository_top(root, home)
    return (root, *(parent for parent in root.parents if parent.is_relative_to(top)))


def list_search_folders(
    root: Path,
    trusted: bool,
    home: Path,
    project: tuple[tuple[str, str], ...],
    user: tuple[tuple[str, str], ...],
) -> tuple[SearchFolder, ...]:
    """The folders of one kind, the strongest first: a name in an earlier one hides it in a later.

    `project` and `user` are pairs of a family and a folder (relative to a folder of the project, to the
    home folder), the strongest first. In a project the nearest folder wins before the family does. A
    folder that is not trusted has no places. Our own user's files come before all other user's.
    """
    found: list[SearchFolder] = []
    if trusted:
        for folder in list_folders_upward(root, home):
            found += [SearchFolder(folder / name, "project", family) for family, name in project]
    for family, name in user:
        base = paths.config() if family == "cockpit" else home
        found.append(SearchFolder(base / name, "user", family))
    return tuple(found)
