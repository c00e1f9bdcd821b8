"""The role as cockpit lists it."""

from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_it_is_listed_with_what_it_is_for(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("role_security")
    assert (row["state"], row["registers"]) == ("loaded", ["roles: security"])
    assert "changes nothing" in str(row["values"])
