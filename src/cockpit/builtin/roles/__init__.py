"""Who subagents can be: nine roles of our own, and those of people's files (docs/roles.md)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from cockpit.builtin.roles import doing, looking
from cockpit.errors import SettingsInvalid
from cockpit.formats.role_places import find, from_flag
from cockpit.formats.roles import Bounds
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import Role
from cockpit.plugin.origin import Fault, Origin, Unloaded
from cockpit.plugin.values import Register, Scope, Source
from cockpit.protocol.messages import MODES, Json, Mode
from cockpit.settings import files as settings_files

FLAG = "agents"


def shipped() -> tuple[Role, ...]:
    """Our own roles."""
    return (*looking.roles(), *doing.roles())


def of_files(scope: Scope) -> Iterable[Role | Unloaded]:
    """The roles of the machine, the project and the user."""
    bounds = bounds_of(scope)
    managed = settings_files.managed_file().parent / "agents"
    shared = managed if managed.is_absolute() else None
    yield from find(Path(scope.root), scope.trusted, Path.home(), bounds, shared)


def of_flag(scope: Scope) -> Iterable[Role | Unloaded]:
    """The roles of `--agents`."""
    said = scope.settings.get(FLAG)
    if said is None:
        return
    if isinstance(said, dict):
        yield from from_flag(cast("Mapping[str, Json]", said), bounds_of(scope))
        return
    fault = Fault("--agents", 0, "it is no JSON object", '{"name": {"description": "...", "prompt": "..."}}')
    yield Unloaded("--agents", Origin("--agents", "flags", refused=(fault,)))


def bounds_of(scope: Scope) -> Bounds:
    """What no role may exceed, as the settings of this folder say."""
    try:
        settings = settings_files.load(scope.root, scope.trusted)
    except SettingsInvalid:
        return Bounds()
    said = settings.text("mode")
    mode: Mode = next((mode for mode in MODES if mode == said), "ask")
    return Bounds(mode, int(settings.number("agents.steps") or Bounds().steps))


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    for role in shipped():
        register(role)
    register(Source("role-files", of_files))
    register(Source("roles-of-the-flag", of_flag, "flags"))
