"""Names that a person types, and the nearest there are."""

import difflib
from collections.abc import Iterable

from cockpit.core.catalog import Catalog, PluginState
from cockpit.errors import CockpitError
from cockpit.installing.environment import normal


def unknown(kind: str, name: str, known: Iterable[str]) -> CockpitError:
    """The error for a name that nothing has."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = (
        f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}" if names else "there is none"
    )
    return CockpitError(f"there is no {kind} called {name}", hint)


def plugins_called(name: str, catalog: Catalog) -> list[PluginState]:
    """The plugins of that name, or of the distribution of that name. Raises `CockpitError` for none."""
    states = [one for one in catalog.plugins if one.found.name == name]
    states = states or [one for one in catalog.plugins if normal(one.found.distribution) == normal(name)]
    if not states:
        names = {one.found.name for one in catalog.plugins} | {
            one.found.distribution for one in catalog.plugins if not one.found.is_ours
        }
        raise unknown("plugin", name, names)
    return states
