"""Suggested prompts and stored preferences."""

from pathlib import Path

from cockpit import paths
from cockpit.tui.actions import preferences
from cockpit.tui.actions.sessions import suggest_prompts


def test_the_three_suggested_prompts_fit_the_folder(tmp_path: Path) -> None:
    assert len(suggest_prompts(tmp_path)) == 3 and "run the tests" not in suggest_prompts(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert suggest_prompts(tmp_path) == ("explain this project", "run the tests", "what changed?")


def test_preferences_survive_and_a_broken_file_counts_as_empty() -> None:
    preferences.Preferences("cockpit-day", ["/x"]).save()
    assert preferences.load_preferences() == preferences.Preferences("cockpit-day", ["/x"])
    (paths.state() / "tui.json").write_text("{")
    assert preferences.load_preferences() == preferences.Preferences()
