"""What the walk over a line's tree brings out: simple commands, with what flows into them. Values only."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cockpit.safety.bash.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Flow:
    """What a command writes or reads: `taints` say where it came from (`net`, `decoded`, `secret`),
    `text` is all of it where it is known. `piped` is False for the terminal's own stdin."""

    taints: frozenset[str] = NOTHING
    text: str | None = None
    piped: bool = False

    def joined(self, other: "Flow") -> "Flow":
        """Both, one after the other."""
        text = None if self.text is None or other.text is None else self.text + other.text
        return Flow(self.taints | other.taints, text, self.piped or other.piped)


SILENT = Flow(text="")


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` as written (`>`, `>>`, `<`, `&>`, ...), `target` its word; for `2>&1` the number."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        return ">" in self.operator and not self.copies

    @property
    def reads(self) -> bool:
        return self.operator in ("<", "<>")

    @property
    def copies(self) -> bool:
        """A copy of another file descriptor, not a file."""
        text = self.target.text
        return self.operator.endswith("&") and (text.rstrip("-").isdigit() or text == "-")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command. `cwd` is where it runs, None where that is not known; `near` is the best guess
    and only ever used against it. `nested` says that its words lie inside a string and not in the line.
    `under` are the wrappers around it. `program` is the name of the program without its folder, ""
    where there is none; `arguments` the words behind it, as far as they can be guessed."""

    text: str
    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    cwd: str | None = None
    near: str = ""
    stdin: Flow = field(default_factory=Flow)
    nested: bool = False
    under: tuple[str, ...] = ()
    program: str = field(init=False, default="")
    arguments: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        name = self.words[0].guess if self.words else ""
        # Asked for dozens of times by those who judge.
        object.__setattr__(self, "program", name.rstrip("/").rpartition("/")[2])
        object.__setattr__(self, "arguments", tuple(word.guess for word in self.words[1:]))


@dataclass(slots=True)
class Scope:
    """What is known at one point of the line. Copied where bash forks."""

    cwd: str | None
    near: str
    names: dict[str, Word]
    functions: "dict[str, Node]"
    arguments: tuple[Word, ...] | None = ()
    calling: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    doubtful: bool = False

    def copy(self) -> "Scope":
        return Scope(
            self.cwd,
            self.near,
            dict(self.names),
            dict(self.functions),
            self.arguments,
            self.calling,
            self.under,
            self.doubtful,
        )

    def move(self, folder: str | None) -> None:
        """After `cd`: None is a folder nobody knows."""
        self.cwd = folder
        if folder is not None:
            self.near = folder
