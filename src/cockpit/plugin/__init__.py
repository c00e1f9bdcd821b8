"""The door to capabilities: hookspecs, the values plugins register, and their discovery.

A plugin imports from here: `from cockpit.plugin import hookimpl`. Contracts only: nothing here does work.
"""

from pluggy import HookimplMarker

hookimpl = HookimplMarker("cockpit")
