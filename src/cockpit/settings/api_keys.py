"""API keys that the user saved: in the system's keyring, or in a file that only its owner may read.

`keys.json` in the config folder names every provider with a key, so that the keyring (half a second to
import) is read only for a key that is in it. With `COCKPIT_HOME` set, keys are stored in that folder and the
keyring is not used. Nothing here logs a key.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.settings.file_io import write_atomically

KEYRING_SERVICE = "cockpit"
KEYRING = "keyring"
# Every key this process has seen, and its provider: what redaction searches for.
_known_secrets: dict[str, str] = {}


class InvalidApiKey(CockpitError):
    """Text that cannot be a key. The message never repeats it."""


def keys_file() -> Path:
    return paths.config() / "keys.json"


def known_secrets() -> Mapping[str, str]:
    """Every key that was entered, found or saved in this process, with its provider's name."""
    return _known_secrets


def register_secret(secret: str, whose: str) -> None:
    """Make redaction search for `secret`, such as the token of a login. `whose` is its owner."""
    if secret:
        _known_secrets[secret] = whose


def clean_key(text: str) -> str:
    """The key in pasted text, without blanks, quotes and `Bearer ` around it. Raises `InvalidApiKey`."""
    key = text.strip().strip("\"'").strip()
    key = re.sub(r"^(?:authorization:\s*)?bearer(\s+|$)", "", key, flags=re.IGNORECASE).strip("\"' \t")
    if not key:
        raise InvalidApiKey("the key is empty", "paste it again")
    if re.search(r"\s", key):
        raise InvalidApiKey("a key has no spaces and is one line", "paste the key alone")
    if not key.isascii() or not key.isprintable():
        raise InvalidApiKey("the key contains invalid characters", "copy it again from the provider's page")
    _known_secrets.setdefault(key, "saved")
    return key


def key_location(provider: str) -> str:
    """Where the saved key of `provider` is: "keyring" or the path of a file; empty if there is none."""
    entry = _load_entries().get(provider)
    if entry is None:
        return ""
    return str(keys_file()) if "key" in entry else KEYRING


def find_key(provider: str) -> tuple[str, str] | None:
    """The saved key of `provider` and its location. None if there is none or the keyring does not return it.
    May take half a second: call it in a thread."""
    location = key_location(provider)
    if not location:
        return None
    key = read_keyring(provider) if location == KEYRING else _load_entries()[provider].get("key")
    if not isinstance(key, str) or not key:
        return None
    _known_secrets[key] = provider
    return key, location


def save_key(provider: str, key: str) -> str:
    """Save `key` for `provider` and return its location. Raises `InvalidApiKey` and OSError."""
    key = clean_key(key)
    _known_secrets[key] = provider
    entries = _load_entries()
    in_keyring = write_keyring(provider, key)
    entries[provider] = {KEYRING: True} if in_keyring else {"key": key}
    _save_entries(entries)
    return KEYRING if in_keyring else str(keys_file())


def forget_key(provider: str) -> bool:
    """Delete the saved key of `provider`. Returns whether there was one."""
    entries = _load_entries()
    entry = entries.pop(provider, None)
    if entry is None:
        return False
    if KEYRING in entry:
        delete_from_keyring(provider)
    _save_entries(entries)
    return True


def _load_entries() -> dict[str, dict[str, object]]:
    try:
        loaded = json.loads(keys_file().read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(loaded, dict):
        return {}
    return {name: entry for name, entry in loaded.items() if isinstance(entry, dict)}


def _save_entries(entries: dict[str, dict[str, object]]) -> None:
    write_atomically(keys_file(), json.dumps(entries, sort_keys=True).encode(), private=True)


def _uses_keyring() -> bool:
    return not os.environ.get("COCKPIT_HOME")


# A keyring backend is third-party code behind a system service (a locked wallet, no session bus, a
# broken plugin). Whatever it raises, the key goes to the file instead: hence the broad handlers below.
def read_keyring(provider: str) -> str | None:
    """The key that the keyring stores for `provider`; None without a keyring. May take half a second."""
    if not _uses_keyring():
        return None
    try:
        import keyring

        return keyring.get_password(KEYRING_SERVICE, provider)
    except Exception:
        return None


def write_keyring(provider: str, key: str) -> bool:
    """Store `key` in the keyring. Returns whether it can be read back."""
    if not _uses_keyring():
        return False
    try:
        import keyring

        # The null backend (priority -1) and the failing one (0) accept a key and store nothing.
        if keyring.get_keyring().priority <= 0:
            return False
        keyring.set_password(KEYRING_SERVICE, provider, key)
        return bool(keyring.get_password(KEYRING_SERVICE, provider) == key)
    except Exception:
        return False


def delete_from_keyring(provider: str) -> None:
    """Delete the key of `provider` from the keyring."""
    try:
        import keyring

        keyring.delete_password(KEYRING_SERVICE, provider)
    except Exception:
        return
