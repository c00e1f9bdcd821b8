"""Which command lines of a project's own file a person said yes to. A file per root in the state folder;
the yes is for exactly that command, arguments, environment and folder. Called in worker threads."""

import hashlib
import json
from pathlib import Path

from cockpit.plugin.languages import LanguageServer
from cockpit.settings.atomic import write_atomically


def digest_of(root: str) -> str:
    """The name of a root's folder in the state folder."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def fingerprint(server: LanguageServer) -> str:
    """What a yes is for."""
    said = [list(server.command), sorted(server.environment.items()), server.folder]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def is_allowed(file: Path, server: LanguageServer) -> bool:
    """Whether a person said yes to it."""
    return fingerprint(server) in _load(file)


def allow(file: Path, server: LanguageServer) -> None:
    """Keep a person's yes. Raises OSError."""
    kept = {**_load(file), fingerprint(server): " ".join(server.command)}
    write_atomically(file, json.dumps(kept, indent=1).encode(), private=True)


def _load(file: Path) -> dict[str, str]:
    try:
        raw = json.loads(file.read_bytes())
    except (OSError, ValueError):
        # Without a readable file nobody said yes: the person is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
