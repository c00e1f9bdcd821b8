"""A stand-in for the system's program records when it starts and ends."""

import os
from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]
# It waits on a pipe to which nobody writes.
INHIBIT = """#!/bin/sh
trap 'echo ended >> "$AWAKE/log"; exit 0' TERM
echo began >> "$AWAKE/log"
while :; do read -r line < "$AWAKE/pipe"; done
"""


def test_program_runs_as_long_as_the_session(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    os.mkfifo(tools / "pipe")
    program = tools / "caffeinate"
    program.write_text(INHIBIT, encoding="utf-8")
    program.chmod(0o755)
    path = os.pathsep.join((str(tools), os.environ["PATH"]))
    trial = Trial(PLUGIN, tmp_path, PATH=path, AWAKE=str(tools))
    # The model answers once the program has begun.
    trial.prompt("hello", {"text": "I work.", "gate": str(tools / "log")})
    assert (tools / "log").read_text(encoding="utf-8").split() == ["began", "ended"]
