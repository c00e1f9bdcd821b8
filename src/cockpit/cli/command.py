"""The gate of everything a command prints on a terminal: the name of a file or a branch, the words of a model
drive no terminal. A pipe or a file gets the text as it is, because a program may need every byte of it.

Lines of JSON that a command is fed, one at a time, and text that is safe to show on a terminal.

What is registered for a folder, for the commands that only look: nothing of it is started.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TextIO

from cockpit.core.plugins.catalog import PluginCatalog, build_catalog
from cockpit.errors import CockpitError
from cockpit.plugin.discovery import load_plugins
from cockpit.protocol.safe_text import clean
from cockpit.settings import files, trust


class SanitizedStream(TextIOWrapper):
    """A terminal's stream that lets text through, and nothing that acts."""

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


class SanitizedErrorStream(SanitizedStream):
    """The same for errors. It says that it is no terminal: whoever would colour a traceback does not."""

    def isatty(self) -> bool:
        return False


def sanitize_streams() -> None:
    """Print through the gate from now on, where stdout or stderr is a terminal."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.isatty():
        sys.stdout = _wrap_stream(SanitizedStream, sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr.isatty():
        sys.stderr = _wrap_stream(SanitizedErrorStream, sys.stderr)


def _wrap_stream(gate: type[SanitizedStream], stream: TextIOWrapper) -> SanitizedStream:
    stream.flush()
    # A buffer of its own: two writers of one would close it for each other.
    raw = BufferedWriter(FileIO(stream.fileno(), "wb", closefd=False))
    return gate(raw, encoding=stream.encoding, errors="replace", line_buffering=True)


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line with an id and a text; `fault` says why it has none."""

    number: int
    id: str | int = ""
    text: str = ""
    fault: str = ""


def read_json_lines(stream: TextIO, key: str) -> Iterator[JsonLine]:
    """The rows of `stream` whose text is under `key`. Empty lines are passed over."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield _parse_json_line(number, line, key)


def _parse_json_line(number: int, line: str, key: str) -> JsonLine:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return JsonLine(number, fault=f"it is no JSON ({error})")
    if not isinstance(value, dict):
        return JsonLine(number, fault=f'it is no object; write {{"id": "1", "{key}": "..."}}')
    id, text = value.get("id"), value.get(key)
    if not isinstance(id, str | int) or isinstance(id, bool):
        return JsonLine(number, fault='its "id" is no text')
    if not isinstance(text, str):
        return JsonLine(number, fault=f'its "{key}" is no text')
    return JsonLine(number, id, text)


def escape_text(text: str) -> str:
    """`text` with what a terminal would act on, or nobody would see, written as an escape."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def load_catalog(root: str, trusted: bool | None = None) -> PluginCatalog:
    """What is registered for `root` now; `trusted` None: as the person has said."""
    trusted = is_trusted(root) if trusted is None else trusted
    settings = files.load_settings(root, trusted)
    manager, found = load_plugins(settings.words("plugins.disabled"))
    environment = files.load_environment(root, trusted)
    return build_catalog(manager, found, root, settings, environment, trusted, lambda: None)


def is_trusted(root: str) -> bool:
    """What the person has said of `root`."""
    return trust.is_trusted(root) is True


def resolve_folder(named: str) -> str:
    """The real path of a folder that was named on the command line. Raises `CockpitError`."""
    real = os.path.realpath(named or ".")
    if not Path(real).is_dir():
        raise CockpitError(f"{named} is no folder", "name a folder with --cwd")
    return real
