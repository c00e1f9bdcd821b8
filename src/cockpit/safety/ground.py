"""The ground a line is judged on, as this machine is: folders, the repository, the rules in force. Looks,
runs nothing."""

import os
import sys
from pathlib import Path

from cockpit import paths
from cockpit.safety.rules import RuleSet, load
from cockpit.safety.values import Ground


def ground_of(root: str, cwd: str = "", held: bool = False, home: str = "", reads_git: bool = True) -> Ground:
    """The ground for `root`, a real folder. `held`: a full sandbox is there; `home` "" is the user's.
    `reads_git` False opens none of the repository's configuration: then a reader of git asks."""
    from cockpit.safety.bash.repository import git_is_plain

    return Ground(
        root=root,
        home=os.path.realpath(home or Path.home()),
        cwd=cwd,
        own=own_folders(),
        git_is_plain=reads_git and git_is_plain(root),
        sandbox=held,
        platform="windows" if sys.platform == "win32" else "posix",
    )


def own_folders() -> tuple[str, ...]:
    """Where cockpit keeps its own files, as real paths."""
    return tuple(os.path.realpath(folder) for folder in (paths.config(), paths.state(), paths.cache()))


def rules_in_force(root: str, trusted: bool) -> RuleSet:
    """The built-in rules with the person's, and those of a trusted folder. Raises `SettingsInvalid`."""
    project = Path(root) / ".cockpit" / "policy.yaml" if trusted else None
    return load(paths.config() / "policy.yaml", project)
