"""Setting a value of the user's file by its key: what is written and what is refused."""

import tomllib

import pytest

from cockpit.errors import SettingsInvalid
from cockpit.settings.files import assign_setting, parse_key_path, unassign_setting, user_file


def table() -> dict[str, object]:
    return tomllib.loads(user_file().read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("mode", "plan", {"mode": "plan"}),
        ("limits.steps", "12", {"limits": {"steps": 12}}),
        ("limits.money", "0.5", {"limits": {"money": 0.5}}),
        ("models.fallback", "a:b,c:d", {"models": {"fallback": ["a:b", "c:d"]}}),
        ("permissions.deny", '["Bash(a, b)"]', {"permissions": {"deny": ["Bash(a, b)"]}}),
        ("models.tiers.fast", "a:b", {"models": {"tiers": {"fast": "a:b"}}}),
        ("plugins.search.engine", "python", {"plugins": {"search": {"engine": "python"}}}),
        ("plugins.mine.deep.n", "3", {"plugins": {"mine": {"deep": {"n": 3}}}}),
        (
            'projects."/a b".permissions.deny',
            "Edit",
            {"projects": {"/a b": {"permissions": {"deny": ["Edit"]}}}},
        ),
    ],
)
def test_a_value_is_written_with_the_type_of_its_key(
    key: str, value: str, written: dict[str, object]
) -> None:
    assign_setting(key, value)
    assert table() == written
    assert unassign_setting(key) and not unassign_setting(key)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("limits.stepz", "1", "did you mean `limits.steps`"),
        ("limits.steps", "many", "must be a whole number"),
        ("limits.steps", "true", "must be a whole number"),
        ("mode", "yolo", "one of full, auto-edit, ask, plan, deny"),
        ("limits", "1", "set one of limits.steps"),
        ("a b", "1", "invalid key"),
        ("", "1", "invalid key"),
        ("plugins.openai_chat.providers.x.api_key", "sk-1", "cockpit connect"),
    ],
)
def test_an_invalid_value_is_refused_and_nothing_is_written(key: str, value: str, said: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        assign_setting(key, value)
    assert said in str(refused.value) and not user_file().exists()


def test_comments_order_and_every_way_to_write_a_table_survive() -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(
        '# top\nlimits.steps = 3 # mine\nmodels = { default = "a:b" }\n[sandbox] # s\nuse = "auto"\n'
    )
    assign_setting("limits.money", "2")
    assign_setting("models.window", "1000")
    assign_setting("sandbox.use", "required")
    text = user_file().read_text(encoding="utf-8")
    assert all(one in text for one in ("# top", "# mine", "# s"))
    assert table() == {
        "limits": {"steps": 3, "money": 2},
        "models": {"default": "a:b", "window": 1000},
        "sandbox": {"use": "required"},
    }


def test_a_key_may_be_written_with_quotes() -> None:
    assert parse_key_path('projects."/a.b".permissions.ask') == ("projects", "/a.b", "permissions", "ask")
