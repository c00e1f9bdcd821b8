"""API keys that a person saved: in the system's keyring, or in a file only its owner may read.

`keys.json` in the config folder names every provider that has a key, so that the keyring (half a
second to import) is asked only for a key that lies there. Where `COCKPIT_HOME` is set all of
cockpit's files lie in it, keys too, and the keyring is left alone. Nothing here logs a key.
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
# Every key this process has held in its hands, and whose it is: what redaction looks for.
_known_secrets: dict[str, str] = {}


class InvalidApiKey(CockpitError):
    """Text that cannot be a key. The message never repeats it."""


def keys_file() -> Path:
    return paths.config() / "keys.json"


def known_secrets() -> Mapping[str, str]:
    """Every key that was typed, found or saved in this process, and its provider's name."""
    return _known_secrets


def register_secret(secret: str, whose: str) -> None:
    """Let redaction look for `secret`, which is `whose`: a login's token is no key, and as secret."""
    if secret:
        _known_secrets[secret] = whose


def clean_key(text: str) -> str:
    """The key in `text` as it was pasted: without blanks, quotes and `Bearer ` around it.

    Raises `KeyRefused`.
    """
    key = text.strip().strip("\"'").strip()
    key = re.sub(r"^(?:authorization:\s*)?bearer(\s+|$)", "", key, flags=re.IGNORECASE).strip("\"' \t")
    if not key:
        raise InvalidApiKey("the key is empty", "paste it again")
    if re.search(r"\s", key):
        raise InvalidApiKey("a key has no spaces and is one line", "paste the key alone")
    if not key.isascii() or not key.isprintable():
        raise InvalidApiKey(
            "the key has characters that no key has", "copy it again from the provider's page"
        )
    _known_secrets.setdefault(key, "saved")
    return key


def key_location(provider: str) -> str:
    """Where the saved key of `provider` lies, "keyring" or a file's path; empty without one."""
    entry = _load_entries().get(provider)
    if entry is None:
        return ""
    return str(keys_file()) if "key" in entry else KEYRING


def find_key(provider: str) -> tuple[str, str] | None:
    """The saved key of `provider` and where it lies. None when there is none, or when the keyring
    does not give it. May take half a second: call it in a thread."""
    place = key_location(provider)
    if not place:
        return None
    key = read_keyring(provider) if place == KEYRING else _load_entries()[provider].get("key")
    if not isinstance(key, str) or not key:
        return None
    _known_secrets[key] = provider
    return key, place


def save_key(provider: str, key: str) -> str:
    """Keep `key` for `provider`; where it now lies. Raises `KeyRefused` and OSError."""
    key = clean_key(key)
    _known_secrets[key] = provider
    entries = _load_entries()
    in_keyring = write_keyring(provider, key)
    entries[provider] = {KEYRING: True} if in_keyring else {"key": key}
    _save_entries(entries)
    return KEYRING if in_keyring else str(keys_file())


def forget_key(provider: str) -> bool:
    """Forget the saved key of `provider`; whether there was one."""
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
    return {name: one for name, one in loaded.items() if isinstance(one, dict)}


def _save_entries(entries: dict[str, dict[str, object]]) -> None:
    write_atomically(keys_file(), json.dumps(entries, sort_keys=True).encode(), private=True)


def _uses_keyring() -> bool:
    return not os.environ.get("COCKPIT_HOME")


# A keyring backend is foreign code behind a system service (a locked wallet, no session bus, a
# broken plugin): whatever it raises, the answer is the file. Hence the broad excepts below.
def read_keyring(provider: str) -> str | None:
    """What the keyring keeps for `provider`; None without a keyring. May take half a second."""
    if not _uses_keyring():
        return None
    try:
        import keyring

        return keyring.get_password(KEYRING_SERVICE, provider)
    except Exception:
        return None


def write_keyring(provider: str, key: str) -> bool:
    """Whether the keyring took `key` and gives it back."""
    if not _uses_keyring():
        return False
    try:
        import keyring

        # The null backend (priority -1) and the failing one (0) take a key and keep nothing.
        if keyring.get_keyring().priority <= 0:
            return False
        keyring.set_password(KEYRING_SERVICE, provider, key)
        return bool(keyring.get_password(KEYRING_SERVICE, provider) == key)
    except Exception:
        return False


def delete_from_keyring(provider: str) -> None:
    """Take what `provider` has out of the keyring."""
    try:
        import keyring

        keyring.delete_password(KEYRING_SERVICE, provider)
    except Exception:
        return
