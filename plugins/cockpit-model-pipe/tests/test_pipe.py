"""A short Python program is the model."""

import json
import sys
from pathlib import Path

import pytest

from cockpit.protocol.events import MessageFinished, TurnFinished
from cockpit.protocol.messages import AssistantMessage
from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


ECHO = "import sys; text = sys.stdin.read(); print('You said:', text.split('User: ')[-1].split('\\n')[0])"


def test_output_of_the_program_is_the_answer(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    trial.settings(f"[plugins.pipe]\ncommand = {json.dumps([sys.executable, '-c', ECHO])}\n")
    events = trial.prompt("good morning", flags=("--model", "pipe:echo"))
    messages = [event.message for event in events if isinstance(event, MessageFinished)]
    (answer,) = [message.text for message in messages if isinstance(message, AssistantMessage)]
    assert answer.strip() == "You said: good morning"


def test_failing_program_is_an_error_with_its_last_line(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    fails = [sys.executable, "-c", "import sys; sys.exit('no such model')"]
    trial.settings(f"[plugins.pipe]\ncommand = {json.dumps(fails)}\n")
    events = trial.prompt("good morning", flags=("--model", "pipe:echo"))
    (finished,) = [event for event in events if isinstance(event, TurnFinished)]
    assert finished.stop_reason == "error" and "no such model" in finished.message
