"""The files of a root that no rule names, as values. Beside `ignores`, which the index's process needs alone
and at once: what a `FileEntry` stands on takes it 20 ms to import."""

import os
from collections.abc import Iterator

from cockpit.plugin.workspace import FileEntry
from cockpit.workspace.ignores import Levels, children, levels_above


def walk_files(root: str, start: str = ".", hidden: bool = False) -> Iterator[FileEntry]:
    """Every file and link below `start` that no rule names, sorted by path part by part.

    For worker threads: it blocks. `root` and `start` are real paths (`start` may be relative to the
    root). `hidden` brings in names with a leading dot. A folder that cannot be read is left out.
    """
    folder = os.path.normpath(os.path.join(root, start))
    yield from _walk(folder, prefix_of(folder, root), levels_above(root, folder), hidden)


def prefix_of(folder: str, root: str) -> str:
    """What stands before the names in `folder`: relative to the root, absolute outside of it."""
    if folder == root:
        return ""
    if folder.startswith(root.rstrip(os.sep) + os.sep):
        return os.path.relpath(folder, root).replace(os.sep, "/") + "/"
    return folder.replace(os.sep, "/").rstrip("/") + "/"


def _walk(folder: str, prefix: str, levels: Levels, hidden: bool) -> Iterator[FileEntry]:
    found, levels = children(folder, levels, hidden)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/", levels, hidden)
        elif (file := entry_of(entry, prefix)) is not None:
            yield file


def entry_of(entry: os.DirEntry[str], prefix: str) -> FileEntry | None:
    """`entry` as a value, or None when it is gone meanwhile."""
    try:
        facts = entry.stat(follow_symlinks=False)
        path = prefix + entry.name
        if entry.is_symlink():
            return FileEntry(path, "link", facts.st_size, facts.st_mtime)
        if entry.is_dir(follow_symlinks=False):
            return FileEntry(path, "folder", 0, facts.st_mtime)
        kind = entry.is_file(follow_symlinks=False)
        return FileEntry(path, "file" if kind else "other", facts.st_size, facts.st_mtime)
    except OSError:
        return None
