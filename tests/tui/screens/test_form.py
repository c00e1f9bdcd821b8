"""A form opens by itself, is walked with the keys, says what does not fit, and sends values by kind."""

from tests.support.cockpits import Seat, seat
from tests.support.scenes import Scene

from cockpit.protocol import events, ops
from cockpit.protocol.events import FormField
from cockpit.tui.screens.form import FormDialog

FIELDS = (
    FormField("title", "Title of the issue", required=True),
    FormField("weight", "Weight", "integer", default=3),
    FormField("labels", "Labels", "choices", options=("bug", "docs", "speed")),
    FormField(
        "state", "State", "choice", required=True, options=("open", "closed"), labels=("Open", "Closed")
    ),
    FormField("notify", "Tell the team?", "yes_no", note="One mail to everybody who watches."),
)


def asked(url: str = "", *, beside: bool = False) -> Scene:
    fields = () if url else FIELDS
    question = events.QuestionAsked(
        "q1", "Which issue shall be made?", fields=fields, url=url, source="MCP server tracker"
    )
    return Scene().start().says("make an issue").step(1).add(question, "" if beside else "c1")


def answers(s: Seat) -> list[ops.Answer]:
    return [op for op in s.ops if isinstance(op, ops.Answer)]


async def opened(s: Seat) -> None:
    if not isinstance(s.app.screen, FormDialog):
        await s.press("f9")
    assert isinstance(s.app.screen, FormDialog)
    s.app.screen._quiet_until = 0.0


async def test_it_is_filled_in_with_the_keys() -> None:
    async with seat(asked()) as s:
        await opened(s)
        assert "MCP server tracker asks" in s.screen and "One mail to everybody" in s.screen
        await s.type("a bug")
        await s.press("enter", "enter", "space", "right", "right", "space", "enter")
        await s.press("right", "enter", "left", "enter", "enter")
        (answer,) = answers(s)
        assert (answer.action, dict(answer.values)) == (
            "accept",
            {"title": "a bug", "weight": 3, "labels": ["bug", "speed"], "state": "closed", "notify": False},
        )
        assert not isinstance(s.app.screen, FormDialog)


async def test_an_invalid_value_is_reported_at_its_field_and_nothing_is_sent() -> None:
    async with seat(asked()) as s:
        await opened(s)
        await s.press("tab", "backspace")
        await s.type("x")
        await s.press("tab", "tab", "tab", "tab", "enter")
        assert "a value is required" in s.screen and "enter a number" in s.screen
        assert "choose one" in s.screen and answers(s) == []
        assert s.app.screen.focused is s.app.screen.query_one("#field-0")


async def test_it_can_be_left_and_opened_again_from_work() -> None:
    async with seat(asked()) as s:
        await opened(s)
        await s.press("escape")
        assert answers(s) == [] and "FORM" in s.screen and "F9" in s.screen
        await s.press("f9")
        assert isinstance(s.app.screen, FormDialog)


async def test_leaving_a_form_that_blocks_a_prompt_cancels_the_form() -> None:
    async with seat(asked(beside=True)) as s:
        await opened(s)
        await s.press("escape")
        assert [one.action for one in answers(s)] == ["cancel"] and "FORM" not in s.screen


async def test_declining_and_cancelling_are_different_answers() -> None:
    for steps, action in ((("right",), "decline"), (("right", "right"), "cancel")):
        async with seat(asked()) as s:
            await opened(s)
            await s.press("tab", "tab", "tab", "tab", "tab", *steps, "enter")
            assert [one.action for one in answers(s)] == [action]
            assert not answers(s)[0].values


async def test_a_page_is_shown_with_its_host_before_it_is_opened() -> None:
    async with seat(asked(url="https://login.example.org/authorize?client=cockpit")) as s:
        await opened(s)
        assert "host  login.example.org" in s.screen and "open in the browser" in s.screen
        await s.press("right", "enter")
        assert [one.action for one in answers(s)] == ["decline"]


async def test_a_form_keeps_its_buttons_in_sight_on_a_small_screen() -> None:
    async with seat(asked(), (60, 24)) as s:
        await opened(s)
        assert "decline" in s.screen and "Title of the issue" in s.screen
