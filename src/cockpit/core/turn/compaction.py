"""Frees room in the context window: first by cutting old tool results, then by summarising the older part.

A call is never separated from its result, and at least four messages stay unchanged. After three failed
summaries in a row only the user can compact, with /compact.
"""

from collections.abc import Mapping

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.guards import run_guards
from cockpit.core.agent.models import OFFLINE_MODEL
from cockpit.core.agent.plugin_context import BudgetedModels
from cockpit.core.transcript.history import PRUNED_LENGTH, HistoryEntry, estimate_tokens, message_text
from cockpit.plugin.models import ModelFailed, ModelRequest
from cockpit.plugin.safety import Guarded
from cockpit.protocol.content import Text
from cockpit.protocol.events import ContextCompacted
from cockpit.protocol.messages import AssistantMessage, Json, ToolMessage, UserMessage

FULL_RATIO = 0.8
TAIL_TOKENS = (6_000, 20_000)
TAIL_MESSAGES = 4
# With /compact only the last four messages stay unchanged.
MANUAL_TAIL_TOKENS = 0
MAX_FAILURES = 3
INSTRUCTIONS = (
    "Summarise this conversation between a developer and a coding agent for the agent, which will continue "
    "with only your summary. Keep: what the user wants and decided, relevant files and places (path:line), "
    "what was changed and run with which outcome, open problems, the next step. Facts only, no preamble."
)


def is_full(agent: Agent) -> bool:
    """Whether the next request would fill more than four fifths of the window."""
    return context_size(agent) > FULL_RATIO * agent.window()


def context_size(agent: Agent) -> int:
    """Tokens of the context: the size the server reported last plus what was added since, or an estimate."""
    history, use = agent.history.tokens(), agent.window_use
    return use.reported + max(0, history - use.counted) if use.reported else history + use.overhead


async def compact(agent: Agent, focus: str = "", asked: bool = False) -> bool:
    """Free room, and return whether that succeeded. `asked`: the user asked for it."""
    before = context_size(agent)
    if not asked and _prune(agent, before):
        return True
    if agent.window_use.failed_compactions >= MAX_FAILURES and not asked:
        return False
    kept_from = _find_cut(agent, MANUAL_TAIL_TOKENS if asked else _tail_tokens(agent.window()))
    if kept_from is None:
        return False
    older = [entry for entry in agent.history.entries if entry.seq < kept_from and entry.state != "dropped"]
    facts: dict[str, Json] = {"trigger": "manual" if asked else "auto", "focus": focus}
    summary = await _summarise(agent, older, facts)
    if summary is None:
        agent.window_use.failed_compactions += 1
        return False
    agent.window_use.failed_compactions = 0
    agent.window_use.reported = 0
    freed = sum(estimate_tokens(message_text(entry.message)) for entry in older) - estimate_tokens(summary)
    agent.emit(ContextCompacted(summary, kept_from, before, max(0, before - freed)))
    await _run_compacted_guards(agent, summary, facts)
    return True


async def _run_compacted_guards(agent: Agent, summary: str, facts: Mapping[str, Json]) -> None:
    """Add the texts of guards to a conversation that starts again with its summary."""
    added = (await run_guards(agent, Guarded("compacted", summary, facts=facts))).added
    if not agent.depth:
        again: dict[str, Json] = {"source": "compact", "model": agent.state.model}
        added += (await run_guards(agent, Guarded("session_start", facts=again))).added
    for text in added:
        agent.add_message(text)


def _prune(agent: Agent, before: int) -> bool:
    """Cut the bodies of old tool results, when that alone frees a fifth of the window."""
    entries = agent.history.entries
    kept_from = _find_cut(agent, _tail_tokens(agent.window()))
    if kept_from is None:
        return False
    old = (entry for entry in entries if entry.seq < kept_from and isinstance(entry.message, ToolMessage))
    texts = (message_text(agent.history.as_sent(entry)) for entry in old)
    freed = sum(estimate_tokens(text) - estimate_tokens(text[:PRUNED_LENGTH]) for text in texts)
    if freed < agent.window() // 5:
        return False
    agent.window_use.reported = 0
    agent.emit(ContextCompacted("", kept_from, before, max(0, before - freed)))
    return True


def _tail_tokens(window: int) -> int:
    """How much of the end stays unchanged: an eighth of the window, 6,000 to 20,000 tokens."""
    least, most = TAIL_TOKENS
    return min(most, max(least if window > 4 * least else 0, window // 8))


def _find_cut(agent: Agent, budget: int) -> int | None:
    """The seq where the kept tail begins, between whole exchanges; None when everything is tail."""
    entries = agent.history.entries
    size = 0
    cut: int | None = None
    for at in range(len(entries) - 1, 0, -1):
        size += estimate_tokens(message_text(entries[at].message))
        if len(entries) - at < TAIL_MESSAGES:
            continue
        if cut is not None and size > budget:
            break
        if isinstance(entries[at].message, UserMessage | AssistantMessage):
            cut = entries[at].seq
            if size > budget:
                break
    return cut


async def _summarise(agent: Agent, older: list[HistoryEntry], facts: Mapping[str, Json]) -> str | None:
    """A summary of the older part, by a model, or extracts where no model is available."""
    lines = [_summary_line(entry) for entry in older]
    if agent.history.summary:
        lines.insert(0, f"Earlier summary: {agent.history.summary}")
    budget = 4 * max(1_000, agent.window() // 2)
    text = "\n\n".join(lines)[-budget:]
    outcome = await run_guards(agent, Guarded("compaction", text, facts=facts))
    if refusal := outcome.refusal or outcome.halt:
        agent.warn(f"the summary was refused by {refusal}")
        return None
    focus = facts["focus"]
    instructions = f"{INSTRUCTIONS}\nKeep above all: {focus}" if focus else INSTRUCTIONS
    request = ModelRequest("", instructions, (UserMessage((Text(outcome.guarded.text),)),), max_tokens=2_000)
    if agent.choices()[0].provider.name == OFFLINE_MODEL:
        return _extract_lines(older)
    try:
        return (await BudgetedModels(agent).complete("default", request)).text.strip() or None
    except ModelFailed as error:
        agent.warn(f"the conversation could not be summarised: {error.message}")
        return None


def _summary_line(entry: HistoryEntry) -> str:
    match entry.message:
        case UserMessage():
            return f"User: {message_text(entry.message)}"
        case AssistantMessage():
            return f"Agent: {message_text(entry.message)}"
        case ToolMessage(name=name, text=text):
            return f"Result of {name}: {text[: 2 * PRUNED_LENGTH]}"


def _extract_lines(older: list[HistoryEntry]) -> str:
    """Questions and answers, one line each, without a model."""
    lines = [
        " ".join(_summary_line(entry).split())[:200]
        for entry in older
        if not isinstance(entry.message, ToolMessage)
    ]
    return "\n".join(lines[-40:])
