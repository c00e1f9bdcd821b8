"""Where cockpit keeps its own files. `COCKPIT_HOME`, where set, holds all of them.

Functions, not constants: the environment is read when they are called. Nothing is created here.
"""

import os
from pathlib import Path


def config() -> Path:
    """Settings, keymap, themes, trust: what a person may edit."""
    return _under("config")


def state() -> Path:
    """Sessions and logs: what cannot be made again."""
    return _under("state")


def data() -> Path:
    """Installed plugins and bundles: what a person asked for, and can have again."""
    return _under("data")


def cache() -> Path:
    """What can be made again."""
    return _under("cache")


def _under(kind: str) -> Path:
    home = os.environ.get("COCKPIT_HOME")
    if home:
        return Path(home) / kind
    from platformdirs import user_cache_dir, user_config_dir, user_data_dir, user_state_dir

    finders = {
        "config": user_config_dir,
        "state": user_state_dir,
        "cache": user_cache_dir,
        "data": user_data_dir,
    }
    return Path(finders[kind]("cockpit", appauthor=False))
