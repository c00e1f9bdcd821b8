"""One instruction file as a model reads it: imports put in, comments for people left out, cut to its measure.

An import stays in its bound (the project; for a person's own file the home folder), goes five deep at most
and is taken once. What is not taken is a fault with its line.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cockpit.plugin.origin import Fault
from cockpit.settings import plain

IMPORT = re.compile(r"(?<![\w`])@((?:~/|\.{1,2}/|/)?[\w./~-]*[\w/-](?:\.\w+)?)")
FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
# What is meant as a file although none is there: not `@someone`, not `@scope/package`.
FILE_LIKE = re.compile(r"^(?:~/|\.{1,2}/|/)|\.(?:md|mdx|mdc|txt|rst|toml|json|ya?ml)$", re.I)
LARGEST = 1_000_000
ONE = 24_000
ALL = 48_000
DEEPEST = 5
# Stands for a line's end inside a comment that was taken out, so that lines can still be counted.
GONE = "\x01"
# Why a model may not be told the file at a real path, "" where it may: what no tool may read, no import is.
Refuses: TypeAlias = Callable[[Path], str]


@dataclass
class Reading:
    """What was read so far: `left` is how many characters more are taken in, `seen` the real files."""

    refuses: Refuses
    left: int = ALL
    seen: set[Path] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Taken:
    """A file's text, ready for a model, and what of it was not taken."""

    text: str
    imports: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


def take(reading: Reading, path: Path, text: str, bound: Path, line: int = 1) -> Taken:
    """`text`, which begins at `line` of the file at `path`, with its imports; counted in `reading`."""
    walk = _Walk(reading, bound.resolve())
    said = walk.imported(text, path, line, 1).replace(GONE, "").strip()
    if len(said) > ONE:
        said = f"{said[:ONE]}\n(cut after {ONE:,} characters; read the file for the rest)"
        remedy = "keep it short: put what concerns some files into .claude/rules with `paths:`"
        walk.faults.append(Fault(str(path), 0, f"cut after {ONE:,} characters", remedy))
    if len(said) > reading.left:
        reason = f"instruction files hold more than {ALL:,} characters together: the rest is left out"
        walk.faults.append(Fault(str(path), 0, reason, "shorten them, or leave one out"))
    said = said[: max(0, reading.left)]
    reading.left -= len(said)
    return Taken(said, tuple(walk.imports), tuple(walk.faults))


def read(path: Path) -> str | None:
    """The text of a file, None where there is none. Raises OSError for what is there and cannot be read."""
    try:
        return plain.read_text(path, LARGEST, "utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None


@dataclass
class _Walk:
    """One file and all that it imports."""

    reading: Reading
    bound: Path
    imports: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def imported(self, text: str, file: Path, line: int, depth: int) -> str:
        """`text` with each `@path` outside of code replaced by that file."""
        text = COMMENT.sub(lambda found: GONE * found[0].count("\n"), text)
        lines: list[str] = []
        in_code = False
        for one in text.split("\n"):
            in_code ^= bool(FENCE.match(one))
            lines.append(one if in_code or "@" not in one else self._line(one, file, line, depth))
            line += 1 + one.count(GONE)
        return "\n".join(lines)

    def _line(self, text: str, file: Path, line: int, depth: int) -> str:
        def content(found: re.Match[str]) -> str:
            inner = self._content(found[1], file, line, depth)
            return found[0] if inner is None else inner

        # Code spans keep their @.
        parts = re.split(r"(`[^`]*`)", text)
        return "".join(part if part.startswith("`") else IMPORT.sub(content, part) for part in parts)

    def _content(self, named: str, file: Path, line: int, depth: int) -> str | None:
        """What the import becomes; None where it stays as it is written."""
        path = Path(named).expanduser() if named.startswith("~") else file.parent / named
        real = path.resolve()
        if real in self.reading.seen:
            return None
        if not real.is_relative_to(self.bound):
            if FILE_LIKE.search(named):
                remedy = "copy it into the project, or import it in your own CLAUDE.md or AGENTS.md"
                self._fault(file, line, f"`@{named}` lies outside of {self.bound} and is not read", remedy)
            return None
        if depth > DEEPEST:
            self._fault(
                file, line, f"`@{named}` is imported more than {DEEPEST} deep", "import it further up"
            )
            return None
        if reason := self.reading.refuses(real):
            self._fault(file, line, f"`@{named}` is not read: {reason}", "take the import out")
            return None
        try:
            text = read(real)
        except OSError as error:
            text = None if real.is_dir() else ""
            if text is not None:
                self._fault(file, line, f"`@{named}` cannot be read: {error.strerror}", "name a text file")
        if not text:
            if text is None and FILE_LIKE.search(named) and not real.exists():
                remedy = "mend the path, or put it in backticks where no import is meant"
                self._fault(file, line, f"`@{named}` is not there", remedy)
            return None
        self.reading.seen.add(real)
        self.imports.append(str(real))
        return self.imported(text.strip(), real, 1, depth + 1)

    def _fault(self, file: Path, line: int, reason: str, remedy: str) -> None:
        self.faults.append(Fault(str(file), line, reason, remedy))
