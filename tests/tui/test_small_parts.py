"""The pure parts around the screen: cleaning, clipboard, keys, themes, history, completion, figures."""

import os
import stat
from pathlib import Path

import pytest
from tests.support.cockpits import seat
from tests.support.scenes import Scene

from cockpit import paths
from cockpit.protocol.safe_text import clean, clean_output, single_line
from cockpit.tui.actions import preferences, table
from cockpit.tui.actions.sessions import suggest_prompts
from cockpit.tui.actions.table import ACTIONS, BY_NAME, BY_SLASH, hint_keys, key_name, keys_of
from cockpit.tui.composer.completion import CompletionToken, token_at
from cockpit.tui.composer.editor import MAX_HISTORY, PromptHistory
from cockpit.tui.render import number_format, themes
from cockpit.tui.render.themes import Palette, theme_colours
from cockpit.tui.state.entries import TAIL_LINES
from cockpit.tui.terminal import clipboard
from cockpit.tui.terminal.editors import edit_text


def test_cleaning_keeps_text_and_takes_what_acts() -> None:
    assert clean("a\tb\nc") == "a\tb\nc"
    assert clean("x\x1b[31my\x07\u202ez\x9b") == "x�[31my��z�"
    assert clean("한국어 👩‍👩‍👧") == "한국어 👩‍👩‍👧"


