"""Classifies a path of a command line or a tool call with the workspace's resolver.

Reads metadata only (links, hard links, kinds of files).
"""

import os

from cockpit.safety.values import ExecutionContext
from cockpit.workspace.resolver import Access, PathVerdict, Resolver, judge_windows_path
from cockpit.workspace.worktrees.values import origin_tree


def classify_path(path: str, access: Access, context: ExecutionContext) -> PathVerdict:
    """Classify `path` as written, relative to `context.cwd`. Raises nothing.

    `level` is allow, ask or deny; `sort` is the reason in one word. A Windows path on another platform is
    classified by its text alone.
    """
    if context.platform == "windows" and os.name != "nt":
        full = _from(path, context, windows=True)
        return judge_windows_path(full, access, context.root, context.home, context.own)
    return make_resolver(context).judge(_from(path, context), access)


def make_resolver(context: ExecutionContext) -> Resolver:
    """The resolver for a context."""
    return Resolver(context.root, "", context.home, context.own, origin_tree(context.root))


def _from(path: str, context: ExecutionContext, windows: bool = False) -> str:
    if not context.cwd or not path or path.startswith(("~", "/", "\\") if windows else ("~", "/")):
        return path
    return path if windows and path[1:2] == ":" else f"{context.cwd.rstrip('/')}/{path}"
