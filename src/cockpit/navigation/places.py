"""From what a person or a model writes to a place: `file:line:column`, `file:line`, `file:Class.method`,
`Class.method`. Reads words; looks nothing up."""

import re
from dataclasses import dataclass
from typing import TypeAlias

POINT = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")
SYMBOL = re.compile(r"[^\W\d][\w$]*[!?]?(?:(?:\.|::|#)~?[^\W\d][\w$]*[!?]?)*")
IN_FILE = re.compile(r"(?P<path>.*[^:]):(?P<symbol>[^:\\/].*(?:::.*)?)")
KEYWORD = re.compile(
    r"def|class|async|await|return|if|elif|else|for|while|with|as|import|from|in|is|not|and|or"
    r"|lambda|yield|function|func|fn|let|const|var|export|default|public|private|protected|static"
    r"|final|abstract|struct|enum|trait|impl|interface|type|pub|mut|unsafe|inline|extern|void|int"
    r"|new|package|use|mod|self|this|virtual|override|readonly|declare|namespace|template"
    r"|typename|auto"
)


@dataclass(frozen=True, slots=True)
class Point:
    """A line of a file; `column` 0 leaves the symbol on it open."""

    path: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """A symbol by its path, `Class.method`; `file` narrows it (empty: anywhere)."""

    name: str
    file: str = ""

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def path(self) -> str:
        return f"{self.file}:{self.name}" if self.file else self.name


Wanted: TypeAlias = Point | Named


def read(place: str) -> Wanted | None:
    """What `place` says, or None where it is none of the forms."""
    text = place.strip().strip("`")
    if (found := POINT.fullmatch(text)) is not None:
        return Point(found["path"], int(found["line"][:9]), int((found["column"] or "0")[:9]))
    if SYMBOL.fullmatch(text):
        return Named(_dotted(text))
    found = IN_FILE.fullmatch(text)
    # `C:\app.py` is a file on a drive, not the symbol `\app.py` of a file `C`.
    if found is not None and SYMBOL.fullmatch(found["symbol"]):
        return Named(_dotted(found["symbol"]), found["path"])
    return None


def _dotted(name: str) -> str:
    return name.replace("::", ".").replace("#", ".")


def first_name(line: str) -> int:
    """The column (from 1) of the first name on a line that is no keyword; 0 where there is none."""
    for found in re.finditer(r"[^\W\d][\w$]*", line):
        if not KEYWORD.fullmatch(found[0]):
            return found.start() + 1
    return 0
