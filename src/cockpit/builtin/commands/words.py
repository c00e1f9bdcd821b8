"""Commands whose part is not there yet and that say so."""

from collections.abc import Awaitable, Callable

from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Text

LATER = {
    "memory": (
        "What is remembered across sessions",
        "memory comes with a later version; AGENTS.md is read today",
    ),
}


def commands() -> tuple[Command, ...]:
    return tuple(Command(name, text, _later(name, why)) for name, (text, why) in LATER.items())


def _later(name: str, why: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Show((Text(f"/{name} is not there yet: {why}."),))

    return run
