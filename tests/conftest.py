"""What every test gets: a home of its own, and only cockpit's own plugins unless it adds some."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support import survivors

# The suite tries the same examples each time; `make fuzz` tries others.
settings.register_profile("suite", derandomize=True, database=None)
if not os.environ.get("COCKPIT_FUZZ"):
    settings.load_profile("suite")

SECRETS = ("_API_KEY", "_BASE_URL")


@pytest.fixture(scope="session", autouse=True)
def nothing_survives() -> Iterator[None]:
    """Every process that cockpit started for a tool, a job or a language server has ended with the run."""
    with survivors.watched():
        yield


@pytest.fixture(autouse=True)
def machine_left_alone(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh `COCKPIT_HOME`, an empty home folder beside it, and no key of the machine's. Under a name that
    no test has for something else: a fixture that hid this one would let the test into the real home."""
    folder = tmp_path_factory.mktemp("home")
    person = tmp_path_factory.mktemp("person")
    monkeypatch.setenv("COCKPIT_HOME", str(folder))
    monkeypatch.setenv("COCKPIT_PLUGINS", "")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(person))
    for name in os.environ:
        if name.endswith(SECRETS):
            monkeypatch.delenv(name)
    return folder


@pytest.fixture
def home(machine_left_alone: Path) -> Path:
    """The folder of all that is cockpit's own."""
    return machine_left_alone


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for plugins of a test (`support.decks.distribution`); all of them are loaded."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.delenv("COCKPIT_PLUGINS")
    before = list(sys.path)
    yield folder
    sys.path[:] = before
