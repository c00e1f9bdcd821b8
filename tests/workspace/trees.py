"""Trees on disk as values, for comparing them before and after."""

import os
import stat
from pathlib import Path


def tree(root: Path) -> dict[str, tuple[bytes | None, int]]:
    """Every file (bytes, mode) and folder (None, 0) below `root`."""
    found: dict[str, tuple[bytes | None, int]] = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), root) + "/"] = (None, 0)
        for name in files:
            path = os.path.join(folder, name)
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            found[os.path.relpath(path, root)] = (Path(path).read_bytes(), mode)
    return found


def grow(root: Path, files: dict[str, bytes | str]) -> None:
    """Make these files."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
