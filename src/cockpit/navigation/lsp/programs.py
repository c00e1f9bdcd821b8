"""Where the program of a server is. Reads folders; starts nothing."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

PROJECT = (".venv/bin", "venv/bin", "node_modules/.bin")
PROJECT_WINDOWS = (".venv/Scripts", "venv/Scripts", "node_modules/.bin")


def found(
    command: Sequence[str],
    root: str,
    trusted: bool,
    environ: dict[str, str] | None = None,
    platform: str = sys.platform,
) -> tuple[str, ...]:
    """The argv of `command` with the program's absolute path, empty where it is not installed.

    A trusted root's own programs come first: it may pin the version. Then PATH, then beside this Python:
    there the extra `python` installs ty and ruff.
    """
    if not command:
        return ()
    program, *rest = command
    if len(Path(program).parts) > 1:
        # A path: absolute, or of the project, whose programs run only when it is trusted.
        may = trusted or Path(program).is_absolute()
        named = shutil.which(str(Path(root, program))) if may else None
        return (named, *rest) if named else ()
    own = PROJECT_WINDOWS if platform == "win32" else PROJECT
    folders = [str(Path(root, one)) for one in own] if trusted else []
    search = (environ if environ is not None else dict(os.environ)).get("PATH", os.defpath)
    folders += [one for one in search.split(os.pathsep) if Path(one).is_absolute()]
    folders.append(str(Path(sys.executable).parent))
    path_found = shutil.which(program, path=os.pathsep.join(folders))
    return (path_found, *rest) if path_found else ()
