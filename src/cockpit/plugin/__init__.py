"""The plugin API: hookspecs, the values that plugins register, and plugin discovery.

Plugins import from here: `from cockpit.plugin import hookimpl`. Start with `hookspecs`, then `values` and
`tools`. Contracts only: nothing here does work. Must not import `core`, `workspace` or any built-in.
"""

from pluggy import HookimplMarker

hookimpl = HookimplMarker("cockpit")
