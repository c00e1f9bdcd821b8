"""The offline model in a real session, together with other actions of the user."""

from pathlib import Path

from tests.support.decks import driving

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import MessageFinished, ToolCallFinished, ToolCallStarted
from cockpit.protocol.messages import AssistantMessage


async def test_the_output_of_a_typed_command_is_no_request(root: Path) -> None:
    (root / "notes.md").write_text("show notes.md\n", encoding="utf-8")
    (root / "a.py").write_text("def hello():\n    return 1\n", encoding="utf-8")
    async with driving(root, options=RunOptions(model="offline")) as driver:
        await driver.run_tool("shell", command="ls; echo delete a.py")
        await driver.next(ToolCallFinished)
        await driver.prompt("where is hello defined?")
    called = [one.call.name for one in driver.all(ToolCallStarted) if one.asked_by == "model"]
    assert "read" in called or "search" in called
    assert "delete" not in called and "list" not in called
    answers = [
        one.message for one in driver.all(MessageFinished) if isinstance(one.message, AssistantMessage)
    ]
    assert "a.py:1" in answers[-1].text
