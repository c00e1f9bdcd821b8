"""`cockpit plugins enable|disable NAME ...`: the list `[plugins] disabled` of your settings."""

import argparse
from collections.abc import Sequence

from cockpit.cli.plugins import here
from cockpit.cli.plugins.naming import plugins_called
from cockpit.settings import files


def main(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}")
    parser.add_argument("name", nargs="+", help="of a plugin, or of its distribution")
    given = parser.parse_args(list(argv))
    catalog = here()
    # All names are looked up before one is written.
    chosen = [one.found.name for word in given.name for one in plugins_called(word, catalog)]
    for plugin in dict.fromkeys(chosen):
        if name == "disable":
            files.add_user_word(("plugins", "disabled"), plugin)
            print(f"{plugin} is switched off: `[plugins] disabled` in {files.user_file()}")
        elif files.remove_user_word(("plugins", "disabled"), plugin):
            print(f"{plugin} is switched on.")
        else:
            print(f"{plugin} was not switched off in {files.user_file()}.")
    return 0
