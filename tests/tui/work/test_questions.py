"""A question that is not the model's: answered by its numbers, never by what was meant for the model."""

from tests.support.cockpits import Seat, seat
from tests.support.scenes import Scene

from cockpit.protocol import events, ops
from cockpit.protocol.content import plain_text

OPTIONS = ("Run them", "Leave them out")


def asks(source: str) -> Scene:
    return Scene().start().add(events.QuestionAsked("q1", "May 2 hooks run?", OPTIONS, source=source))


def answers(s: Seat) -> list[str]:
    return [op.text for op in s.ops if isinstance(op, ops.Answer)]


def prompts(s: Seat) -> list[str]:
    return [plain_text(op.content) for op in s.ops if isinstance(op, ops.Prompt)]


async def test_a_prompt_does_not_answer_a_plugins_question() -> None:
    async with seat(asks("hooks")) as s:
        assert "press its number; words make a prompt" in s.screen
        await s.type("explain this project")
        await s.press("enter")
        assert (prompts(s), answers(s)) == (["explain this project"], [])


async def test_a_number_answers_it() -> None:
    async with seat(asks("hooks")) as s:
        await s.press("2")
        assert (prompts(s), answers(s)) == ([], ["Leave them out"])


async def test_words_answer_the_models_question() -> None:
    async with seat(asks("")) as s:
        await s.type("neither")
        await s.press("enter")
        assert (prompts(s), answers(s)) == ([], ["neither"])


async def test_a_number_that_was_on_its_way_begins_a_draft() -> None:
    async with seat(asks("hooks"), quiet=600.0) as s:
        await s.press(*"1", "space", *"file")
        assert answers(s) == [] and s.app.editor.text == "1 file"
