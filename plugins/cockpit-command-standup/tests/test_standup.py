"""A repository with a commit of today."""

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


def test_commits_become_a_prompt_and_nothing_becomes_none(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    assert "Nothing since yesterday" in trial.run("-p", "/standup").out
    git(trial.root, "init", "--quiet")
    git(trial.root, "config", "user.name", "Ada")
    git(trial.root, "config", "user.email", "ada@example.org")
    git(trial.root, "commit", "--quiet", "--allow-empty", "-m", "Mend the total")
    (started,) = [one for one in trial.prompt("/standup") if isinstance(one, TurnStarted)]
    assert "- Mend the total" in plain_text(started.content)
