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
from cockpit.settings.atomic import write_atomically

SERVICE = "cockpit"
KEYRING = "keyring"
# Every key this process has held in its hands, and whose it is: what redaction looks for.
_known: dict[str, str] = {}


class KeyRefused(CockpitError):
    """Text that cannot be a key. The message never repeats it."""


def file() -> Path:
    return paths.config() / "keys.json"


def known() -> Mapping[str, str]:
    """Every key that was typed, found or saved in this process, and its provider's name."""
    return _known


def know(secret: str, whose: str) -> None:
    """Let redaction look for `secret`, which is `whose`: a login's token is no key, and as secret."""
    if secret:
        _known[secret] = whose


def tidy(text: str) -> str:
    """The key in `text` as it was pasted: without blanks, quotes and `Bearer ` around it.

    Raises `KeyRefused`.
    """
    key = text.strip().strip("\"'").strip()
    key = re.sub(r"^(?:authorization:\s*)?bearer(\s+|$)", "", key, flags=re.IGNORECASE).strip("\"' \t")
    if not key:
        raise KeyRefused("the key is empty", "paste it again")
    if re.search(r"\s", key):
        raise KeyRefused("a key has no spaces and is one line", "paste the key alone")
    if not key.isascii() or not key.isprintable():
        raise KeyRefused("the key has characters that no key has", "copy it again from the provider's page")
    _known.setdefault(key, "saved")
    return key


def key_place(provider: str) -> str:
    """Where the saved key of `provider` lies, "keyring" or a file's path; empty without one."""
    entry = _entries().get(provider)
    if entry is None:
        return ""
    return str(file()) if "key" in entry else KEYRING


def find_key(provider: str) -> tuple[str, str] | None:
    """The saved key of `provider` and where it lies. None when there is none, or when the keyring
    does not give it. May take half a second: call it in a thread."""
    place = key_place(provider)
    if not place:
        return None
    key = ask_keyring(provider) if place == KEYRING else _entries()[provider].get("key")
    if not isinstance(key, str) or not key:
        return None
    _known[key] = provider
    return key, place


def save_key(provider: str, key: str) -> str:
    """Keep `key` for `provider`; where it now lies. Raises `KeyRefused` and OSError."""
    key = tidy(key)
    _known[key] = provider
    entries = _entries()
    in_keyring = give_keyring(provider, key)
    entries[provider] = {KEYRING: True} if in_keyring else {"key": key}
    _write(entries)
    return KEYRING if in_keyring else str(file())


def forget_key(provider: str) -> bool:
    """Forget the saved key of `provider`; whether there was one."""
    entries = _entries()
    entry = entries.pop(provider, None)
    if entry is None:
        return False
    if KEYRING in entry:
        clear_keyring(provider)
    _write(entries)
    return True


def _entries() -> dict[str, dict[str, object]]:
    try:
        loaded = json.loads(file().read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(loaded, dict):
        return {}
    return {name: one for name, one in loaded.items() if isinstance(one, dict)}


def _write(entries: dict[str, dict[str, object]]) -> None:
    write_atomically(file(), json.dumps(entries, sort_keys=True).encode(), private=True)


def _uses_keyring() -> bool:
    return not os.environ.get("COCKPIT_HOME")


# A keyring backend is foreign code behind a system service (a locked wallet, no session bus, a
# broken plugin): whatever it raises, the answer is the file. Hence the broad excepts below.
def ask_keyring(provider: str) -> str | None:
    """What the keyring keeps for `provider`; None without a keyring. May take half a second."""
    if not _uses_keyring():
        return None
    try:
        import keyring

        return keyring.get_password(SERVICE, provider)
    except Exception:
        return None


def give_keyring(provider: str, key: str) -> bool:
    """Whether the keyring took `key` and gives it back."""
    if not _uses_keyring():
        return False
    try:
        import keyring

        # The null backend (priority -1) and the failing one (0) take a key and keep nothing.
        if keyring.get_keyring().priority <= 0:
            return False
        keyring.set_password(SERVICE, provider, key)
        return bool(keyring.get_password(SERVICE, provider) == key)
    except Exception:
        return False


def clear_keyring(provider: str) -> None:
    """Take what `provider` has out of the keyring."""
    try:
        import keyring

        keyring.delete_password(SERVICE, provider)
    except Exception:
        return
