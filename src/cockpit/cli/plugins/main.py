"""`cockpit plugins`: what is plugged in, and what it costs; putting plugins in and taking them out."""

from collections.abc import Sequence
from importlib import import_module

from cockpit.cli.command import unknown_name

COMMANDS = {
    "list": "cockpit.cli.plugins.inventory:list_plugins",
    "info": "cockpit.cli.plugins.inventory:show_plugin",
    "install": "cockpit.cli.plugins.installation:install_plugins",
    "upgrade": "cockpit.cli.plugins.installation:install_plugins",
    "remove": "cockpit.cli.plugins.installation:remove_plugins",
    "enable": "cockpit.cli.plugins.inventory:switch_plugins",
    "disable": "cockpit.cli.plugins.inventory:switch_plugins",
    "new": "cockpit.cli.plugins.inventory:create_plugin",
    "doctor": "cockpit.cli.plugins.doctor:main",
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
        raise unknown_name("subcommand of cockpit plugins", name, COMMANDS)
    module, _, function = COMMANDS[name].partition(":")
    code: int = getattr(import_module(module), function)(name, given)
    return code
