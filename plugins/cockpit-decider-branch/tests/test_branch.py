"""An agent tries to commit in a repository."""

import subprocess
from pathlib import Path

import pytest

from cockpit.trial import Trial, calling

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def start_trial(tmp_path: Path, branch: str) -> Trial:
    trial = Trial(PLUGIN, tmp_path)
    subprocess.run(("git", "init", "--quiet", "-b", branch), cwd=trial.root, check=True)
    return trial


COMMIT = calling(("shell", {"command": "git commit --allow-empty -m x"}))


def test_commit_to_main_is_refused_in_every_mode(tmp_path: Path) -> None:
    trial = start_trial(tmp_path, "main")
    (result,) = trial.results(trial.prompt("commit", COMMIT, flags=("--mode", "full")))
    assert "main is protected" in result and "git switch -c" in result


def test_unprotected_branch_accepts_commits(tmp_path: Path) -> None:
    trial = start_trial(tmp_path, "main")
    trial.settings('[plugins.branch]\nbranches = ["release"]\n')
    (result,) = trial.results(trial.prompt("commit", COMMIT, flags=("--mode", "full")))
    assert "is protected" not in result
