"""`hooks`: what Claude Code, Codex, crush and our own files say should run at the points of a session.

Each hook is a guard of its own, with the file and line it stands in. No hook loosens anything: its deny
and ask count, its allow does not (docs/hooks-of-files.md). Where there are no hooks, only their files are
looked for.
"""

from pathlib import Path

from cockpit.formats.bundles import list_bundles
from cockpit.formats.hook_files import list_hook_files, read_hook_files
from cockpit.formats.hooks import HookSet
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope
from cockpit.settings import files


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    found = load_hooks(scope)
    if found.hooks or found.unloaded:
        from cockpit.builtin.files.hooks.guards import register_hooks

        register_hooks(register, scope, found)


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    if any(hook.in_background for hook in load_hooks(scope).hooks):
        from cockpit.builtin.files.hooks.guards import register_late_output

        register_late_output(register, scope)


def load_hooks(scope: Scope) -> HookSet:
    """Every hook that is written down for a root and not switched off (`hooks.disabled`)."""
    root, home = Path(scope.root), Path.home()
    bundles = (file for one in list_bundles(home, root) for file in one.hooks)
    found = read_hook_files((*list_hook_files(root, scope.trusted, home), *bundles))
    off = files.load_settings(scope.root, scope.trusted).words("hooks.disabled") if found.hooks else ()
    return found.without(off, scope.root)
