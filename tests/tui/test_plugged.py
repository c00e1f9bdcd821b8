"""What plugins register for the screen: themes and the titles of panels. It comes with the session, behind
the first paint."""

from tests.support.cockpits import Replies, cockpit, seat, settled
from tests.support.scenes import Scene

from cockpit.protocol.events import PanelChanged
from cockpit.protocol.queries import Listing, ListingRow, ListingRows, Query, Reply
from cockpit.protocol.rows import PanelRow
from cockpit.tui.render import themes

SAND = {
    "primary": "#aa7733",
    "background": "#fff8e8",
    "foreground": "#332211",
    "dark": False,
    "muted": "#998877",
}


def telling(*rows: ListingRow) -> Replies:
    def reply(query: Query) -> Reply | None:
        return ListingRows(rows) if query == Listing("themes") else None

    return reply


def row(name: str, **colours: str | bool) -> ListingRow:
    return ListingRow(name, "", "sandy", "plugin", values=colours)


def test_colours_that_textual_has_no_field_for_are_variables() -> None:
    (theme,), problems = themes.plugin_themes((row("sand", **SAND),))
    assert (theme.name, theme.primary, theme.dark, theme.variables) == (
        "sand",
        "#aa7733",
        False,
        {"muted": "#998877"},
    )
    assert not problems


def test_a_broken_theme_is_named_with_its_plugin_and_the_others_stay() -> None:
    rows = (row("bare", background="#000000"), row("odd", primary="#12"), row("sand", **SAND))
    found, problems = themes.plugin_themes(rows)
    assert [theme.name for theme in found] == ["sand"]
    assert [problem.count("sandy") for problem in problems] == [1, 1]
    assert "bare lacks `primary`" in problems[0] and "not a colour" in problems[1]


async def test_the_requested_theme_is_used_once_its_plugin_provides_it() -> None:
    app, _, _ = cockpit(Scene().start(), theme="sand", replies=telling(row("sand", **SAND)))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await settled(app, pilot)
        assert app.theme == "sand" and app.palette is not None


async def test_it_can_be_chosen_by_name() -> None:
    async with seat(Scene().start(), replies=telling(row("sand", **SAND))) as one:
        await one.type("/theme sand")
        await one.press("enter")
        assert one.app.theme == "sand"


async def test_a_plugins_panel_is_in_work_under_its_title() -> None:
    def reply(query: Query) -> Reply | None:
        row = ListingRow("todos", "Notes", "todos", "plugin")
        return ListingRows((row,)) if query == Listing("panels") else None

    rows = (PanelRow("a.py:1  name it", "todo"),)
    scene = Scene().start().add(PanelChanged("todos", rows))
    async with seat(scene, (160, 40), replies=reply) as one:
        assert "NOTES" in one.screen and "a.py:1 name it" in one.screen and "TODOS" not in one.screen
