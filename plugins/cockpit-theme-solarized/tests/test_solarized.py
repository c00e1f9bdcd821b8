"""Both themes are listed."""

from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_both_themes_are_registered(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("theme_solarized")
    assert row["registers"] == ["themes: solarized-dark", "themes: solarized-light"]
