"""Stored logins: in the keyring, or in a file that only the owner can read.

Each login is one file in `mcp-logins` of the config folder; if the keyring stores it, the file only says so.
Another name or address is another login. No token is logged.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cockpit import paths
from cockpit.protocol.messages import Json
from cockpit.settings import api_keys, file_io
from cockpit.settings.file_io import write_atomically

KEYRING = "keyring"


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """One login. `expires` is in seconds since the epoch, None if unknown.

    `tokens`, `client`, `metadata` (of the authorization server) and `resource` are documents as received;
    without the last two a refresh after a restart would go to the wrong place. `extra_scopes`
    were requested by the server later, for the next login.
    """

    tokens: dict[str, Json] = field(default_factory=dict)
    client: dict[str, Json] = field(default_factory=dict)
    metadata: dict[str, Json] = field(default_factory=dict)
    resource: dict[str, Json] = field(default_factory=dict)
    issuer: str = ""
    extra_scopes: str = ""
    expires: float | None = None


class TokenStore:
    """Stores the login of one server. Every method reads or writes files: call it in a thread."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._id = hashlib.sha256(f"{name}\n{url}".encode("utf-8", "replace")).hexdigest()[:24]

    @property
    def file(self) -> Path:
        return paths.config() / "mcp-logins" / f"{self._id}.json"

    def load(self) -> StoredLogin:
        """The stored login, an empty one if there is none."""
        document = self._read()
        if KEYRING in document:
            document = _parse_object(api_keys.read_keyring(self._keyring) or "")
        return self._register_secrets(_parse_login(document))

    def save(self, login: StoredLogin) -> str:
        """Store the login. Returns where: `keyring` or the file. Raises OSError."""
        self._register_secrets(login)
        text = json.dumps({"server": self._name, **asdict(login)}, sort_keys=True)
        in_keyring = api_keys.write_keyring(self._keyring, text)
        stored = json.dumps({"server": self._name, KEYRING: True}) if in_keyring else text
        write_atomically(self.file, stored.encode(), private=True)
        return KEYRING if in_keyring else str(self.file)

    def forget(self) -> bool:
        """Delete the login. Returns whether there was one."""
        document = self._read()
        if KEYRING in document:
            api_keys.delete_from_keyring(self._keyring)
        self.file.unlink(missing_ok=True)
        return bool(document)

    @property
    def _keyring(self) -> str:
        return f"mcp:{self._id}"

    def _read(self) -> dict[str, Json]:
        try:
            return _parse_object(file_io.read_text(self.file))
        except OSError:
            return {}

    def _register_secrets(self, login: StoredLogin) -> StoredLogin:
        secrets = (login.tokens.get("access_token"), login.tokens.get("refresh_token"))
        for secret in (*secrets, login.client.get("client_secret")):
            if isinstance(secret, str):
                api_keys.register_secret(secret, f"{self._name} login")
        return login


def _parse_object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _parse_login(document: dict[str, Json]) -> StoredLogin:
    """The login in `document`. Values of other types are ignored, because users may edit the file."""
    expires, more = document.get("expires"), document.get("more")
    defaults = {**asdict(StoredLogin()), "extra_scopes": more if isinstance(more, str) else ""}
    values: dict[str, Any] = {
        name: value if isinstance(value := document.get(name), type(default)) else default
        for name, default in defaults.items()
    }
    return StoredLogin(**{**values, "expires": float(expires) if isinstance(expires, int | float) else None})
