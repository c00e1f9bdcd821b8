"""What every test gets: a home of its own, and only cockpit's own plugins unless it adds some."""

import os
import sys
import tempfile
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
def isolated_machine(isolated_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh `COCKPIT_HOME`, an empty home folder beside it, and none of the machine's API keys.

    No test may define a fixture of this name: hiding it would let the test into the real home.
    """
    # mkdtemp costs the same however many folders there are; pytest's own mktemp counts them all each time.
    folder = Path(tempfile.mkdtemp(dir=isolated_folders))
    cockpit_home, user_home = folder / "home", folder / "user"
    cockpit_home.mkdir()
    user_home.mkdir()
    monkeypatch.setenv("COCKPIT_HOME", str(cockpit_home))
    monkeypatch.setenv("COCKPIT_PLUGINS", "")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(user_home))
    for name in os.environ:
        if name.endswith(SECRETS):
            monkeypatch.delenv(name)
    return cockpit_home


@pytest.fixture(scope="session")
def isolated_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which each test gets its own home folders."""
    return tmp_path_factory.mktemp("machines")


@pytest.fixture
def home(isolated_machine: Path) -> Path:
    """The folder of all that is cockpit's own."""
    return isolated_machine


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
