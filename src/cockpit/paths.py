"""Where cockpit stores its own files. `COCKPIT_HOME`, if set, contains all of them.

These are functions because the environment is read when they are called. Nothing is created here.
"""

import os
from pathlib import Path


def config() -> Path:
    """Settings, keymap, themes, trust: files that a user may edit."""
    return _under("config")


def state() -> Path:
    """Sessions and logs: files that cannot be recreated."""
    return _under("state")


def data() -> Path:
    """Installed plugins and bundles: installed by the user, and can be installed again."""
    return _under("data")


def cache() -> Path:
    """Files that can be recreated."""
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
