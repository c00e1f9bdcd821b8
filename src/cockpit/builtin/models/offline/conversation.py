"""Chooses the next tool call or the final answer of a conversation.

Everything is computed from the messages each time, so that a session continues when it is resumed in another
process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cockpit.builtin.models.offline.answers import detect_answer_language, format_fault
from cockpit.builtin.models.offline.grammar import parse_prompt
from cockpit.builtin.models.offline.intents import AnswerStep, Intent, NextStep, StepContext, ToolStep
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage


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
        while isinstance(
            step := _next_step(intent, StepContext(tuple(results), language, messages)), ToolStep
        ):
            if answered:
                results.append(answered.pop(0))
            elif may_call:
                # All texts go into the final answer: a frontend that prints only the last message, as
                # headless does, would lose text that accompanies an earlier call.
                return OfflineReply("", step)
            else:
                stopped = StepContext((), language).say("stopped")
                return OfflineReply("\n\n".join([*texts, stopped]), None)
        texts.append(step.text)
    return OfflineReply("\n\n".join(text for text in texts if text), None)


def _next_step(intent: Intent, now: StepContext) -> NextStep:
    if now.results and now.last.is_error and not intent.handles_fault(now):
        return AnswerStep(format_fault(now.last, now.language))
    return intent.step(now)


def _last_prompt(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, UserMessage):
            # Blocks in brackets (a summary, output of a `!` command, a mentioned file) were not typed.
            texts = [block.text for block in message.content if isinstance(block, Text)]
            typed = [text for text in texts if not text.startswith("[")]
            return typed[-1] if typed else plain_text(message.content), messages[at + 1 :]
    return "", ()


def _answered_calls(messages: Sequence[Message]) -> list[ToolMessage]:
    """The results of the calls since the prompt, in the order the calls were made."""
    results = {message.call: message for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    return [results[call.id] for call in calls if call.id in results]
