"""The check fails until a file has the right content."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cockpit.protocol.events import TurnFinished
from cockpit.protocol.messages import Json
from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


CHECK = "grep -q right answer.txt"


def write(text: str) -> Mapping[str, Json]:
    return calling(("write", {"path": "answer.txt", "content": text}))


def test_turn_continues_until_the_check_passes(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    trial.settings(f'[plugins.done]\ncommand = "{CHECK}"\n')
    steps = (write("wrong"), {"text": "Finished."}, write("right"))
    events = trial.prompt("answer", *steps, flags=("--mode", "full"))
    assert (trial.root / "answer.txt").read_text(encoding="utf-8") == "right"
    assert [event.stop_reason for event in events if isinstance(event, TurnFinished)] == ["end_turn"]


def test_turn_without_changes_is_not_checked(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    trial.settings('[plugins.done]\ncommand = "touch checked"\n')
    trial.prompt("hello", flags=("--mode", "full"))
    assert not (trial.root / "checked").exists()
