"""A repository with a commit from today."""

import subprocess
from pathlib import Path

import pytest

from cockpit.protocol.content import plain_text
from cockpit.protocol.events import TurnStarted
from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, check=True)


def test_commits_become_a_prompt_and_without_commits_none_is_sent(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    assert "Nothing since yesterday" in trial.run("-p", "/standup").out
    git(trial.root, "init", "--quiet")
    git(trial.root, "config", "user.name", "Ada")
    git(trial.root, "config", "user.email", "ada@example.org")
    git(trial.root, "commit", "--quiet", "--allow-empty", "-m", "Fix the total")
    (started,) = [event for event in trial.prompt("/standup") if isinstance(event, TurnStarted)]
    assert "- Fix the total" in plain_text(started.content)
