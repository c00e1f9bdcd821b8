"""API keys that the user saved."""

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import pytest

from cockpit.settings import api_keys


class Wallet(keyring.backend.KeyringBackend):
    """A keyring that works, or (`broken`) one that raises as a locked one does."""

    priority = 5

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = broken

    def _check(self) -> None:
        if self.broken:
            raise OSError("no session bus")

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.kept[service, username]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def wallet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wallet]:
    monkeypatch.delenv("COCKPIT_HOME", raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    before = keyring.get_keyring()
    made = Wallet()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_a_key_is_stored_in_a_file_only_its_owner_can_read(home: Path) -> None:
    where = api_keys.save_key("openai", ' "Bearer sk-1"\n')
    assert api_keys.find_key("openai") == ("sk-1", where)
    assert Path(where) == home / "config" / "keys.json"
    if sys.platform != "win32":
        assert stat.S_IMODE(Path(where).stat().st_mode) == 0o600
    assert [path.name for path in Path(where).parent.iterdir()] == ["keys.json"]


def test_keys_of_several_providers_coexist(home: Path) -> None:
    api_keys.save_key("openai", "k-1")
    api_keys.save_key("groq", "k-2")
    assert api_keys.forget_key("openai") is True
    assert api_keys.forget_key("openai") is False
    assert api_keys.find_key("openai") is None
    assert api_keys.find_key("groq") == ("k-2", str(api_keys.keys_file()))


@pytest.mark.parametrize(
    "text", ["", "  ", '""', "Bearer ", "two words", "two\nlines", "schlüssel", "a\x00b"]
)
def test_an_invalid_key_is_refused_without_repeating_it(home: Path, text: str) -> None:
    with pytest.raises(api_keys.InvalidApiKey) as caught:
        api_keys.save_key("openai", text)
    assert not text.strip() or text not in str(caught.value)
    assert not api_keys.keys_file().exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"openai": 3}', b"\xff"])
def test_a_broken_file_counts_as_no_keys(home: Path, content: bytes) -> None:
    api_keys.keys_file().parent.mkdir(parents=True)
    api_keys.keys_file().write_bytes(content)
    assert api_keys.find_key("openai") is None
    api_keys.save_key("openai", "k-1")
    assert api_keys.find_key("openai") == ("k-1", str(api_keys.keys_file()))


def test_a_working_keyring_stores_the_key_and_the_file_only_its_name(wallet: Wallet) -> None:
    assert api_keys.save_key("openai", "k-1") == "keyring"
    assert json.loads(api_keys.keys_file().read_text()) == {"openai": {"keyring": True}}
    assert api_keys.find_key("openai") == ("k-1", "keyring")
    assert api_keys.key_location("openai") == "keyring"
    assert api_keys.forget_key("openai") is True
    assert wallet.kept == {}


def test_a_failing_keyring_falls_back_to_the_file(wallet: Wallet) -> None:
    wallet.broken = True
    where = api_keys.save_key("openai", "k-1")
    assert where == str(api_keys.keys_file())
    assert api_keys.find_key("openai") == ("k-1", where)


def test_a_locked_keyring_returns_no_key_and_no_error(wallet: Wallet) -> None:
    api_keys.save_key("openai", "k-1")
    wallet.broken = True
    assert api_keys.find_key("openai") is None
    assert api_keys.key_location("openai") == "keyring"
    assert api_keys.forget_key("openai") is True


def test_a_cockpit_home_does_not_use_the_keyring(home: Path) -> None:
    made = Wallet()
    before = keyring.get_keyring()
    keyring.set_keyring(made)
    try:
        api_keys.save_key("openai", "k-1")
    finally:
        keyring.set_keyring(before)
    assert made.kept == {}
