"""Commands that a frontend carries out: each answers with the name of one of its actions."""

from collections.abc import Awaitable, Callable

from cockpit.plugin.context import Context
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked

ACTIONS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("callers", "Who calls a symbol", "", ()),
    ("clear", "Empty the screen; the conversation stays", "", ()),
    ("compact", "Summarise the older part of the conversation", "[what to keep]", ()),
    ("copy", "Copy the last answer", "", ()),
    ("display", "What the Trace shows: thoughts, tools", "[thoughts|tools]", ("live",)),
    ("exit", "Leave; the session is kept", "", ("quit",)),
    ("new", "Begin a new session", "", ()),
    ("outline", "Go to a symbol of the file at hand", "", ()),
    ("problems", "What the language servers find wrong", "", ()),
    ("references", "Where a symbol is used", "", ()),
    ("rename", "Rename a symbol everywhere", "", ()),
    ("resume", "Go on with a stored session", "[id]", ()),
    ("rewind", "Go back to before a turn; `undo` takes that back", "[undo]", ()),
    ("sessions", "The sessions of this folder", "", ()),
    ("settings", "Every setting, its value and where that comes from", "", ("config",)),
    ("symbols", "Go to a symbol", "", ()),
    ("theme", "Choose colours", "[name]", ()),
    ("trust", "Trust this folder, or stop trusting it", "[yes|no]", ()),
)


def commands() -> tuple[Command, ...]:
    plain = tuple(Command(name, text, _acting(name), hint, aliases) for name, text, hint, aliases in ACTIONS)
    return (
        *plain,
        Command("mode", "Change the permission mode", _acting("mode"), "[ask|auto-edit|plan|full|deny]"),
    )


def _acting(action: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Action(action, {"text": invoked.text})

    return run
