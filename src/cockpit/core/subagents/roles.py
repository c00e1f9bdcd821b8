"""Roles by their names: the one that is meant, and those that are near when none is."""

import difflib

from cockpit.core.agent import Agent
from cockpit.core.catalog import Catalog
from cockpit.core.router import TIERS, ModelUnknown, choose
from cockpit.core.subagents.rights import unknown
from cockpit.errors import CockpitError
from cockpit.formats.role_names import ALIASES, meant
from cockpit.formats.role_tools import FOREIGN
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Role
from cockpit.protocol.events import Warned

# There is always one, also where the plugin with the others is switched off.
GENERAL = Role(
    "general",
    "Does one task and reports.",
    "Do the task you are given and report what you found.",
    aliases=ALIASES["general"],
)


def roles_of(catalog: Catalog) -> tuple[Role, ...]:
    """Every role, by name."""
    found = {GENERAL.name: GENERAL} | {one.name: one for one in catalog.all(Role)}
    return tuple(found[name] for name in sorted(found))


def find_role(catalog: Catalog, name: str) -> Role:
    """The role called `name`: exactly, by an alias, or in other letters. Raises `CockpitError`."""
    roles = roles_of(catalog)
    wanted = _plain(name or GENERAL.name)
    if (exact := called(roles, name)) is not None:
        return exact
    for role in roles:
        if wanted in map(_plain, (role.name, *role.aliases)):
            return role
    every = [*(one.name for one in roles), *(alias for one in roles for alias in one.aliases)]
    near = difflib.get_close_matches(name, every, 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else f"roles: {', '.join(one.name for one in roles)}"
    raise CockpitError(f"there is no role called {name}", hint)


def called(roles: tuple[Role, ...], name: str) -> Role | None:
    """The role of exactly that name, or that goes by it: a project's `review` is the `reviewer` too."""
    by_name = {one.name: one for one in roles}
    by_alias = {alias: one for one in reversed(roles) for alias in one.aliases}
    return by_name.get(name) or by_alias.get(name) or by_name.get(meant(name))


def check_tools(role: Role, catalog: Catalog) -> None:
    """Raises `CockpitError` for a role that lists a tool nobody knows: it would lack what it is for."""
    tools = catalog.all(Tool)
    strange = [one for one in unknown(role.tools or (), tools) if one.partition("(")[0] not in FOREIGN]
    # Our own roles list what a plugin that is switched off would bring.
    if not strange or (role.origin is not None and role.origin.layer == "built-in"):
        return
    every = [*(one.name for one in tools), *(alias.name for one in tools for alias in one.aliases)]
    near = difflib.get_close_matches(strange[0], every, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    where = f" ({role.origin.file})" if role.origin is not None else ""
    raise CockpitError(
        f"the role {role.name} lists a tool that does not exist: {strange[0]}{where}",
        f"{hint}Mend its list, or take it out",
    )


def model_of(parent: Agent, role: Role) -> str:
    """The model for an agent of `role`: the role's where it is there, else that of its opener."""
    host, own = parent.host, parent.model or parent.host.model
    if role.model in ("", "inherit"):
        return own
    if role.model in TIERS:
        return role.model if host.settings.table("models.tiers").get(role.model) else own
    try:
        choice = choose(host.catalog, host.settings, role.model)
    except ModelUnknown as error:
        host.log.emit(
            Warned(f"the role {role.name}: {error.message}; {own} is used", error.hint), parent.path
        )
        return own
    if missing := choice.provider.ready():
        host.log.emit(Warned(f"the role {role.name}: {missing}; {own} is used"), parent.path)
        return own
    return role.model


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")
