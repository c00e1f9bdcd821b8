"""`cockpit instructions list|show`: the files that tell models how to work here, and what they say."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.catalogs import folder_of, is_trusted
from cockpit.errors import CockpitError


def main(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show(arguments[1:])
    from cockpit.cli import listing

    return listing.main("instructions", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show(argv: list[str]) -> int:
    """What a model is told at the beginning, or when it touches a file."""
    parser = argparse.ArgumentParser(prog="cockpit instructions show", description="What a model is told.")
    parser.add_argument("file", nargs="?", help="what is told besides when this file is touched")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    given = parser.parse_args(argv)
    root = folder_of(given.cwd)
    trusted = given.trust or is_trusted(root)
    text = _of_file(Path(root), given.file, trusted) if given.file else _at_first(Path(root), trusted)
    print(text or "nothing is told")
    if not trusted:
        print("this folder is not trusted: its own files were not read (--trust reads them)")
    return 0


def _at_first(root: Path, trusted: bool) -> str:
    from cockpit.builtin.instructions.files import instruction_files

    return instruction_files(root, trusted, Path.home())


def _of_file(root: Path, file: str, trusted: bool) -> str:
    from cockpit.builtin.instructions.touched import Memory, news

    path = Path(file).expanduser()
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    if not (root / relative).is_file():
        raise CockpitError(f"{file} is no file in {root}", "name one as seen from there")
    return "\n\n".join(news(Memory(), root, [str(relative)], Path.home())) if trusted else ""
