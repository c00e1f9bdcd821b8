"""What is sent to the model: a byte-stable prefix, a volatile suffix, the history and a reminder.

The prefix changes only when one of its sources does. A source that misses its deadline is used in the next
request; one that raises is left out and reported once.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.models import ModelChoice
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.transcript.history import estimate_tokens, message_text
from cockpit.plugin.context import Context
from cockpit.plugin.models import ModelRequest
from cockpit.plugin.values import ContextSource
from cockpit.protocol.queries import ContextRow, ContextTable


@dataclass(frozen=True, slots=True)
class CollectedContext:
    """The texts of the context sources for one step, by place."""

    prefix: str
    suffix: str
    reminder: str

    @property
    def system(self) -> str:
        return f"{self.prefix}\n\n{self.suffix}".strip()


async def collect_context(agent: Agent, first_step: bool, steps: bool = True) -> CollectedContext:
    """Ask the sources that are due: `each=session` once, `turn` at the first step, `step` always.

    A listing passes `steps=False` and does not ask the latter: a text they give only once must reach the
    model.
    """
    sources = sorted(
        agent.services.catalog.all(ContextSource), key=lambda source: (source.order, source.name)
    )
    due = [source for source in sources if _is_due(agent, source, first_step, steps)]
    await asyncio.gather(*(_run_source(agent, source) for source in due))
    parts: dict[str, list[str]] = {"prefix": [], "suffix": [], "reminder": []}
    if agent.role is not None:
        parts["prefix"].append(agent.role.instructions)
    for source in sources:
        text = agent.context.fixed.get(source.name, "")
        if text:
            parts[source.place].append(text)
    return CollectedContext(*("\n\n".join(parts[place]) for place in ("prefix", "suffix", "reminder")))


def build_request(
    agent: Agent, choice: ModelChoice, collected: CollectedContext, tools: bool, extra: str = ""
) -> ModelRequest:
    """The request for one model. `extra` is a final instruction of the turn itself."""
    reminder = "\n\n".join(part for part in (collected.reminder, extra) if part)
    agent.window_use.overhead = (
        estimate_tokens(collected.system) + estimate_tokens(reminder) + agent.toolbox.tokens()
    )
    return ModelRequest(
        model=choice.id,
        system=collected.system,
        messages=agent.history.messages(),
        tools=agent.toolbox.schemas() if tools and choice.facts.tools else (),
        reminder=reminder,
        max_tokens=choice.facts.max_output,
        root=agent.services.root,
    )


async def context_table(agent: Agent) -> ContextTable:
    """The parts of the next request with estimates of their tokens."""
    collected = await collect_context(agent, first_step=False, steps=False)
    schemas = agent.toolbox.schema_rows()
    rows = [
        ContextRow(0, "instructions", estimate_tokens(collected.prefix)),
        ContextRow(0, "surroundings", estimate_tokens(collected.suffix + collected.reminder)),
        ContextRow(0, f"{len(schemas)} tools", estimate_tokens(json.dumps(schemas))),
    ]
    if agent.history.summary:
        rows.append(ContextRow(0, "summary", estimate_tokens(agent.history.summary)))
    for entry in agent.history.entries:
        text = message_text(entry.message)
        label = " ".join(text.split())[:60] or type(entry.message).__name__
        rows.append(ContextRow(entry.seq, label, estimate_tokens(text), entry.state))
    digest = hashlib.sha256(collected.prefix.encode()).hexdigest()[:12]
    return ContextTable(tuple(rows), agent.window(), f"{digest}-{agent.toolbox.fingerprint()}")


def _is_due(agent: Agent, source: ContextSource, first_step: bool, steps: bool) -> bool:
    if source.name in agent.context.late:
        return steps or source.each != "step"
    match source.each:
        case "session":
            return source.name not in agent.context.fixed
        case "turn":
            return first_step or source.name not in agent.context.fixed
        case "step":
            return steps


async def _run_source(agent: Agent, source: ContextSource) -> None:
    """Store the source's text for this request, or for the next one when it is late."""
    late = agent.context.late.pop(source.name, None)
    if late is not None:
        agent.context.fixed[source.name] = late
        return
    plugin = agent.services.catalog.owner(ContextSource, source.name)
    context = build_context(agent, plugin)
    task = asyncio.ensure_future(_collect_source(source, context))
    done, _ = await asyncio.wait((task,), timeout=source.deadline_ms / 1000)
    if done:
        _store_text(agent, source, task)
    else:
        agent.context.fixed.pop(source.name, None)
        task.add_done_callback(lambda task: _store_late_text(agent, source, task))


async def _collect_source(source: ContextSource, context: Context) -> str:
    try:
        return await source.collect(context)
    # Raised out of a task it would end the whole program.
    except SystemExit as error:
        raise RuntimeError(f"it called sys.exit({error})") from error


def _store_late_text(agent: Agent, source: ContextSource, task: "asyncio.Future[str]") -> None:
    if not task.cancelled() and task.exception() is None:
        agent.context.late[source.name] = task.result()


def _store_text(agent: Agent, source: ContextSource, task: "asyncio.Future[str]") -> None:
    error = task.exception()
    agent.context.fixed[source.name] = task.result() if error is None else ""
    if error is not None and source.name not in agent.context.warned:
        agent.context.warned.add(source.name)
        text = f"the context source {source.name} failed: {type(error).__name__}: {error}"
        agent.warn(text, "the prompt is sent without it")
