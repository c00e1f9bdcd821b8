"""What an intent is: a request that the offline model understands, and the steps that answer it.

`read_intents` and `change_intents` define the others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from cockpit.builtin.models.offline.answers import HELP_TEXTS, AnswerLanguage, format_sentence
from cockpit.protocol.messages import AssistantMessage, Json, Message, ToolMessage


@dataclass(frozen=True, slots=True)
class ToolStep:
    """The tool to call next."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """The answer that completes an intent."""

    text: str


NextStep: TypeAlias = ToolStep | AnswerStep


@dataclass(frozen=True, slots=True)
class StepContext:
    """The results of an intent's calls so far, the language of the answer, and the whole conversation."""

    results: tuple[ToolMessage, ...]
    language: AnswerLanguage
    messages: Sequence[Message] = ()

    def by_text(self) -> "StepContext":
        """The context without the first call: the search by symbol found nothing, so text is searched."""
        return replace(self, results=self.results[1:])

    @property
    def stage(self) -> int:
        return len(self.results)

    @property
    def last(self) -> ToolMessage:
        return self.results[-1]

    def say(self, key: str, **values: object) -> str:
        return format_sentence(self.language, key, **values)

    def todo_rows(self) -> list[tuple[str, str]]:
        """The todo list after the last successful call, as (text, status)."""
        failed = {
            result.call for result in self.messages if isinstance(result, ToolMessage) and result.is_error
        }
        rows: Json = []
        for message in self.messages:
            for call in message.calls if isinstance(message, AssistantMessage) else ():
                if call.name == "todo" and call.id not in failed:
                    rows = call.arguments.get("rows")
        return [
            (str(row.get("text", "")), str(row.get("status", "pending")))
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict)
        ]

    def help(self) -> str:
        """The help, with a file and a folder of this project if a result has named some."""
        named = [
            path
            for message in self.messages
            if isinstance(message, ToolMessage) and message.name in ("project_map", "search", "glob")
            for path in re.findall(r"(?:^|\s)([\w./-]+/[\w.-]+\.\w{1,4})\b", message.text)[:1]
        ]
        file = named[-1] if named else "README.md"
        folder = file.rsplit("/", 1)[0] + "/" if "/" in file else "src/"
        return HELP_TEXTS[self.language].replace("{file}", file).replace("{folder}", folder)


@dataclass(frozen=True, slots=True)
class Intent:
    """A request of the user. `changes` means that it changes files or runs a command."""

    changes: ClassVar[bool] = False

    def step(self, now: StepContext) -> NextStep:
        """The next tool call, or the answer."""
        raise NotImplementedError

    def handles_fault(self, now: StepContext) -> bool:
        """Whether `step` continues after the last call failed. Otherwise the failure is the answer."""
        return False


@dataclass(frozen=True, slots=True)
class HelpIntent(Intent):
    def step(self, now: StepContext) -> NextStep:
        return AnswerStep(now.help())


@dataclass(frozen=True, slots=True)
class ChatIntent(Intent):
    kind: Literal["hello", "thanks", "who", "bye"]

    def step(self, now: StepContext) -> NextStep:
        return AnswerStep(now.say(self.kind))


@dataclass(frozen=True, slots=True)
class UnknownIntent(Intent):
    """A text that was not understood. `held_back`: changes requested with it were left out."""

    text: str
    held_back: bool = False

    def step(self, now: StepContext) -> NextStep:
        shown = self.text if len(self.text) <= 200 else self.text[:199] + "…"
        parts = [now.say("unknown", text=shown)] if shown else []
        if self.held_back:
            parts.append(now.say("held_back"))
        return AnswerStep("\n\n".join([*parts, now.help()]))
