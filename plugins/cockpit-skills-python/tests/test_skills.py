"""The skills are listed with their descriptions."""

from pathlib import Path

from cockpit.trial import Trial

PLUGIN = Path(__file__).parents[1]
NAMES = ["python-packaging", "python-profiling", "python-typing"]


def test_they_are_listed_with_what_they_are_for(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("skills_python")
    assert row["registers"] == [f"skills: {name}" for name in NAMES]
    assert "without suppressing it" in str(row["values"])
