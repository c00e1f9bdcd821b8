"""A misspelt key is said, with the key it may have meant; a known one is not."""

from pathlib import Path

import pytest

from cockpit.settings.files import DEFAULTS, load, user_file
from cockpit.settings.known import KNOWN, strangers


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"permissoins": {"deny": ["Bash"]}}, "did you mean `permissions`"),
        ({"permissions": {"deney": ["Bash"]}}, "did you mean `permissions.deny`"),
        ({"limits": {"money": 1.0, "stepz": 3}}, "did you mean `limits.steps`"),
        ({"zzz": 1}, "known:"),
    ],
)
def test_a_key_without_meaning_is_said(table: dict[str, object], said: str) -> None:
    [sentence] = strangers(table, "settings.toml")
    assert said in sentence and "settings.toml" in sentence


def test_every_default_is_a_known_key() -> None:
    assert not list(strangers(DEFAULTS, "defaults"))
    assert set(DEFAULTS) <= set(KNOWN)


def test_a_file_with_one_is_loaded_and_says_it(root: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('mode = "plan"\n[permissoins]\ndeny = ["Bash"]\n', encoding="utf-8")
    settings = load(str(root), trusted=False)
    assert settings.text("mode") == "plan"
    assert any("permissoins" in one for one in settings.left_out)
