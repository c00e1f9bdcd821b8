"""What all commands share: the options `--cwd`, `--json` and `--trust`, loading the catalog, asking for
consent, and printing.

Imported at every start, so the catalog and the settings are imported by the functions that need them.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cockpit.errors import CockpitError
from cockpit.protocol.safe_text import clean
from cockpit.suggestions import closest_names, did_you_mean

if TYPE_CHECKING:
    from cockpit.core.plugins.catalog import PluginCatalog

UNTRUSTED_NOTE = "this folder is not trusted: its own files were not read (--trust reads them)"


class ProjectFolder(NamedTuple):
    """The real path of a project folder, and whether its own files may be read."""

    root: str
    trusted: bool


def add_options(parser: argparse.ArgumentParser, *names: Literal["cwd", "json", "trust"]) -> None:
    """Declare options that mean the same in every command."""
    for name in names:
        match name:
            case "cwd":
                parser.add_argument("--cwd", metavar="DIR", default="", help="project folder (default: .)")
            case "json":
                parser.add_argument("--json", action="store_true", help="print JSON")
            case "trust":
                text = "read the folder's own files even if it is not trusted yet"
                parser.add_argument("--trust", action="store_true", help=text)


def resolve_project(args: argparse.Namespace) -> ProjectFolder:
    """The folder that `--cwd` and `--trust` describe. Raises `CockpitError` if it does not exist."""
    root = resolve_folder(args.cwd)
    return ProjectFolder(root, bool(getattr(args, "trust", False)) or is_trusted(root))


def resolve_folder(path: str) -> str:
    """The real path of a folder, `.` if empty. Raises `CockpitError` if it does not exist."""
    real = os.path.realpath(path or ".")
    if not Path(real).is_dir():
        raise CockpitError(f"{path} is not a folder", "name an existing folder with --cwd")
    return real


def is_trusted(root: str) -> bool:
    """Whether the user trusts `root`."""
    from cockpit.settings import trust

    return trust.is_trusted(root) is True


def load_catalog(root: str, trusted: bool | None = None) -> "PluginCatalog":
    """Everything registered for `root`; nothing is started. `trusted` defaults to the stored answer."""
    from cockpit.core.plugins.catalog import build_catalog
    from cockpit.plugin.discovery import load_plugins
    from cockpit.settings import files

    trusted = is_trusted(root) if trusted is None else trusted
    settings = files.load_settings(root, trusted)
    manager, plugins = load_plugins(settings.words("plugins.disabled"))
    environment = files.load_environment(root, trusted)
    return build_catalog(manager, plugins, root, settings, environment, trusted, lambda: None)


def print_json(value: object, indent: int | None = None) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=indent, default=str))


def select_fields(value: object, *names: str) -> dict[str, object]:
    """The attributes `names` of `value`, for `--json`."""
    return {name: getattr(value, name) for name in names}


def confirm(question: str, yes: bool = False) -> bool:
    """Ask a yes/no question on the terminal; with `yes` (the option `--yes`) the answer is yes.

    Raises `CockpitError` if stdin is not a terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CockpitError(
            "stdin is not a terminal, so cockpit cannot ask for consent", "review the output and add --yes"
        )
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def unknown_name(kind: str, name: str, known: Iterable[str]) -> CockpitError:
    """The error for a name that does not exist; suggests the closest one."""
    names = sorted(known)
    choices = f"choose one of {', '.join(names)}" if names else ""
    return CockpitError(f"there is no {kind} {name}", did_you_mean(closest_names(name, names), choices))


def escape_text(text: str) -> str:
    """`text` with unprintable characters written as escapes, so that it is safe on a terminal."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class SanitizedStream(TextIOWrapper):
    """A terminal stream that replaces control sequences and other unprintable characters."""

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


class SanitizedErrorStream(SanitizedStream):
    """A sanitized stderr. Claims not to be a terminal, so that Python does not colour tracebacks."""

    def isatty(self) -> bool:
        return False


def sanitize_streams() -> None:
    """Sanitize stdout and stderr where they are terminals: file names, branch names and model output must not
    control a terminal. Pipes and files get the text unchanged, because a program may need every byte."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.isatty():
        sys.stdout = _wrap_stream(SanitizedStream, sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr.isatty():
        sys.stderr = _wrap_stream(SanitizedErrorStream, sys.stderr)


def _wrap_stream(wrapper: type[SanitizedStream], stream: TextIOWrapper) -> SanitizedStream:
    stream.flush()
    # A separate buffer: two writers that share a buffer would close it for each other.
    raw = BufferedWriter(FileIO(stream.fileno(), "wb", closefd=False))
    return wrapper(raw, encoding=stream.encoding, errors="replace", line_buffering=True)