def test_output_loses_colours_and_shows_lines_as_they_ended() -> None:
    assert clean_output("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"
    assert clean_output("10%\r50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert clean_output("ab\b\bcd") == "cd" and clean_output("\b\b") == ""


def test_one_line_is_one_line() -> None:
    assert single_line("a\n b\x1b[2J  c") == "a b c"
    assert len(single_line("x" * 900)) == 400


def test_each_platform_has_its_clipboard() -> None:
    def everything(name: str) -> str:
        return "/bin/" + name

    assert clipboard.find_clipboard_tool("darwin", {}, everything) == ("pbcopy",)
    assert clipboard.find_clipboard_tool("win32", {}, everything) == ("clip.exe",)
    assert clipboard.find_clipboard_tool("linux", {"WAYLAND_DISPLAY": "w"}, everything) == ("wl-copy",)
    assert clipboard.find_clipboard_tool("linux", {"DISPLAY": ":0"}, everything)[0] == "xclip"
    assert clipboard.find_clipboard_tool("linux", {"WSL_DISTRO_NAME": "d"}, everything) == ("clip.exe",)
    assert clipboard.find_clipboard_tool("linux", {}, everything) == ()


def test_over_ssh_the_terminal_copies() -> None:
    assert (
        clipboard.find_clipboard_tool("linux", {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, lambda name: name)
        == ()
    )


def test_what_is_said_about_copying_is_true() -> None:
    assert "copied" in clipboard.describe_copy("it", 3, ("pbcopy",), True, False)
    unsure = clipboard.describe_copy("it", 3, (), False, True)
    assert "copied" not in unsure and "OSC 52" in unsure and "set-clipboard" in unsure


def test_a_clipboard_that_is_absent_is_no_crash() -> None:
    assert not clipboard.copy_with_tool(("cockpit-has-no-such-program",), "x")


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


def test_keys_have_the_names_people_read() -> None:
    assert [key_name(key) for key in ("ctrl+p", "f1", "escape", "y", "shift+tab")] == [
        "Ctrl+P", "F1", "Esc", "y", "Shift+Tab",
    ]  # fmt: skip


def test_a_person_rebinds_keys(tmp_path: Path) -> None:
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


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The ratio of WCAG 2."""

    def light(colour: tuple[int, int, int]) -> float:
        parts = [c / 255 for c in colour]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("name", "least", "least_muted"),
    [("cockpit-night", 4.5, 4.5), ("cockpit-day", 4.5, 4.0), ("cockpit-contrast", 7.0, 7.0)],
)
def test_every_text_can_be_read_in_every_theme(name: str, least: float, least_muted: float) -> None:
    palette = Palette(theme_colours(themes.load_theme(themes.packaged_folder() / f"{name}.toml")))
    texts = (
        "body",
        "heading",
        "code",
        "person",
        "machine",
        "good",
        "bad",
        "warn",
        "link",
        "string",
        "keyword",
    )
    for ground in ("background", "surface", "panel"):
        back = palette.colour(ground).rgb
        for text in (*texts, "number", "function"):
            assert contrast(palette.colour(text).rgb, back) >= least - (0.6 if ground == "panel" else 0), (
                text,
                ground,
            )
        assert contrast(palette.colour("muted").rgb, back) >= least_muted - 0.6, ground
        assert contrast(palette.colour("faint").rgb, back) >= 3.0, ground
    for ground in ("added-background", "removed-background", "selection"):
        assert contrast(palette.colour("body").rgb, palette.colour(ground).rgb) >= 4.5, ground


def test_three_themes_come_with_cockpit() -> None:
    found, problems = themes.find_themes()
    assert {"cockpit-night", "cockpit-day", "cockpit-contrast"} <= {
        theme.name for theme in found
    } and not problems


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("primary = ", "TOML"),
        ('name = "x"', "primary"),
        ('primary = "#12"', "colour"),
        ('primary = "red"\nx = 1', "x"),
    ],
)
def test_a_broken_theme_is_named_and_skipped(text: str, word: str) -> None:
    folder = paths.config() / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(text)
    found, problems = themes.find_themes()
    assert len(found) == 3 and len(problems) == 1
    assert "mine.toml" in problems[0] and word in problems[0]


def test_a_theme_of_a_persons_own_is_found() -> None:
    folder = paths.config() / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('primary = "#ff0000"\n')
    assert "mine" in {theme.name for theme in themes.find_themes()[0]}


def test_a_theme_of_few_colours_has_all_the_others() -> None:
    from textual.theme import Theme

    palette = Palette(theme_colours(Theme("x", primary="#ff0000")))
    for key in ("muted", "faint+b", "body/added-background", "link/panel+u", "nonsense"):
        assert palette[key].color is not None


def test_history_walks_back_and_returns_the_draft(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "h.jsonl")
    history.add("one")
    history.add("two\nlines")
    assert history.step(-1, "draft") == "two\nlines"
    assert history.step(-1, "") == "one" and history.step(-1, "") is None
    assert (
        history.step(1, "") == "two\nlines" and history.step(1, "") == "draft" and history.step(1, "") is None
    )


def test_history_is_a_persons_own_and_survives(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "h.jsonl"
    history = PromptHistory(path)
    history.add("中文")
    history.add("中文")
    history.add("b")
    with path.open("a") as file:
        file.write('"torn')
    assert PromptHistory(path).texts == ["中文", "b"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_history_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    history = PromptHistory(path)
    for number in range(2 * MAX_HISTORY + 5):
        history.add(str(number))
    assert len(history.texts) <= 2 * MAX_HISTORY and len(path.read_text().splitlines()) <= 2 * MAX_HISTORY
    assert PromptHistory(path).texts[-1] == str(2 * MAX_HISTORY + 4)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("/mo", CompletionToken("/", 0, 3)),
        ("see @src/a", CompletionToken("@", 4, 10)),
        ("@", CompletionToken("@", 0, 1)),
        ("mail a@b", None),
        ("plain", None),
        ("（@文件", CompletionToken("@", 1, 4)),
        ("/model x", CompletionToken("/", 0, 8)),
        ("why #a1b", CompletionToken("#", 4, 8)),
        ("#", None),
        ("# A heading", None),
        ("see x#y", None),
    ],
)
def test_what_is_completed(text: str, token: CompletionToken | None) -> None:
    assert token_at(text, len(text)) == token


def test_figures_are_short() -> None:
    assert [number_format.format_tokens(n) for n in (950, 12_345, 250_000, 1_200_000)] == [
        "950",
        "12.3k",
        "250k",
        "1.2M",
    ]
    assert [number_format.format_cost(c) for c in (None, 0.0, 0.004, 1.5)] == [
        "cost ?",
        "$0.00",
        "<$0.01",
        "$1.50",
    ]
    assert [number_format.format_duration(s) for s in (0.31, 12.4, 245, 7_380)] == [
        "0.3s",
        "12s",
        "4m 05s",
        "2h 03m",
    ]
    assert [number_format.format_clock(s) for s in (12, 3_723)] == ["00:12", "1:02:03"]
    assert [number_format.format_age(s) for s in (5, 300, 7_200, 90_000, 900_000)] == [
        "just now", "5 min ago", "2 h ago", "yesterday", "10 days ago",
    ]  # fmt: skip


def test_three_things_to_try_fit_the_folder(tmp_path: Path) -> None:
    assert len(suggest_prompts(tmp_path)) == 3 and "run the tests" not in suggest_prompts(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert suggest_prompts(tmp_path) == ("explain this project", "run the tests", "what changed?")


def test_memory_survives_and_a_broken_one_is_empty() -> None:
    preferences.Preferences("cockpit-day", ["/x"]).save()
    assert preferences.load_preferences() == preferences.Preferences("cockpit-day", ["/x"])
    (paths.state() / "tui.json").write_text("{")
    assert preferences.load_preferences() == preferences.Preferences()


def test_an_editor_that_fails_leaves_the_draft() -> None:
    assert edit_text("cockpit-has-no-such-editor", "draft")[0] == "draft"
    assert "set $EDITOR" in edit_text("cockpit-has-no-such-editor", "draft")[1]


def test_the_tail_is_long_enough_for_the_screen() -> None:
    assert TAIL_LINES >= 100
