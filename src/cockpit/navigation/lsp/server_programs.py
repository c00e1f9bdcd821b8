"""Where the program of a server is. Reads folders; starts nothing.

Which command lines of a project's own file a person said yes to. A file per root in the state folder;
the yes is for exactly that command, arguments, environment and folder, and for what stands in those
files of the project that the command line names. Called in worker threads.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.plugin.languages import LanguageServer
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically

PROJECT_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
PROJECT_FOLDERS_WINDOWS = (".venv/Scripts", "venv/Scripts", "node_modules/.bin")


def find_program(
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
    own = PROJECT_FOLDERS_WINDOWS if platform == "win32" else PROJECT_FOLDERS
    folders = [str(Path(root, one)) for one in own] if trusted else []
    search = (environ if environ is not None else dict(os.environ)).get("PATH", os.defpath)
    folders += [one for one in search.split(os.pathsep) if Path(one).is_absolute()]
    folders.append(str(Path(sys.executable).parent))
    path_found = shutil.which(program, path=os.pathsep.join(folders))
    return (path_found, *rest) if path_found else ()


def root_digest(root: str) -> str:
    """The name of a root's folder in the state folder."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def approvals_file(folder: Path) -> Path:
    """The file of yeses in a root's folder."""
    return folder / "allowed.json"


def command_fingerprint(server: LanguageServer, root: str) -> str:
    """What a yes is for."""
    files = [_file_digest(root, word) for word in server.command]
    said = [list(server.command), sorted(server.environment.items()), server.folder, files]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def _file_digest(root: str, word: str) -> str:
    """The digest of a file of the root that a word of a command line names; empty for other words."""
    try:
        real = Path(root, word).resolve()
        inside = real.is_relative_to(Path(root).resolve()) and real.is_file()
        return hashlib.sha256(file_io.read_bytes(real, 1 << 30)).hexdigest() if inside else ""
    except (OSError, ValueError):
        return ""


def is_approved(file: Path, server: LanguageServer, root: str) -> bool:
    """Whether a person said yes to it."""
    return command_fingerprint(server, root) in _load_approvals(file)


def approve(file: Path, server: LanguageServer, root: str) -> None:
    """Keep a person's yes. Raises OSError."""
    kept = {**_load_approvals(file), command_fingerprint(server, root): " ".join(server.command)}
    write_atomically(file, json.dumps(kept, indent=1).encode(), private=True)


def _load_approvals(file: Path) -> dict[str, str]:
    try:
        raw = json.loads(file.read_bytes())
    except (OSError, ValueError):
        # Without a readable file nobody said yes: the person is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
