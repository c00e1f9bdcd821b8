"""The table of actions: keys, hints and the user's own keymap."""

from pathlib import Path

from tests.support.cockpits import seat
from tests.support.scenes import Scene

from cockpit.tui.actions import table
from cockpit.tui.actions.table import ACTIONS, BY_NAME, BY_SLASH, hint_keys, key_name, keys_of


async def test_every_action_of_the_table_is_bound() -> None:
    own = {"send", "newline", "queue"}  # the Composer's
    async with seat(Scene().start()) as s:
        assert s.app.controller is not None
        bound = s.app.controller.actions
        assert {action.name for action in ACTIONS} - set(bound.plain) == own
        assert set(bound.with_words) <= {action.name for action in ACTIONS}


def test_no_two_actions_share_a_key_in_one_place() -> None:
    for group in ("prompt", "approval", "trace"):
        keys = [key for action in ACTIONS if action.group == group for key in action.keys]
        assert len(keys) == len(set(keys)), group
    everywhere = [key for action in ACTIONS if action.everywhere for key in action.keys]
    assert len(everywhere) == len(set(everywhere))
    assert len(BY_NAME) == len(ACTIONS) and len(BY_SLASH) == sum(len(action.slash) for action in ACTIONS)


def test_hints_change_with_what_happens() -> None:
    def shown(busy: bool = False, approval: tuple[str, ...] = (), place: str = "") -> list[str]:
        return [
            label for _, label in hint_keys({}, busy=busy, approval=approval, question=False, region=place)
        ]

    assert (
        "steer" in shown(busy=True)
        and "once" in shown(approval=("allow_once",))
        and "search" in shown(place="trace")
    )


def test_keys_are_shown_by_their_usual_names() -> None:
    assert [key_name(key) for key in ("ctrl+p", "f1", "escape", "y", "shift+tab")] == [
        "Ctrl+P", "F1", "Esc", "y", "Shift+Tab",
    ]  # fmt: skip


def test_a_user_rebinds_keys(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text(
        'palette = "ctrl+k"\ncopy = ["f2", "Ctrl-Y"]\nredraw = []\nnothing = "x"\n'
    )
    own, problems = table.load_keymap(tmp_path)
    assert keys_of("palette", own) == ("ctrl+k",)
    assert own["copy"] == ("f2", "ctrl+y") and own["redraw"] == ()
    assert len(problems) == 1 and "nothing" in problems[0]


def test_claudes_keybindings_are_read_as_they_are(tmp_path: Path) -> None:
    text = '{"bindings":[{"context":"Chat","bindings":{"ctrl+e":"chat:externalEditor","ctrl+r":null}}]}'
    (tmp_path / "keybindings.json").write_text(text)
    own, problems = table.load_keymap(tmp_path)
    assert own["editor"] == ("ctrl+g", "ctrl+e") and own["history"] == () and not problems


def test_a_broken_keymap_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text("palette = ")
    assert "keys.toml" in table.load_keymap(tmp_path)[1][0]
