"""What a path in a command line or a tool call is: one classifier over the workspace's one resolver.
Looks (links, hard links, kinds of files), opens nothing for writing, decides nothing that is not here."""

import os

from cockpit.safety.values import Ground
from cockpit.workspace.lettered import judge_windows
from cockpit.workspace.resolver import Access, Judged, Resolver
from cockpit.workspace.worktrees.names import tree_of


def classify(path: str, access: Access, ground: Ground) -> Judged:
    """What `path`, as written by somebody who stands in `ground.cwd`, is. Raises nothing.

    `level` is allow, ask or deny; `sort` says why in one word. On Windows by its letters alone where
    this is another platform.
    """
    if ground.platform == "windows" and os.name != "nt":
        named = _from(path, ground, windows=True)
        return judge_windows(named, access, ground.root, ground.home, ground.own)
    return resolver_of(ground).judge(_from(path, ground), access)


def resolver_of(ground: Ground) -> Resolver:
    """The resolver as a `Ground` describes it."""
    return Resolver(ground.root, "", ground.home, ground.own, tree_of(ground.root))


def _from(path: str, ground: Ground, windows: bool = False) -> str:
    if not ground.cwd or not path or path.startswith(("~", "/", "\\") if windows else ("~", "/")):
        return path
    return path if windows and path[1:2] == ":" else f"{ground.cwd.rstrip('/')}/{path}"
