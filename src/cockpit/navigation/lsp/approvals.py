"""Which command lines of a project's own file a person said yes to. A file per root in the state folder;
the yes is for exactly that command, arguments, environment and folder, and for what stands in those
files of the project that the command line names. Called in worker threads."""

import hashlib
import json
from pathlib import Path

from cockpit.plugin.languages import LanguageServer
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically


def digest_of(root: str) -> str:
    """The name of a root's folder in the state folder."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def file_in(folder: Path) -> Path:
    """The file of yeses in a root's folder."""
    return folder / "allowed.json"


def fingerprint(server: LanguageServer, root: str) -> str:
    """What a yes is for."""
    files = [_content(root, word) for word in server.command]
    said = [list(server.command), sorted(server.environment.items()), server.folder, files]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def _content(root: str, word: str) -> str:
    """The digest of a file of the root that a word of a command line names; empty for other words."""
    try:
        real = Path(root, word).resolve()
        inside = real.is_relative_to(Path(root).resolve()) and real.is_file()
        return hashlib.sha256(plain.read_bytes(real, 1 << 30)).hexdigest() if inside else ""
    except (OSError, ValueError):
        return ""


def is_allowed(file: Path, server: LanguageServer, root: str) -> bool:
    """Whether a person said yes to it."""
    return fingerprint(server, root) in _load(file)


def allow(file: Path, server: LanguageServer, root: str) -> None:
    """Keep a person's yes. Raises OSError."""
    kept = {**_load(file), fingerprint(server, root): " ".join(server.command)}
    write_atomically(file, json.dumps(kept, indent=1).encode(), private=True)


def _load(file: Path) -> dict[str, str]:
    try:
        raw = json.loads(file.read_bytes())
    except (OSError, ValueError):
        # Without a readable file nobody said yes: the person is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
