"""A prompt names a commit of the repository."""

import subprocess
from pathlib import Path

import pytest

from cockpit.protocol.content import plain_text
from cockpit.protocol.events import MessageFinished, TurnStarted
from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    process = subprocess.run(
        ("git", *who, *arguments), cwd=folder, check=True, capture_output=True, text=True
    )
    return process.stdout.strip()


def test_prompt_that_names_a_commit_contains_it(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    git(trial.root, "init", "--quiet")
    (trial.root / "tax.py").write_text("TAX = 7\n", encoding="utf-8")
    git(trial.root, "add", ".")
    git(trial.root, "commit", "--quiet", "-m", "Raise the tax")
    name = git(trial.root, "rev-parse", "--short", "HEAD")
    events = trial.prompt(f"why #{name}? and what about #todo?")
    (started,) = [event for event in events if isinstance(event, TurnStarted)]
    assert "Raise the tax" in plain_text(started.content) and "+TAX = 7" in plain_text(started.content)
    assert [event for event in events if isinstance(event, MessageFinished)]
