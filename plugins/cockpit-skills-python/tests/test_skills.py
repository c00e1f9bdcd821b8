"""The skills are listed with their descriptions, and read when a model uses one."""

from pathlib import Path

import pytest

from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]
NAMES = ["python-packaging", "python-profiling", "python-typing"]


def test_skills_are_listed_with_their_descriptions(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("skills_python")
    assert row["registers"] == [f"skills: {name}" for name in NAMES]
    assert "without suppressing it" in str(row["values"])


def test_model_reads_a_skill_by_name(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    step = calling(("use_skill", {"name": "python-typing"}))
    (result,) = trial.results(trial.prompt("annotate app.py", step))
    assert "Annotate from the outside in" in result
