"""Reads `.lsp.json`, in the format of other agents' plugins, into languages. Starts nothing, trusts nothing.

For example `{"go": {"command": "gopls", "args": ["serve"], "extensionToLanguage": {".go": "go"}}}`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit.plugin.languages import Language, LanguageServer
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

PROJECT_FILE = ".lsp.json"
USER_FILE = "lsp.json"
KEYS = (
    "command args extensionToLanguage transport env initializationOptions settings workspaceFolder "
    "startupTimeout shutdownTimeout restartOnCrash maxRestarts"
)


@dataclass(frozen=True, slots=True)
class LspJsonContents:
    """The languages of a file, and a message for each entry or key that cannot be used."""

    languages: tuple[Language, ...] = ()
    warnings: tuple[str, ...] = ()


class _InvalidLspEntry(ValueError):
    """An entry that cannot be used; the message names the key and what is expected."""


def read_lsp_json(file: Path, named_by: str = "", key: str = "") -> LspJsonContents:
    """Read `file`, which need not exist, or its table `key`. `named_by` marks its servers as a project's,
    which need the user's approval. Blocking; never raises."""
    try:
        content = file_io.read_bytes(file)
    except (FileNotFoundError, IsADirectoryError):
        # The sandbox reserves the name by a folder while a sandboxed program runs.
        return LspJsonContents()
    except OSError as error:
        return LspJsonContents((), (f"{file}: cannot be read: {error.strerror}",))
    try:
        raw = json.loads(content)
    except (ValueError, RecursionError) as error:
        return LspJsonContents((), (f"{file}: invalid JSON: {error}; its servers are ignored",))
    raw = raw.get(key) if key and isinstance(raw, dict) else raw
    if not isinstance(raw, dict):
        warning = f"{file}: expected an object of servers by name; its servers are ignored"
        return LspJsonContents((), (warning,))
    return _parse_entries(file, raw, named_by)


def read_all_lsp_json(root: str, config: Path) -> LspJsonContents:
    """The project's file and the user's, the project's first."""
    project = read_lsp_json(Path(root, PROJECT_FILE), PROJECT_FILE)
    own = read_lsp_json(config / USER_FILE)
    return LspJsonContents(project.languages + own.languages, project.warnings + own.warnings)


def _parse_entries(file: Path, raw: Mapping[str, object], named_by: str) -> LspJsonContents:
    languages: list[Language] = []
    warnings: list[str] = []
    known: set[str] = set()
    for name, entry in raw.items():
        try:
            if not isinstance(entry, dict):
                raise _InvalidLspEntry(f"{name} must be an object")
            server, suffixes = _parse_server(name, entry, named_by)
        except _InvalidLspEntry as error:
            warnings.append(f"{file}: {error}; {name} is ignored")
            continue
        warnings += [f"{file}: unknown key {name}.{key}" for key in sorted({*entry} - {*KEYS.split()})]
        new_suffixes = {suffix: language for suffix, language in suffixes.items() if suffix not in known}
        known.update(new_suffixes)
        # A server may support several languages.
        for language in dict.fromkeys(new_suffixes.values()):
            globs = tuple(f"*{suffix}" for suffix, id in new_suffixes.items() if id == language)
            languages.append(Language(language, globs, (server,)))
    return LspJsonContents(tuple(languages), tuple(warnings))


def _parse_server(
    name: str, entry: Mapping[str, object], named_by: str
) -> tuple[LanguageServer, dict[str, str]]:
    transport = entry.get("transport", "stdio")
    if transport != "stdio":
        raise _InvalidLspEntry(f"{name}.transport is {json.dumps(transport)}; only stdio is supported")
    suffixes = _string_table(name, entry, "extensionToLanguage")
    if not suffixes or not all(suffix.startswith(".") for suffix in suffixes):
        raise _InvalidLspEntry(
            f'{name}.extensionToLanguage must map suffixes to languages, as in {{".go": "go"}}'
        )
    restart = entry.get("restartOnCrash", True)
    if not isinstance(restart, bool):
        raise _InvalidLspEntry(f"{name}.restartOnCrash must be true or false")
    settings = entry.get("settings", {})
    if not isinstance(settings, dict):
        raise _InvalidLspEntry(f"{name}.settings must be an object")
    server = LanguageServer(
        name=name,
        command=_command(name, entry),
        named_by=named_by,
        environment=_string_table(name, entry, "env"),
        initialization=_json(entry.get("initializationOptions")),
        settings={str(key): _json(value) for key, value in settings.items()},
        folder=_text(name, entry, "workspaceFolder"),
        startup_seconds=_seconds(name, entry, "startupTimeout", 10.0),
        shutdown_seconds=_seconds(name, entry, "shutdownTimeout", 2.0),
        restart=restart,
    )
    return server, suffixes


def _command(name: str, entry: Mapping[str, object]) -> tuple[str, ...]:
    command = _text(name, entry, "command")
    args = entry.get("args", [])
    if not command:
        raise _InvalidLspEntry(f"{name}.command must name a program")
    if not isinstance(args, list) or not all(isinstance(argument, str) for argument in args):
        raise _InvalidLspEntry(f"{name}.args must be a list of strings")
    return (command, *args)


def _text(name: str, entry: Mapping[str, object], key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise _InvalidLspEntry(f"{name}.{key} must be a string")
    return value


def _string_table(name: str, entry: Mapping[str, object], key: str) -> dict[str, str]:
    value = entry.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise _InvalidLspEntry(f"{name}.{key} must be an object of strings")
    return {str(text): str(word) for text, word in value.items()}


def _seconds(name: str, entry: Mapping[str, object], key: str, default: float) -> float:
    """The file's unit is milliseconds."""
    value = entry.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise _InvalidLspEntry(f"{name}.{key} must be a number of milliseconds")
    return value / 1000


def _json(value: object) -> Json:
    """A parsed JSON value, checked to have the type `Json`."""
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else None
