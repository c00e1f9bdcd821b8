"""Finds the program of a server, and stores which command lines of a project's own file the user approved.

An approval is for exactly that command, arguments, environment and folder, and for the content of those files
of the project that the command line names. It is stored in one file per root in the state folder. Called in
worker threads; starts nothing.
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
    """The argv of `command` with the program's absolute path; empty if it is not installed.

    A trusted root's own programs come first, because it may pin the version; then PATH, then the folder of
    this Python, where the extra `python` installs ty and ruff.
    """
    if not command:
        return ()
    program, *rest = command
    if len(Path(program).parts) > 1:
        # A path, either absolute or in the project, whose programs run only if it is trusted.
        is_allowed = trusted or Path(program).is_absolute()
        named = shutil.which(str(Path(root, program))) if is_allowed else None
        return (named, *rest) if named else ()
    project_folders = PROJECT_FOLDERS_WINDOWS if platform == "win32" else PROJECT_FOLDERS
    folders = [str(Path(root, folder)) for folder in project_folders] if trusted else []
    search = (environ if environ is not None else dict(os.environ)).get("PATH", os.defpath)
    folders += [folder for folder in search.split(os.pathsep) if Path(folder).is_absolute()]
    folders.append(str(Path(sys.executable).parent))
    program_path = shutil.which(program, path=os.pathsep.join(folders))
    return (program_path, *rest) if program_path else ()


def root_digest(root: str) -> str:
    """The name of a root's folder in the state folder."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def approvals_file(folder: Path) -> Path:
    """The file of approvals in a root's folder."""
    return folder / "allowed.json"


def command_fingerprint(server: LanguageServer, root: str) -> str:
    """Identifies what an approval is for."""
    files = [_file_digest(root, word) for word in server.command]
    identity = [list(server.command), sorted(server.environment.items()), server.folder, files]
    return hashlib.sha256(json.dumps(identity).encode("utf-8", "surrogatepass")).hexdigest()


def _file_digest(root: str, word: str) -> str:
    """The digest of a file of the root that a word of a command line names; empty for other words."""
    try:
        real = Path(root, word).resolve()
        inside = real.is_relative_to(Path(root).resolve()) and real.is_file()
        return hashlib.sha256(file_io.read_bytes(real, 1 << 30)).hexdigest() if inside else ""
    except (OSError, ValueError):
        return ""


def is_approved(file: Path, server: LanguageServer, root: str) -> bool:
    """Whether the user approved the server's command line."""
    return command_fingerprint(server, root) in _load_approvals(file)


def approve(file: Path, server: LanguageServer, root: str) -> None:
    """Store the user's approval. Raises OSError."""
    approvals = {**_load_approvals(file), command_fingerprint(server, root): " ".join(server.command)}
    write_atomically(file, json.dumps(approvals, indent=1).encode(), private=True)


def _load_approvals(file: Path) -> dict[str, str]:
    try:
        raw = json.loads(file.read_bytes())
    except (OSError, ValueError):
        # Without a readable file nothing is approved: the user is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
