"""Watches a root for changes on disk and notifies listeners: one watcher per root and event loop."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from cockpit.workspace.files.ignore_rules import (
    CACHE_FOLDERS,
    VCS_FOLDERS,
    RuleStack,
    list_folder,
    rules_above,
)

ChangeListener = Callable[[Sequence[str]], None]
DEBOUNCE_MS = 50
STEP_MS = 10
# Linux allows a user some 8,000 to 65,000 watches for all programs together.
MAX_FOLDERS = 4_000

_watchers: dict[tuple[int, str], "RootWatcher"] = {}


def watch_root(root: str, listener: ChangeListener) -> Callable[[], None]:
    """Call `listener` on the running loop with the absolute paths that changed. Returns a function that ends
    it.

    The home folder itself and folders above it are not watched. In a tree with more than 4,000 folders,
    ignored ones are skipped.
    """
    key = (id(asyncio.get_running_loop()), os.path.realpath(root))
    watcher = _watchers.get(key)
    if watcher is None:
        watcher = _watchers[key] = RootWatcher(key[1])
        watcher.start()
    watcher.listeners.append(listener)

    def end() -> None:
        if listener in watcher.listeners:
            watcher.listeners.remove(listener)
        if not watcher.listeners:
            watcher.stop()
            if _watchers.get(key) is watcher:
                del _watchers[key]

    return end


class RootWatcher:
    """The watcher of one root."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.listeners: list[ChangeListener] = []
        self._stop = asyncio.Event()
        self._over = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if not is_home_or_above(self.root):
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        self._stop.set()
        self._over.set()

    async def _run(self) -> None:
        """If no watcher can be started (no watches left, the root disappears) there is none: changes by our
        own tools are reported to the index anyway."""
        folders, recursive = await asyncio.to_thread(_folders_to_watch, self.root)
        while not self._stop.is_set():
            must_restart = False
            stop = self._over = threading.Event()
            async for batch in _change_batches(folders, recursive, stop):
                paths = sorted(path for path in batch if _is_watched(self.root, path))
                if paths:
                    self._notify(paths)
                if not recursive and await asyncio.to_thread(_has_folder, paths):
                    must_restart = True
                    break
            stop.set()
            if not must_restart:
                return
            folders, recursive = await asyncio.to_thread(_folders_to_watch, self.root)

    def _notify(self, paths: Sequence[str]) -> None:
        for listener in tuple(self.listeners):
            listener(paths)


async def _change_batches(
    folders: Sequence[str], recursive: bool, over: threading.Event
) -> AsyncIterator[set[str]]:
    """The paths that changed, batch by batch, until `over` is set.

    Runs in a thread from its import on: `watchfiles.awatch` adds every watch on the loop, which delayed each
    key by 0.2 s in a tree of 2,000 folders.
    """
    loop = asyncio.get_running_loop()
    batches: asyncio.Queue[set[str] | None] = asyncio.Queue()

    def give(batch: set[str] | None) -> None:
        # The loop may be closed by the time the watcher ends.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(batches.put_nowait, batch)

    def work() -> None:
        from watchfiles import watch as watching

        try:
            for changes in watching(
                *folders,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=over,
                recursive=recursive,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                give({path for _, path in changes})
        except (OSError, RuntimeError):
            pass
        finally:
            give(None)

    threading.Thread(target=work, name="cockpit-watch", daemon=True).start()
    while (batch := await batches.get()) is not None:
        yield batch


def is_home_or_above(root: str) -> bool:
    """Whether a root is the home folder or contains it: that is too much to watch."""
    home = os.path.realpath(Path.home())
    return root == home or home.startswith(root.rstrip(os.sep) + os.sep)


def _is_watched(root: str, path: str) -> bool:
    parts = path[len(root) :].replace(os.sep, "/").split("/")
    return not any(part in VCS_FOLDERS or part in CACHE_FOLDERS for part in parts)


def _has_folder(paths: Sequence[str]) -> bool:
    return any(Path(path).is_dir() for path in paths)


def _folders_to_watch(root: str) -> tuple[list[str], bool]:
    """The folders to watch, and whether recursively."""
    if not _has_more_folders(root, MAX_FOLDERS):
        return [root], True
    folders = [root]
    for folder in _walk_folders(root, rules_above(root, root)):
        folders.append(folder)
        if len(folders) >= MAX_FOLDERS:
            break
    return folders, False


def _has_more_folders(root: str, most: int) -> bool:
    """Whether a tree has more than `most` folders."""
    pending, count = [root], 0
    while pending and count <= most:
        count += 1
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return count > most


def _walk_folders(folder: str, above: RuleStack) -> Iterator[str]:
    entries, levels = list_folder(folder, above, False)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield entry.path
            yield from _walk_folders(entry.path, levels)
