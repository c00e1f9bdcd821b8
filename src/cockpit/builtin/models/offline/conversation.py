"""From a conversation to the next answer: which intents are done, which calls come next.

Everything is worked out anew from the messages, so that a session resumed in another process goes on
where it stood. Knows no wire.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from cockpit.builtin.models.offline import answers, change_steps, read_steps
from cockpit.builtin.models.offline.answers import HELP_TEXTS, AnswerLanguage, detect_answer_language
from cockpit.builtin.models.offline.grammar import parse_prompt
from cockpit.builtin.models.offline.intents import (
    CHANGE_INTENTS,
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

# Failures these intents read themselves.
FAULT_READING_INTENTS = (ShowIntent, DeleteIntent, MoveIntent, ShellIntent)
# What goes by symbol first, and by text where that fails.
SYMBOL_INTENTS = (DefineIntent, UsesIntent, OutlineIntent, RenameIntent)
PATHS = re.compile(r"^(?:biggest files:|  )(\S+\.\w+) \(", re.M)


@dataclass(frozen=True, slots=True)
class OfflineReply:
    """Either the one call that is made next, or (`call` is None) all that is to be said."""

    text: str
    call: ToolStep | None


def next_reply(messages: Sequence[Message], may_call: bool) -> OfflineReply:
    """The answer to a conversation. `may_call` is False where no tool is offered any more."""
    prompt, since = _last_prompt(messages)
    tongue = detect_answer_language(prompt)
    answered = _answered_calls(since)
    texts: list[str] = []
    for intent in parse_prompt(prompt):
        results: list[ToolMessage] = []
        while True:
            step = _next_step(intent, StepContext(tuple(results), tongue, _todo_rows(messages)), messages)
            if isinstance(step, AnswerStep):
                texts.append(step.text)
                break
            if not answered:
                return _reply_with_call(texts, step, may_call, tongue)
            results.append(answered.pop(0))
    return OfflineReply("\n\n".join(text for text in texts if text), None)


def _reply_with_call(
    texts: list[str], step: ToolStep, may_call: bool, tongue: AnswerLanguage
) -> OfflineReply:
    # Everything is said in one answer at the end: a frontend that prints only the last message, as
    # headless does, would lose what was said beside an earlier call.
    if may_call:
        return OfflineReply("", step)
    stopped = StepContext((), tongue).say("stopped")
    return OfflineReply("\n\n".join([*texts, stopped]), None)


def _last_prompt(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last words of a person, and what came after them."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, UserMessage):
            return _typed_text(message), messages[at + 1 :]
    return "", ()


def _typed_text(message: UserMessage) -> str:
    """What a person typed last. Notes in brackets (a summary, what they ran with `!`, a file they
    named) stand beside it and are no request."""
    texts = [block.text for block in message.content if isinstance(block, Text)]
    typed = [text for text in texts if not text.startswith("[")]
    return typed[-1] if typed else plain_text(message.content)


def _answered_calls(messages: Sequence[Message]) -> list[ToolMessage]:
    """The results of the calls since the prompt, in the order the calls were made."""
    results = {message.call: message for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    return [results[call.id] for call in calls if call.id in results]


def _todo_rows(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """The todo list as the last answered call left it."""
    failed = {one.call for one in messages if isinstance(one, ToolMessage) and one.is_error}
    kept: tuple[tuple[str, str], ...] = ()
    for message in messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            if call.name == "todo" and call.id not in failed:
                kept = _rows_of_call(call)
    return kept


def _rows_of_call(call: ToolCall) -> tuple[tuple[str, str], ...]:
    rows = call.arguments.get("rows")
    found = rows if isinstance(rows, list) else []
    return tuple(
        (str(row.get("text", "")), str(row.get("status", "pending")))
        for row in found
        if isinstance(row, dict)
    )


def _next_step(intent: Intent, now: StepContext, messages: Sequence[Message]) -> NextStep:
    goes_on = isinstance(intent, FAULT_READING_INTENTS) or (
        isinstance(intent, SYMBOL_INTENTS) and now.stage == 1
    )
    if now.results and now.last.is_error and not goes_on:
        return AnswerStep(answers.format_fault(now.last, now.tongue))
    if isinstance(intent, ShellIntent) and now.results and now.last.is_error:
        # A command that ends with a code is no failure of the tool: its output is the answer.
        ran = "[exit code" in now.last.text or "[stopped after" in now.last.text
        return (
            change_steps.step_shell(intent, now)
            if ran
            else AnswerStep(answers.format_fault(now.last, now.tongue))
        )
    if isinstance(intent, CHANGE_INTENTS):
        return _change_step(intent, now)
    return _read_step(intent, now, messages)


def _change_step(
    intent: ShellIntent
    | ReplaceIntent
    | CreateIntent
    | RenameIntent
    | DeleteIntent
    | MoveIntent
    | FormatIntent,
    now: StepContext,
) -> NextStep:
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
        case _:
            assert_never(intent)


def _read_step(intent: Intent, now: StepContext, messages: Sequence[Message]) -> NextStep:
    match intent:
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
        case TodoIntent():
            return change_steps.step_todo(intent, now)
        case HelpIntent() | ChatIntent() | UnknownIntent():
            return AnswerStep(_answer_talk(intent, now, messages))
        case _:
            return _change_step(intent, now)


def _answer_talk(
    intent: HelpIntent | ChatIntent | UnknownIntent, now: StepContext, messages: Sequence[Message]
) -> str:
    match intent:
        case ChatIntent(kind=kind):
            return now.say(kind)
        case HelpIntent():
            return _format_help(now, messages)
        case UnknownIntent(text=text):
            shown = text if len(text) <= 200 else text[:199] + "…"
            said = now.say("unknown", text=shown) if shown else ""
            kept = now.say("held_back") if intent.held_back else ""
            return "\n\n".join(part for part in (said, kept, _format_help(now, messages)) if part)
        case _:
            assert_never(intent)


def _format_help(now: StepContext, messages: Sequence[Message]) -> str:
    """The help, with a file and a folder of this project where the conversation has named some."""
    named = [
        path
        for message in messages
        if isinstance(message, ToolMessage) and message.name in ("project_map", "search", "glob")
        for path in re.findall(r"(?:^|\s)([\w./-]+/[\w.-]+\.\w{1,4})\b", message.text)[:1]
    ]
    file = named[-1] if named else "README.md"
    folder = file.rsplit("/", 1)[0] + "/" if "/" in file else "src/"
    return HELP_TEXTS[now.tongue].replace("{file}", file).replace("{folder}", folder)
