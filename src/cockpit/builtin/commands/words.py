"""Commands that become prompts, and those whose part is not there yet and say so."""

from collections.abc import Awaitable, Callable

from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Text

REVIEW = (
    "Review the changes in the working tree{about}: read the git diff and the code around it. Report real "
    "defects only, each with path:line, why it fails, and the smallest fix; say so if there are none."
)
LATER = {
    "skill": ("Use a skill", "skills come with a later version"),
    "memory": (
        "What is remembered across sessions",
        "memory comes with a later version; AGENTS.md is read today",
    ),
}


def commands() -> tuple[Command, ...]:
    later = (Command(name, text, _later(name, why)) for name, (text, why) in LATER.items())
    review = Command("review", "Review the changes in the working tree", _review, "[what to look at]")
    return (review, *later)


async def _review(invoked: Invoked, context: Context) -> CommandAnswer:
    about = f", above all {invoked.text}" if invoked.text else ""
    return AsPrompt(REVIEW.format(about=about))


def _later(name: str, why: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Show((Text(f"/{name} is not there yet: {why}."),))

    return run
