"""A project, a home folder and a scripted model for skills."""

from pathlib import Path

import pytest
from tests.support.skills import House, spy


@pytest.fixture
def house(root: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    home = root.parent / "person"
    home.mkdir()
    (root / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    monkeypatch.setenv("SPY_FILE", str(root.parent / "spy.jsonl"))
    monkeypatch.setenv("PYTHONPATH", str(plugins))
    spy(plugins)
    return House(root, home)
