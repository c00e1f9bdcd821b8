"""`cockpit plugins new NAME [--hook tool] [--into DIR]`: a plugin to begin with, its tests and all."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cockpit.installing import scaffolding


def main(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins new")
    parser.add_argument("name", help="words, or cockpit-words")
    parser.add_argument("--hook", choices=scaffolding.hooks(), default="tool", help="what it registers")
    parser.add_argument("--into", default=".", metavar="DIR", help="where its folder is made")
    given = parser.parse_args(list(argv))
    folder, *files = scaffolding.made(given.name, given.hook, Path(given.into))
    print(f"Made {folder}")
    for path in files:
        print(f"  {path.relative_to(folder).as_posix()}")
    print("Next:")
    print(f"  cd {folder}")
    print("  python -m pytest                        # its tests pass")
    print("  cockpit plugins install --editable .    # use it while you work on it")
    return 0
