"""The skills are listed with what they are for, and read when a model asks for one."""

from pathlib import Path

import pytest

from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]
NAMES = ["python-packaging", "python-profiling", "python-typing"]


def test_they_are_listed_with_what_they_are_for(tmp_path: Path) -> None:
    row = Trial(PLUGIN, tmp_path).plugin("skills_python")
    assert row["registers"] == [f"skills: {name}" for name in NAMES]
    assert "without suppressing it" in str(row["values"])


def test_a_model_gets_the_text_by_its_name(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    asked = calling(("use_skill", {"name": "python-typing"}))
    (result,) = trial.results(trial.prompt("annotate app.py", asked))
    assert "Annotate from the outside in" in result
