"""From a conversation to the next answer: which intents are done, which calls come next.

Everything is worked out anew from the messages, so that a session resumed in another process goes on
where it stood. Knows no wire.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from cockpit.builtin.offline import answers, changes, reading
from cockpit.builtin.offline.grammar import parse
from cockpit.builtin.offline.intents import (
    WRITING,
    Chat,
    Create,
    Define,
    Delete,
    Find,
    FindFile,
    Format,
    Git,
    Help,
    Intent,
    ListFolder,
    Map,
    Move,
    Outline,
    Problems,
    Rename,
    Replace,
    RunTests,
    Shell,
    Show,
    Todo,
    Unknown,
    Uses,
)
from cockpit.builtin.offline.outcome import Do, Say, Situation, Step
from cockpit.builtin.offline.words import HELP, Tongue, tongue_of
from cockpit.protocol.content import Text, plain
from cockpit.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

# Failures these intents read themselves.
READS_FAULTS = (Show, Delete, Move, Shell)
# What goes by symbol first, and by text where that fails.
BY_SYMBOL = (Define, Uses, Outline, Rename)
PATHS = re.compile(r"^(?:biggest files:|  )(\S+\.\w+) \(", re.M)


@dataclass(frozen=True, slots=True)
class Turn:
    """Either the one call that is made next, or (`call` is None) all that is to be said."""

    text: str
    call: Do | None


def next_turn(messages: Sequence[Message], may_call: bool) -> Turn:
    """The answer to a conversation. `may_call` is False where no tool is offered any more."""
    prompt, since = _last_prompt(messages)
    tongue = tongue_of(prompt)
    answered = _answered(since)
    texts: list[str] = []
    for intent in parse(prompt):
        results: list[ToolMessage] = []
        while True:
            step = _step(intent, Situation(tuple(results), tongue, _rows(messages)), messages)
            if isinstance(step, Say):
                texts.append(step.text)
                break
            if not answered:
                return _calling(texts, step, may_call, tongue)
            results.append(answered.pop(0))
    return Turn("\n\n".join(text for text in texts if text), None)


def _calling(texts: list[str], step: Do, may_call: bool, tongue: Tongue) -> Turn:
    # Everything is said in one answer at the end: a frontend that prints only the last message, as
    # headless does, would lose what was said beside an earlier call.
    if may_call:
        return Turn("", step)
    stopped = Situation((), tongue).say("stopped")
    return Turn("\n\n".join([*texts, stopped]), None)


def _last_prompt(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last words of a person, and what came after them."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, UserMessage):
            return _typed(message), messages[at + 1 :]
    return "", ()


def _typed(message: UserMessage) -> str:
    """What a person typed last. Notes in brackets (a summary, what they ran with `!`, a file they
    named) stand beside it and are no request."""
    texts = [block.text for block in message.content if isinstance(block, Text)]
    typed = [text for text in texts if not text.startswith("[")]
    return typed[-1] if typed else plain(message.content)


def _answered(messages: Sequence[Message]) -> list[ToolMessage]:
    """The results of the calls since the prompt, in the order the calls were made."""
    results = {message.call: message for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    return [results[call.id] for call in calls if call.id in results]


def _rows(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """The todo list as the last answered call left it."""
    failed = {one.call for one in messages if isinstance(one, ToolMessage) and one.is_error}
    kept: tuple[tuple[str, str], ...] = ()
    for message in messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            if call.name == "todo" and call.id not in failed:
                kept = _rows_of(call)
    return kept


def _rows_of(call: ToolCall) -> tuple[tuple[str, str], ...]:
    rows = call.arguments.get("rows")
    found = rows if isinstance(rows, list) else []
    return tuple(
        (str(row.get("text", "")), str(row.get("status", "pending")))
        for row in found
        if isinstance(row, dict)
    )


def _step(intent: Intent, now: Situation, messages: Sequence[Message]) -> Step:
    goes_on = isinstance(intent, READS_FAULTS) or (isinstance(intent, BY_SYMBOL) and now.stage == 1)
    if now.results and now.last.is_error and not goes_on:
        return Say(answers.fault(now.last, now.tongue))
    if isinstance(intent, Shell) and now.results and now.last.is_error:
        # A command that ends with a code is no failure of the tool: its output is the answer.
        ran = "[exit code" in now.last.text or "[stopped after" in now.last.text
        return changes.shell(intent, now) if ran else Say(answers.fault(now.last, now.tongue))
    if isinstance(intent, WRITING):
        return _changing(intent, now)
    return _reading(intent, now, messages)


def _changing(intent: Shell | Replace | Create | Rename | Delete | Move | Format, now: Situation) -> Step:
    match intent:
        case Shell():
            return changes.shell(intent, now)
        case Replace():
            return changes.replace(intent, now)
        case Create():
            return changes.create(intent, now)
        case Rename():
            return changes.rename(intent, now)
        case Delete():
            return changes.delete(intent, now)
        case Move():
            return changes.move(intent, now)
        case Format():
            return changes.format_file(intent, now)
        case _:
            assert_never(intent)


def _reading(intent: Intent, now: Situation, messages: Sequence[Message]) -> Step:
    match intent:
        case Map():
            return reading.map_project(intent, now)
        case Define():
            return reading.define(intent, now)
        case Uses():
            return reading.uses(intent, now)
        case Find():
            return reading.find(intent, now)
        case Show():
            return reading.show(intent, now)
        case ListFolder():
            return reading.list_folder(intent, now)
        case FindFile():
            return reading.find_file(intent, now)
        case Git():
            return reading.git(intent, now)
        case RunTests():
            return reading.run_tests(intent, now)
        case Outline():
            return reading.outline(intent, now)
        case Problems():
            return reading.problems(intent, now)
        case Todo():
            return changes.todo(intent, now)
        case Help() | Chat() | Unknown():
            return Say(_talk(intent, now, messages))
        case _:
            return _changing(intent, now)


def _talk(intent: Help | Chat | Unknown, now: Situation, messages: Sequence[Message]) -> str:
    match intent:
        case Chat(kind=kind):
            return now.say(kind)
        case Help():
            return _help(now, messages)
        case Unknown(text=text):
            shown = text if len(text) <= 200 else text[:199] + "…"
            said = now.say("unknown", text=shown) if shown else ""
            kept = now.say("held_back") if intent.held_back else ""
            return "\n\n".join(part for part in (said, kept, _help(now, messages)) if part)
        case _:
            assert_never(intent)


def _help(now: Situation, messages: Sequence[Message]) -> str:
    """The help, with a file and a folder of this project where the conversation has named some."""
    named = [
        path
        for message in messages
        if isinstance(message, ToolMessage) and message.name in ("project_map", "search", "glob")
        for path in re.findall(r"(?:^|\s)([\w./-]+/[\w.-]+\.\w{1,4})\b", message.text)[:1]
    ]
    file = named[-1] if named else "README.md"
    folder = file.rsplit("/", 1)[0] + "/" if "/" in file else "src/"
    return HELP[now.tongue].replace("{file}", file).replace("{folder}", folder)
