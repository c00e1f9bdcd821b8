"""Which folders the user trusts, by real path. Ignores what git or the folder itself claims."""

import json
import os
from pathlib import Path

from cockpit import paths
from cockpit.settings.file_io import write_atomically


def is_trusted(root: str) -> bool | None:
    """The user's answer for the real path of `root`; None if they were never asked."""
    return _load_answers().get(os.path.realpath(root))


def save_trust(root: str, trusted: bool) -> None:
    """Store the user's answer for the real path of `root`."""
    answers = _load_answers() | {os.path.realpath(root): trusted}
    write_atomically(_trust_file(), json.dumps(answers, indent=1, sort_keys=True).encode(), private=True)


def _trust_file() -> Path:
    return paths.config() / "trust.json"


def _load_answers() -> dict[str, bool]:
    try:
        raw = json.loads(_trust_file().read_bytes())
    except (OSError, ValueError):
        # Without a readable file nothing is trusted: the user is asked again.
        return {}
    if not isinstance(raw, dict):
        return {}
    return {path: value for path, value in raw.items() if isinstance(value, bool)}
