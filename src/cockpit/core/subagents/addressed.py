"""A prompt that begins with `@role`: a person gives a task to a subagent without asking the model to."""

import re
from dataclasses import dataclass

from cockpit.core.subagents.roles import called
from cockpit.core.turn import Turn
from cockpit.errors import CockpitError
from cockpit.plugin.values import Role
from cockpit.protocol.content import Block, Text, plain
from cockpit.protocol.events import MessageFinished, TurnFinished
from cockpit.protocol.messages import AssistantMessage

NAMED = re.compile(r"\s*@([A-Za-z0-9][\w.:-]*)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Addressed:
    """The role that is spoken to, and what it is told."""

    role: Role
    task: str

    async def work(self, turn: Turn) -> TurnFinished:
        """The turn: the subagent's report is its answer."""
        agent = turn.agent
        try:
            handle = await agent.agents.open(self.role.name, self.task)
            report = await handle.wait()
        except CockpitError as error:
            return turn.finished("error", message=str(error))
        answer = AssistantMessage(report.text, model=handle.id)
        agent.host.log.emit(MessageFinished(agent.host.new_id(), answer), agent.path)
        turn.usage += report.usage
        is_error = report.stop_reason == "error"
        said = report.text.partition("\n")[0] if is_error else ""
        return turn.finished(report.stop_reason, message=said)


def addressed(roles: tuple[Role, ...], content: tuple[Block, ...]) -> Addressed | None:
    """Whom `content` speaks to with its first word; None for the main agent. Only a role's very name (or one
    of its aliases) counts: `@src/review.py` is a file."""
    first = content[0] if content else None
    found = NAMED.match(first.text) if isinstance(first, Text) else None
    if first is None or found is None or not isinstance(first, Text):
        return None
    role = called(roles, found[1])
    if role is None:
        return None
    rest = plain((Text(first.text[found.end() :].strip()), *content[1:])).strip()
    task = "\n\n".join(part for part in (role.prompt, rest) if part)
    return Addressed(role, task) if task else None
