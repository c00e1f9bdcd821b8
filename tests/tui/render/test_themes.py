"""Themes: contrast, files with errors, derived colours."""

import pytest

from cockpit import paths
from cockpit.tui.render import themes
from cockpit.tui.render.themes import Palette, theme_colours


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


def test_a_theme_of_the_user_is_found() -> None:
    folder = paths.config() / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('primary = "#ff0000"\n')
    assert "mine" in {theme.name for theme in themes.find_themes()[0]}


def test_a_theme_of_few_colours_has_all_the_others() -> None:
    from textual.theme import Theme

    palette = Palette(theme_colours(Theme("x", primary="#ff0000")))
    for key in ("muted", "faint+b", "body/added-background", "link/panel+u", "nonsense"):
        assert palette[key].color is not None
