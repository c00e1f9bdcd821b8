"""Chooses the next tool call or the final answer of a conversation.

Everything is computed from the messages each time, so that a session continues when it is resumed in another
process.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from cockpit.builtin.models.offline import answers, change_steps, read_steps
from cockpit.builtin.models.offline.answers import HELP_TEXTS, AnswerLanguage, detect_answer_language
from cockpit.builtin.models.offline.grammar import parse_prompt
from cockpit.builtin.models.offline.intents import (
    AnswerStep,
    ChatIntent,
    CreateIntent,
    DefineIntent,
    DeleteIntent,
    FindFileIntent,
    FindIntent,
    FormatIntent,
    GitIntent,
    HelpIntent,
    Intent,
    ListFolderIntent,
    MapIntent,
    MoveIntent,
    NextStep,
    OutlineIntent,
    ProblemsIntent,
    RenameIntent,
    ReplaceIntent,
    RunTestsIntent,
    ShellIntent,
    ShowIntent,
    StepContext,
    TodoIntent,
    ToolStep,
    UnknownIntent,
    UsesIntent,
)
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

# These intents handle a failed call themselves.
FAULT_READING_INTENTS = (ShowIntent, DeleteIntent, MoveIntent)
# These intents search by symbol first, and by text if that fails.
SYMBOL_INTENTS = (DefineIntent, UsesIntent, OutlineIntent, RenameIntent)


@dataclass(frozen=True, slots=True)
class OfflineReply:
    """The next call, or the final answer if `call` is None."""

    text: str
    call: ToolStep | None


def next_reply(messages: Sequence[Message], may_call: bool) -> OfflineReply:
    """The reply to a conversation. `may_call` is False if the request has no tools."""
    prompt, since = _last_prompt(messages)
    language = detect_answer_language(prompt)
    answered = _answered_calls(since)
    texts: list[str] = []
    for intent in parse_prompt(prompt):
        results: list[ToolMessage] = []
        while True:
            step = _next_step(intent, StepContext(tuple(results), language, _todo_rows(messages)), messages)
            if isinstance(step, AnswerStep):
                texts.append(step.text)
                break
            if not answered:
                return _reply_with_call(texts, step, may_call, language)
            results.append(answered.pop(0))
    return OfflineReply("\n\n".join(text for text in texts if text), None)


def _reply_with_call(
    texts: list[str], step: ToolStep, may_call: bool, language: AnswerLanguage
) -> OfflineReply:
    # All texts go into the final answer: a frontend that prints only the last message, as headless does,
    # would lose text that accompanies an earlier call.
    if may_call:
        return OfflineReply("", step)
    stopped = StepContext((), language).say("stopped")
    return OfflineReply("\n\n".join([*texts, stopped]), None)


def _last_prompt(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last prompt of the user, and the messages after it."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, UserMessage):
            return _typed_text(message), messages[at + 1 :]
    return "", ()


def _typed_text(message: UserMessage) -> str:
    """The text that the user typed.

    Blocks in brackets (a summary, output of a `!` command, a mentioned file) are notes.
    """
    texts = [block.text for block in message.content if isinstance(block, Text)]
    typed = [text for text in texts if not text.startswith("[")]
    return typed[-1] if typed else plain_text(message.content)


def _answered_calls(messages: Sequence[Message]) -> list[ToolMessage]:
    """The results of the calls since the prompt, in the order the calls were made."""
    results = {message.call: message for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    return [results[call.id] for call in calls if call.id in results]


def _todo_rows(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """The todo list after the last successful call."""
    failed = {message.call for message in messages if isinstance(message, ToolMessage) and message.is_error}
    rows: tuple[tuple[str, str], ...] = ()
    for message in messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            if call.name == "todo" and call.id not in failed:
                rows = _rows_of_call(call)
    return rows


def _rows_of_call(call: ToolCall) -> tuple[tuple[str, str], ...]:
    rows = call.arguments.get("rows")
    return tuple(
        (str(row.get("text", "")), str(row.get("status", "pending")))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    )


def _next_step(intent: Intent, now: StepContext, messages: Sequence[Message]) -> NextStep:
    if now.results and now.last.is_error and not _handles_fault(intent, now):
        return AnswerStep(answers.format_fault(now.last, now.language))
    match intent:
        case ShellIntent():
            return change_steps.step_shell(intent, now)
        case ReplaceIntent():
            return change_steps.step_replace(intent, now)
        case CreateIntent():
            return change_steps.step_create(intent, now)
        case RenameIntent():
            return change_steps.step_rename(intent, now)
        case DeleteIntent():
            return change_steps.step_delete(intent, now)
        case MoveIntent():
            return change_steps.step_move(intent, now)
        case FormatIntent():
            return change_steps.step_format(intent, now)
        case TodoIntent():
            return change_steps.step_todo(intent, now)
        case MapIntent():
            return read_steps.step_map(intent, now)
        case DefineIntent():
            return read_steps.step_define(intent, now)
        case UsesIntent():
            return read_steps.step_uses(intent, now)
        case FindIntent():
            return read_steps.step_find(intent, now)
        case ShowIntent():
            return read_steps.step_show(intent, now)
        case ListFolderIntent():
            return read_steps.step_list_folder(intent, now)
        case FindFileIntent():
            return read_steps.step_find_file(intent, now)
        case GitIntent():
            return read_steps.step_git(intent, now)
        case RunTestsIntent():
            return read_steps.step_run_tests(intent, now)
        case OutlineIntent():
            return read_steps.step_outline(intent, now)
        case ProblemsIntent():
            return read_steps.step_problems(intent, now)
        case ChatIntent(kind=kind):
            return AnswerStep(now.say(kind))
        case HelpIntent():
            return AnswerStep(_format_help(now, messages))
        case UnknownIntent():
            return AnswerStep(_answer_unknown(intent, now, messages))
        case _:
            assert_never(intent)


def _handles_fault(intent: Intent, now: StepContext) -> bool:
    """Whether the intent's own step continues after the last call failed."""
    if isinstance(intent, ShellIntent):
        # A command that ends with an error code has run: its output is the answer.
        return "[exit code" in now.last.text or "[stopped after" in now.last.text
    return isinstance(intent, FAULT_READING_INTENTS) or (
        isinstance(intent, SYMBOL_INTENTS) and now.stage == 1
    )


def _answer_unknown(intent: UnknownIntent, now: StepContext, messages: Sequence[Message]) -> str:
    shown = intent.text if len(intent.text) <= 200 else intent.text[:199] + "…"
    parts = [now.say("unknown", text=shown)] if shown else []
    if intent.held_back:
        parts.append(now.say("held_back"))
    return "\n\n".join([*parts, _format_help(now, messages)])


def _format_help(now: StepContext, messages: Sequence[Message]) -> str:
    """The help, with a file and a folder of this project if a result has named some."""
    named = [
        path
        for message in messages
        if isinstance(message, ToolMessage) and message.name in ("project_map", "search", "glob")
        for path in re.findall(r"(?:^|\s)([\w./-]+/[\w.-]+\.\w{1,4})\b", message.text)[:1]
    ]
    file = named[-1] if named else "README.md"
    folder = file.rsplit("/", 1)[0] + "/" if "/" in file else "src/"
    return HELP_TEXTS[now.language].replace("{file}", file).replace("{folder}", folder)
