"""A program of one line takes the role."""

import json
import sys
from pathlib import Path

import pytest

from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_output_of_the_program_is_the_report(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    shouts = [sys.executable, "-c", "import sys; print(sys.argv[-1].splitlines()[-1].upper())"]
    trial.settings(f"[plugins.program]\ncommand = {json.dumps(shouts)}\n")
    step = calling(("delegate", {"role": "outside", "task": "count the cats"}))
    (result,) = trial.results(trial.prompt("ask them", step, flags=("--mode", "full")))
    assert "COUNT THE CATS" in result
