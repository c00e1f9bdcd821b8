"""Adding a server to a file of MCP servers, and taking one out. The rest of the file stays as it is."""

import json
from collections.abc import Mapping
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.protocol.messages import Json
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically


def add(file: Path, name: str, entry: Mapping[str, Json], force: bool = False, private: bool = False) -> None:
    """Write a server into `file`, which is made where it is missing. Raises `CockpitError` for a name that is
    there (unless `force`), and for a file that is no plain JSON."""
    document, servers = _read(file)
    if name in servers and not force:
        raise CockpitError(f"{file} has a server {name} already", "take --force to replace it")
    servers[name] = dict(entry)
    _write(file, document, servers, private)


def remove(file: Path, name: str) -> bool:
    """Take a server out of `file`; whether it was there. Raises `CockpitError`."""
    if not file.exists():
        return False
    document, servers = _read(file)
    if name not in servers:
        return False
    del servers[name]
    _write(file, document, servers, False)
    return True


def _read(file: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    try:
        document = json.loads(plain.read_text(file) or "{}")
    except FileNotFoundError:
        return {}, {}
    except ValueError as error:
        raise CockpitError(
            f"{file} is no plain JSON ({error}), so it is not rewritten", "add the server to it by hand"
        ) from error
    servers = document.get("mcpServers", {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(servers, dict):
        raise CockpitError(f"{file} holds no table of servers", "mend it by hand first")
    return document, servers


def _write(file: Path, document: dict[str, Json], servers: dict[str, Json], private: bool) -> None:
    text = json.dumps(document | {"mcpServers": servers}, ensure_ascii=False, indent=2)
    write_atomically(file, f"{text}\n".encode(), private=private)
