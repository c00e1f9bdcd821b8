"""A program of three lines is the model."""

import json
import sys
from pathlib import Path

import pytest

from cockpit.protocol.events import MessageFinished, TurnFinished
from cockpit.protocol.messages import AssistantMessage
from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


ECHO = "import sys; said = sys.stdin.read(); print('You said:', said.split('User: ')[-1].split('\\n')[0])"


def test_its_output_is_the_answer(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    trial.settings(f"[plugins.pipe]\ncommand = {json.dumps([sys.executable, '-c', ECHO])}\n")
    events = trial.prompt("good morning", flags=("--model", "pipe:echo"))
    messages = [one.message for one in events if isinstance(one, MessageFinished)]
    (said,) = [one.text for one in messages if isinstance(one, AssistantMessage)]
    assert said.strip() == "You said: good morning"


def test_a_program_that_fails_is_an_error_with_its_last_line(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    fails = [sys.executable, "-c", "import sys; sys.exit('no such model')"]
    trial.settings(f"[plugins.pipe]\ncommand = {json.dumps(fails)}\n")
    events = trial.prompt("good morning", flags=("--model", "pipe:echo"))
    (finished,) = [one for one in events if isinstance(one, TurnFinished)]
    assert finished.stop_reason == "error" and "no such model" in finished.message
