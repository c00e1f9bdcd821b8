"""The requests that the offline model understands, and the steps that answer them, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cockpit.builtin.models.offline.answers import AnswerLanguage, format_sentence
from cockpit.protocol.messages import Json, ToolMessage


@dataclass(frozen=True, slots=True)
class MapIntent:
    path: str = "."


@dataclass(frozen=True, slots=True)
class DefineIntent:
    name: str


@dataclass(frozen=True, slots=True)
class UsesIntent:
    name: str


@dataclass(frozen=True, slots=True)
class FindIntent:
    """Search for `text`, which is a regular expression if `regex`."""

    text: str
    path: str = ""
    glob: str = ""
    regex: bool = False


@dataclass(frozen=True, slots=True)
class ShowIntent:
    """Show lines `start` to `end` (0: all), or the last `tail` lines."""

    path: str
    start: int = 0
    end: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class ListFolderIntent:
    path: str = "."


@dataclass(frozen=True, slots=True)
class FindFileIntent:
    name: str


@dataclass(frozen=True, slots=True)
class GitIntent:
    what: Literal["status", "diff", "log", "show", "blame"]
    path: str = ""
    ref: str = ""
    line: int = 0
    limit: int = 0
    staged: bool = False


@dataclass(frozen=True, slots=True)
class RunTestsIntent:
    target: str = ""


@dataclass(frozen=True, slots=True)
class ShellIntent:
    command: str


@dataclass(frozen=True, slots=True)
class ReplaceIntent:
    """Replace every `old` if `all`, else only one that is unique."""

    old: str
    new: str
    path: str = ""
    glob: str = ""
    all: bool = False


@dataclass(frozen=True, slots=True)
class CreateIntent:
    path: str
    content: str = ""
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class RenameIntent:
    """Rename a symbol or a whole word in the code."""

    old: str
    new: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class DeleteIntent:
    path: str


@dataclass(frozen=True, slots=True)
class MoveIntent:
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class OutlineIntent:
    path: str


@dataclass(frozen=True, slots=True)
class ProblemsIntent:
    path: str = ""


@dataclass(frozen=True, slots=True)
class FormatIntent:
    path: str


@dataclass(frozen=True, slots=True)
class TodoIntent:
    """Add `rows` to the list, or mark `done`; neither: show it."""

    rows: tuple[str, ...] = ()
    done: str = ""


@dataclass(frozen=True, slots=True)
class HelpIntent:
    pass


@dataclass(frozen=True, slots=True)
class ChatIntent:
    kind: Literal["hello", "thanks", "who", "bye"]


@dataclass(frozen=True, slots=True)
class UnknownIntent:
    """A text that was not understood. `held_back`: changes requested with it were left out."""

    text: str
    held_back: bool = False


Intent: TypeAlias = (
    MapIntent
    | DefineIntent
    | UsesIntent
    | FindIntent
    | ShowIntent
    | ListFolderIntent
    | FindFileIntent
    | GitIntent
    | RunTestsIntent
    | ShellIntent
    | ReplaceIntent
    | CreateIntent
    | RenameIntent
    | DeleteIntent
    | MoveIntent
    | OutlineIntent
    | ProblemsIntent
    | FormatIntent
    | TodoIntent
    | HelpIntent
    | ChatIntent
    | UnknownIntent
)
# The intents that change files or run a command.
CHANGE_INTENTS = (
    ShellIntent,
    ReplaceIntent,
    CreateIntent,
    RenameIntent,
    DeleteIntent,
    MoveIntent,
    FormatIntent,
)


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
    """What is known when the next step is chosen: the results of the intent's calls so far, in order, the
    language of the answer, and the `rows` of the todo list as (text, status).
    """

    results: tuple[ToolMessage, ...]
    language: AnswerLanguage
    rows: tuple[tuple[str, str], ...] = ()

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
