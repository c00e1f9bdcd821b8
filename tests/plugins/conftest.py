"""The example plugins, found by their entry points as if they were installed, for decks in this process."""

from pathlib import Path

import pytest

from cockpit.trial import installed_in

EXAMPLES = Path(__file__).parents[2] / "plugins"


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work on, with every example plugin on the path; a test names those it wants in
    `COCKPIT_PLUGINS`."""
    site = tmp_path / "site"
    site.mkdir()
    for folder in sorted(EXAMPLES.iterdir()):
        for place in installed_in(folder, site):
            monkeypatch.syspath_prepend(place)
    monkeypatch.setenv("COCKPIT_SCRIPT", str(tmp_path / "script.json"))
    return root
