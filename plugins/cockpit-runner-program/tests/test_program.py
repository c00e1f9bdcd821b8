"""The runner and its role are registered; how it runs is tested with a deck in tests/plugins."""

from pathlib import Path

from cockpit.trial import Trial

PLUGIN = Path(__file__).parents[1]


def test_a_runner_and_a_role_that_names_it(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("program")
    assert row["registers"] == ["roles: outside", "runners: program"]
