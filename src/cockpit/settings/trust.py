"""Which folders a person trusts, by real path. Never asks what git or the folder itself says."""

import json
import os
from pathlib import Path

from cockpit import paths
from cockpit.settings.atomic import write_atomically


def is_trusted(root: str) -> bool | None:
    """What was answered for the real path of `root`, or None when nobody was asked."""
    return _load().get(os.path.realpath(root))


def keep(root: str, trusted: bool) -> None:
    """Remember the answer for the real path of `root`."""
    answers = _load() | {os.path.realpath(root): trusted}
    write_atomically(_file(), json.dumps(answers, indent=1, sort_keys=True).encode(), private=True)


def _file() -> Path:
    return paths.config() / "trust.json"


def _load() -> dict[str, bool]:
    try:
        raw = json.loads(_file().read_bytes())
    except (OSError, ValueError):
        # Without a readable file nothing is trusted: the person is asked again.
        return {}
    if not isinstance(raw, dict):
        return {}
    return {path: value for path, value in raw.items() if isinstance(value, bool)}
