"""What a person can ask of the offline model: values, and nothing else.

What an intent comes to next: a call to make or something to say; and what is known by then.
"""

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
    """Look for `text`: itself, or (`regex`) a regular expression."""

    text: str
    path: str = ""
    glob: str = ""
    regex: bool = False


@dataclass(frozen=True, slots=True)
class ShowIntent:
    """Lines `start` to `end` (0: all); `tail` is how many of the last ones."""

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
    """`all` was said: every place; otherwise only an `old` that stands in one place is replaced."""

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
    """A name in the code, wherever it stands as a whole word."""

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
    """What was not understood; `held_back` says that a change beside it was left undone."""

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
# Those that change files or run a program of the person's choice.
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
    """Call this tool next."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """The intent is over; `text` is its answer."""

    text: str


NextStep: TypeAlias = ToolStep | AnswerStep


@dataclass(frozen=True, slots=True)
class StepContext:
    """The results of this intent's calls so far, in order; the language to answer in; and what the
    conversation holds already (`rows` of the todo list as (text, status), paths for examples)."""

    results: tuple[ToolMessage, ...]
    tongue: AnswerLanguage
    rows: tuple[tuple[str, str], ...] = ()

    def by_text(self) -> "StepContext":
        """Without the first call: what went by symbol found nothing, so it goes by text from here."""
        return replace(self, results=self.results[1:])

    @property
    def stage(self) -> int:
        return len(self.results)

    @property
    def last(self) -> ToolMessage:
        return self.results[-1]

    def say(self, key: str, **values: object) -> str:
        return format_sentence(self.tongue, key, **values)
