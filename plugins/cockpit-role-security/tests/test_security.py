"""The role in cockpit's listing."""

from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_role_is_listed_with_its_description(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("role_security")
    assert (row["state"], row["registers"]) == ("loaded", ["roles: security"])
    assert "changes nothing" in str(row["values"])
