"""`hooks`: runs the hooks that files of Claude Code, Codex, crush and cockpit declare.

Start with `guards.py`: each hook becomes a guard that names its file and line. A hook can deny or ask,
never allow. Without hooks, only their files are looked for.
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
    hook_set = load_hooks(scope)
    if hook_set.hooks or hook_set.unloaded:
        from cockpit.builtin.files.hooks.guards import register_hooks

        register_hooks(register, scope, hook_set)


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    if any(hook.in_background for hook in load_hooks(scope).hooks):
        from cockpit.builtin.files.hooks.guards import register_late_output

        register_late_output(register, scope)


def load_hooks(scope: Scope) -> HookSet:
    """Load every hook declared for a root, without those that `hooks.disabled` switches off."""
    root, home = Path(scope.root), Path.home()
    bundle_files = (file for bundle in list_bundles(home, root) for file in bundle.hooks)
    hook_set = read_hook_files((*list_hook_files(root, scope.trusted, home), *bundle_files))
    if not hook_set.hooks:
        return hook_set
    settings = files.load_settings(scope.root, scope.trusted)
    return hook_set.without(settings.words("hooks.disabled"), scope.root)
