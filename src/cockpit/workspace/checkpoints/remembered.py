"""What is known of a root, on disk: so that a next session need not read every file anew, and so that
after a crash one can still say what the call in the middle changed. One process at a time writes it."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias, cast

from cockpit.workspace.checkpoints.tree import File, Folder
from cockpit.workspace.checkpoints.values import Why
from cockpit.workspace.journal import locked

Facts: TypeAlias = tuple[int, int, int, int, int, str, Why, bool]
ADDED_AT_MOST = 20_000
"""Lines after which the file is written whole again."""


class Remembered:
    """The file `known.jsonl` in `folder`; `take` it first."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "known.jsonl"
        self._lock_path = folder / "known.lock"
        self._lock: int | None = None
        self._added = 0

    def take(self) -> bool:
        """Whether this process may write; another one keeps what it knows in memory."""
        if self._lock is None:
            file = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            if not locked(file):
                os.close(file)
                return False
            self._lock = file
        return True

    def load(self) -> Folder | None:
        """What was known, or None. A torn end is what a crash left: the lines before it hold."""
        tree = Folder()
        try:
            with self._path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    _take(tree, json.loads(line))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, IndexError):
            return None
        return tree

    def write(self, tree: Folder) -> None:
        """All of it, anew."""
        if self._lock is None:
            return
        temp = self._path.with_suffix(".new")
        with open(temp, "wb", opener=_private) as file:
            file.writelines(_line([name]) for name in tree.walk_folders())
            file.writelines(_line([name, *one]) for name, one in tree.walk())
        os.replace(temp, self._path)
        self._added = 0

    def add(self, tree: Folder, changed: Iterable[tuple[str, File | None]]) -> None:
        """These are different now."""
        lines = [_line([name, *one] if one is not None else [name, None]) for name, one in changed]
        if self._lock is None or not lines:
            return
        self._added += len(lines)
        if self._added > ADDED_AT_MOST:
            self.write(tree)
            return
        with open(self._path, "ab", opener=_private) as file:
            file.write(b"".join(lines))

    def ids(self) -> set[str]:
        """The ids that are named on disk."""
        tree = self.load()
        return {file.id for _, file in tree.walk()} if tree is not None else set()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _take(tree: Folder, line: list[object]) -> None:
    name = str(line[0])
    if len(line) == 1:
        tree.at(name.split("/"))
    elif line[1] is None:
        tree.put(name, None)
    else:
        tree.put(name, File(*cast("Facts", line[1:])))


def _line(value: list[object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
