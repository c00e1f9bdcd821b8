"""`@role` where a prompt begins: completed from the roles. What it does is the core's part: the rest of the
prompt is that role's task."""

from cockpit.plugin.context import Context
from cockpit.plugin.values import Mention
from cockpit.protocol.clean import one_line
from cockpit.protocol.content import Block
from cockpit.protocol.queries import Completion


async def complete(word: str, context: Context) -> tuple[Completion, ...]:
    """The roles whose name holds what was typed."""
    wanted = word.lower()
    found = (one for one in context.agents.roles() if wanted in one.name.lower())
    return tuple(
        Completion(f"@{one.name} ", one.name, f"subagent: {one_line(one.description, 80)}", 0, 0)
        for one in found
    )


async def expand(word: str, context: Context) -> Block | None:
    """Nothing stands beside the words for a role."""
    return None


def mention() -> Mention:
    return Mention("roles", "@", complete, expand)
