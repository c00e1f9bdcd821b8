"""A person's home folder and a project, both of the test."""

from pathlib import Path

import pytest
from tests.support.hooks import House


@pytest.fixture
def house(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    (root / "b.txt").write_text("two\n", encoding="utf-8")
    return House(root, person)
