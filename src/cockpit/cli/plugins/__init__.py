"""`cockpit plugins`: what is plugged in, and what it costs; putting plugins in and taking them out."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from cockpit.cli.catalogs import catalog_of
from cockpit.core.catalog import Catalog

COMMANDS = {
    "list": "listing",
    "info": "info",
    "install": "adding",
    "upgrade": "adding",
    "remove": "removing",
    "enable": "switching",
    "disable": "switching",
    "new": "making",
    "doctor": "doctor",
}
USAGE = """usage: cockpit plugins [list] [--json]
       cockpit plugins info NAME [--json]             what it registers, needs and costs
       cockpit plugins install NAME|PATH|git+URL ...  beside the app, after you have seen what it brings
       cockpit plugins upgrade [NAME ...]             install again from where they came
       cockpit plugins remove NAME ...                and what nothing else needs
       cockpit plugins enable|disable NAME ...
       cockpit plugins new NAME [--hook tool]         a plugin to begin with, its tests and all
       cockpit plugins doctor [NAME] [--json]         what is wrong, and what mends it"""


def main(argv: Sequence[str]) -> int:
    """Run the part of `cockpit plugins` that is named first; its exit code."""
    given = list(argv)
    if given[:1] in (["--help"], ["-h"], ["help"]):
        print(USAGE)
        raise SystemExit(0)
    name = given.pop(0) if given and not given[0].startswith("-") else "list"
    if name not in COMMANDS:
        from cockpit.cli.plugins.naming import unknown

        raise unknown("part of cockpit plugins", name, COMMANDS)
    module = import_module(f"cockpit.cli.plugins.{COMMANDS[name]}")
    code: int = module.main(name, given)
    return code


def here() -> Catalog:
    """What is registered for the folder that the command is run in."""
    return catalog_of(str(Path.cwd()))
