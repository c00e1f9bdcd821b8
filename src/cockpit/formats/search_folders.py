"""Where definition files are searched: cockpit's own folders and those of other agents.

Project folders are searched from the root up to the top of the repository, the nearest first, never in or
above the home folder.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cockpit import paths
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded

T = TypeVar("T")
MAX_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """A folder that may contain definition files. `family` is the agent it belongs to: `cockpit`, `claude`,
    `agents`, `opencode`, `gemini`, `codex` or `crush`."""

    folder: Path
    layer: Layer
    family: str


def project_folders(kind: str) -> tuple[tuple[str, str], ...]:
    """The folders for `kind` (`skills`, `agents`, `commands`) in a project with their family, strongest
    first."""
    return (
        *((family, f".{family}/{kind}") for family in ("cockpit", "claude", "agents", "opencode")),
        ("opencode", f".opencode/{kind.removesuffix('s')}"),
        ("gemini", f".gemini/{kind}"),
    )


def user_folders(kind: str) -> tuple[tuple[str, str], ...]:
    """The folders for `kind` in the home folder; cockpit's is in its settings folder."""
    return (
        ("cockpit", kind),
        ("claude", f".claude/{kind}"),
        ("agents", f".agents/{kind}"),
        *((("agents", f".config/agents/{kind}"),) if kind != "commands" else ()),
        ("opencode", f".config/opencode/{kind}"),
        ("opencode", f".config/opencode/{kind.removesuffix('s')}"),
        ("gemini", f".gemini/{kind}"),
    )


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


def read_definitions(
    folders: Iterable[SearchFolder],
    find: Callable[[SearchFolder], Iterable[tuple[Path, str]]],
    read: Callable[[Path, str, SearchFolder], T],
    top: Path | None,
    kind: str,
) -> Iterator[T | Unloaded]:
    """Read every file that `find` lists with its name, each file once, however many links lead to it.

    A project's file that is a link to somewhere outside `top` is refused.
    """
    visited: set[str] = set()
    for place in folders:
        for path, name in find(place):
            real = os.path.realpath(path)
            if real in visited:
                continue
            visited.add(real)
            is_inside = top is None or Path(real).is_relative_to(os.path.realpath(top))
            if is_inside or place.layer != "project":
                yield read(path, name, place)
            else:
                remedy = f"copy the file here, or put it into ~/.claude/{kind}"
                reason = f"it is a link to {real}, outside the project"
                yield refuse_file(path, name, place.layer, reason, remedy)


def refuse_file(
    path: Path | str, name: str, layer: Layer, reason: str, remedy: str, line: int = 0
) -> Unloaded:
    """A file that gives no value, for one reason."""
    fault = FileProblem(str(path), line, reason, remedy)
    return Unloaded(name, Origin(str(path), layer, refused=(fault,)))


def scan_folder(folder: Path) -> list[os.DirEntry[str]]:
    """The first 1,000 entries of a folder, sorted by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)[:MAX_ENTRIES]
    except OSError:
        return []
