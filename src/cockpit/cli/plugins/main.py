"""`cockpit plugins`: looks the subcommand up in a table and imports its module."""

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
       cockpit plugins install NAME|PATH|git+URL ...  after showing what it would install
       cockpit plugins upgrade [NAME ...]             install again from the original source
       cockpit plugins remove NAME ...                and the packages that only they needed
       cockpit plugins enable|disable NAME ...
       cockpit plugins new NAME [--hook tool]         create a plugin with its tests
       cockpit plugins doctor [NAME] [--json]         find faults and how to fix them"""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand that is named first and return its exit code."""
    arguments = list(argv)
    if arguments[:1] in (["--help"], ["-h"], ["help"]):
        print(USAGE)
        raise SystemExit(0)
    name = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "list"
    if name not in COMMANDS:
        raise unknown_name("subcommand of cockpit plugins", name, COMMANDS)
    module, _, function = COMMANDS[name].partition(":")
    code: int = getattr(import_module(module), function)(name, arguments)
    return code
