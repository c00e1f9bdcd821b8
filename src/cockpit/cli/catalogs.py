"""What is registered for a folder, for the commands that only look: nothing of it is started."""

import os
from pathlib import Path

from cockpit.core.catalog import Catalog, build
from cockpit.errors import CockpitError
from cockpit.plugin.discovery import load
from cockpit.settings import files, trust


def catalog_of(root: str, trusted: bool | None = None) -> Catalog:
    """What is registered for `root` now; `trusted` None: as the person has said."""
    trusted = is_trusted(root) if trusted is None else trusted
    settings = files.load(root, trusted)
    manager, found = load(settings.words("plugins.disabled"))
    environment = files.environment(root, trusted)
    return build(manager, found, root, settings, environment, trusted, lambda: None)


def is_trusted(root: str) -> bool:
    """What the person has said of `root`."""
    return trust.is_trusted(root) is True


def folder_of(named: str) -> str:
    """The real path of a folder that was named on the command line. Raises `CockpitError`."""
    real = os.path.realpath(named or ".")
    if not Path(real).is_dir():
        raise CockpitError(f"{named} is no folder", "name a folder with --cwd")
    return real
