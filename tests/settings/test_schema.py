"""The keys of a settings file: each is described, and a misspelt one is suggested."""

from pathlib import Path

import pytest

from cockpit.settings.files import load_settings, user_file
from cockpit.settings.layers import LayerTable, describe_invalid_values, describe_unknown_keys
from cockpit.settings.schema import DEFAULTS, KEYS, find_key, format_key


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"permissoins": {"deny": ["Bash"]}}, "did you mean `permissions`"),
        ({"permissions": {"deney": ["Bash"]}}, "did you mean `permissions.deny`"),
        ({"limits": {"money": 1.0, "stepz": 3}}, "did you mean `limits.steps`"),
        ({"models": {"tiers": {"quick": "a:b", "fasst": "a:b"}}}, "did you mean `models.tiers.fast`"),
        ({"projects": {"/a": {"mode": "ask"}}}, 'projects."/a".mode'),
        ({"zzz": 1}, "known keys:"),
    ],
)
def test_an_unknown_key_is_reported(table: dict[str, object], said: str) -> None:
    sentences = list(describe_unknown_keys(table, LayerTable("user", table, "settings.toml")))
    assert any(said in one for one in sentences) and all("settings.toml" in one for one in sentences)


def test_every_default_is_valid_for_its_key() -> None:
    layer = LayerTable("default", DEFAULTS, "defaults")
    assert not list(describe_unknown_keys(DEFAULTS, layer)) and not list(
        describe_invalid_values(DEFAULTS, layer)
    )


def test_every_key_has_a_description_and_its_own_variable() -> None:
    values = [key for key in KEYS if key.kind != "table" and "*" not in key.name]
    assert all(key.about for key in values)
    assert len({key.variable for key in values}) == len(values)


def test_a_name_of_any_letters_stands_for_a_star() -> None:
    found = find_key(("projects", "/a b.c", "permissions", "deny"))
    assert found is not None and found.name == "projects.*.permissions.deny"
    assert format_key(("projects", "/a b.c", "x")) == 'projects."/a b.c".x'


@pytest.mark.parametrize("value", [True, -1, 1.5, "3"])
def test_a_limit_is_a_whole_number_of_0_or_more(value: object) -> None:
    key = find_key(("limits", "steps"))
    assert key is not None and key.is_invalid(value) and not key.is_invalid(0)


def test_a_plugins_own_table_may_hold_any_key(root: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(
        "[plugins.mine]\nanything = true\n[plugins.mine.deep]\nx = [1]\n", encoding="utf-8"
    )
    settings = load_settings(str(root), trusted=False)
    assert settings.left_out == () and settings.table("plugins.mine")["anything"] is True


def test_a_file_with_an_unknown_key_is_loaded_and_names_its_line(root: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('mode = "plan"\n\n[permissoins]\ndeny = ["Bash"]\n', encoding="utf-8")
    settings = load_settings(str(root), trusted=False)
    assert settings.text("mode") == "plan"
    assert [one for one in settings.left_out if f"{user_file()}:3: `permissoins`" in one]
