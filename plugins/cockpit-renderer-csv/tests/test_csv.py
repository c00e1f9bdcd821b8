"""Tables are shown as tables, other files as before."""

from pathlib import Path

import pytest

from cockpit.protocol.content import Table
from cockpit.protocol.events import ToolCallFinished
from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_csv_file_becomes_a_table_and_other_files_stay(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    (trial.root / "prices.csv").write_text('name,price\n"tea, green",3.5\nmilk,1\n', encoding="utf-8")
    (trial.root / "notes.txt").write_text("a,b\nc,d\n", encoding="utf-8")
    step = calling(*(("read", {"path": path}) for path in ("prices.csv", "notes.txt")))
    events = trial.prompt("read them", step)
    table, text = [event.result for event in events if isinstance(event, ToolCallFinished)]
    assert table.blocks == (
        Table(("name", "price"), (("tea, green", "3.5"), ("milk", "1")), "prices.csv: 2 rows"),
    )
    assert "tea, green" in table.text and not any(isinstance(block, Table) for block in text.blocks)
