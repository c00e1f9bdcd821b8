"""Two prompts add two rows."""

import csv
from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_every_turn_adds_a_row(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    trial.settings(f'[plugins.ledger]\nfile = "{(tmp_path / "ledger.csv").as_posix()}"\n')
    trial.prompt("one")
    trial.prompt("two")
    rows = list(csv.DictReader((tmp_path / "ledger.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["ended"] for row in rows] == ["end_turn", "end_turn"]
    assert {row["project"] for row in rows} == {str(trial.root.resolve())}
