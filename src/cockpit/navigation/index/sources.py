"""Which files of a root are sources: the walk that reads names, sizes and times, and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

from cockpit.navigation.index.grammars import Readers
from cockpit.workspace.ignores import Levels, children, is_ignored, levels_above

MOST_FILES = 100_000


def walk_sources(root: str, readers: Readers, start: str = "") -> Iterator[tuple[str, int, int]]:
    """Path (relative, with `/`), mtime in ns and size of every file that has a language and no rule
    against it. The first 100,000. Follows no link."""
    folder = f"{root}/{start}" if start else root
    prefix = f"{start}/" if start else ""
    for count, found in enumerate(_walk(folder, prefix, levels_above(root, folder), readers)):
        if count >= MOST_FILES:
            return
        yield found


def _walk(folder: str, prefix: str, above: Levels, readers: Readers) -> Iterator[tuple[str, int, int]]:
    entries, levels = children(folder, above, False)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/", levels, readers)
        elif readers.candidates(entry.name) and entry.is_file(follow_symlinks=False):
            try:
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield prefix + entry.name, stat.st_mtime_ns, stat.st_size


def relative(root: str, path: str) -> str:
    """`path` relative to the root with `/`; empty for the root and for what lies outside."""
    real = os.path.normpath(Path(root, path))
    if not real.startswith(root.rstrip(os.sep) + os.sep):
        return ""
    return real[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


def counts(root: str, path: str, readers: Readers) -> bool:
    """Whether a file of this path belongs in the index."""
    is_hidden = any(step.startswith(".") for step in path.split("/"))
    return not is_hidden and bool(readers.candidates(path)) and not is_ignored(root, path)
