"""What a skill or a command file becomes when it is used: its arguments put in, and what it wants run and
read named. Reads and runs nothing.

    expanded = expand(text, Values("12 --fast", names=("issue",)))
    expanded.commands    # what `` !`git diff $issue` `` wants run
    expanded.files       # what `@src/app.py` names
    expanded.filled(outputs, contents)

The text is read once, from its beginning to its end: what was put in is never read again, so that an
argument that holds `$1`, `@file` or `` !`rm` `` stays the words it is. In a command a value stays the
words it is too: it is quoted for the shell as the place asks for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cockpit.formats.quoting import Shell, put, split

Dialect = Literal["claude", "opencode", "gemini"]

# A path behind `@`, and in quotes one with blanks; not in an address, not in code.
MENTION = r'(?<![\w`@\\/.])@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"\'`,;()<>]+))'
BLOCK = r"(?m:^[ \t]*```![ \t]*\n)(?P<block>.*?)(?m:\n[ \t]*```[ \t]*$)"
FIRST = re.compile(r"\$(\d+)(?!\w)")


@dataclass(frozen=True, slots=True)
class Values:
    """What is put in. `arguments` as they were typed; `names` are those of the words in them, in order.

    `variables` are `${NAME}`s. `dialect` is whose file it is: `$1` is the second word in `claude`, the
    first in `opencode`, nothing in `gemini`, which has `{{args}}`. `name` is what it was called by.
    `given` are values by their names, and the `NAME=value` words that give them are none of those counted.
    `doubled`: `$$` is a dollar sign.
    """

    arguments: str = ""
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = "claude"
    name: str = ""
    shell: Shell = "bash"
    given: Mapping[str, str] = field(default_factory=dict)
    doubled: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the result: plain text, a command to run, a file to read. `written` is how it stands in
    the text while nothing was run or read; `wanted` the command or the path."""

    kind: Literal["text", "command", "file"]
    written: str
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A text with its arguments put in. `in_place`: a file replaces its mention (`@{path}` of Gemini);
    elsewhere it stands behind the text, under its name, and the sentence stays whole."""

    pieces: tuple[Piece, ...]
    in_place: bool = False

    @property
    def text(self) -> str:
        """All of it, with commands and files as they are written."""
        return "".join(piece.written for piece in self.pieces)

    @property
    def commands(self) -> tuple[str, ...]:
        """What is to be run, in order, each once."""
        return self._wanted("command")

    @property
    def files(self) -> tuple[str, ...]:
        """What may be a path, in order, each once. One that is none stays a word (`@someone`)."""
        return self._wanted("file")

    def filled(self, outputs: Mapping[str, str], contents: Mapping[str, str]) -> str:
        """The text with the outputs of its commands, and with the files; both as they are, read no more.
        What is missing in either stays as it is written."""
        known = {"command": outputs, "file": contents if self.in_place else {}, "text": {}}
        text = "".join(known[piece.kind].get(piece.wanted, piece.written) for piece in self.pieces)
        if self.in_place:
            return text
        behind = [f"[@{path}]\n{contents[path]}" for path in self.files if path in contents]
        return "\n\n".join([text.rstrip("\n"), *behind]) if behind else text

    def _wanted(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(piece.wanted for piece in self.pieces if piece.kind == kind))


def expand(text: str, values: Values) -> Expanded:
    """`text` with `values` put in. Arguments that no placeholder takes are put behind it."""
    return _Reading(text, values).expanded()


class _Reading:
    """One text, read once."""

    def __init__(self, text: str, values: Values) -> None:
        self._text = text
        self._values = values
        named = {f"{name}={value}" for name, value in values.given.items()}
        self._words = tuple(one for one in split(values.arguments) if one not in named)
        self._used = False
        # opencode's last placeholder takes all the words that are left.
        self._last = max((int(one) for one in FIRST.findall(text)), default=0)

    def expanded(self) -> Expanded:
        pieces: list[Piece] = []
        for before, found in _matches(_pattern(self._values), self._text):
            pieces.append(Piece("text", before))
            if found is not None:
                pieces.append(self._piece(found))
        if self._values.arguments.strip() and not self._used:
            pieces.append(Piece("text", self._appended()))
        return Expanded(_joined(pieces), self._values.dialect == "gemini")

    def _piece(self, found: re.Match[str]) -> Piece:
        groups = found.groupdict()
        for key in ("block", "command", "braced"):
            if (template := groups.get(key)) is not None:
                command = self._line(template).strip()
                return Piece("command", self._written(key, command), command)
        for key in ("quoted", "bare", "folder"):
            if (name := groups.get(key)) is not None:
                return self._file(found[0], name, key)
        return Piece("text", self._value(found, lambda value: value))

    def _written(self, key: str, command: str) -> str:
        match key:
            case "block":
                return f"```!\n{command}\n```"
            case "braced":
                return f"!{{{command}}}"
            case _:
                return f"!`{command}`"

    def _file(self, whole: str, name: str, key: str) -> Piece:
        path = self._line(name, quotes=False)
        if key == "folder":
            return Piece("file", f"@{{{path}}}", path.strip())
        trimmed = path if key == "quoted" or path != name else path.rstrip(".:!?")
        written = whole.replace(name, path)
        return Piece("file", written, trimmed) if trimmed else Piece("text", written)

    def _line(self, template: str, quotes: bool = True) -> str:
        """A command (or a path) with the values in it."""
        out = ""
        for before, found in _matches(_values_pattern(self._values), template):
            out += before
            if found is not None:
                out += self._value(found, self._quoting(out) if quotes else lambda value: value)
        return out

    def _quoting(self, before: str) -> Callable[[str], str]:
        return lambda value: put(value, before, self._values.shell)

    def _value(self, found: re.Match[str], quoted: Callable[[str], str]) -> str:
        """What a placeholder stands for; one without a value stays as it is written."""
        groups = found.groupdict()
        if groups.get("escape"):
            return "$"
        if (variable := groups.get("variable")) is not None:
            known = self._values.variables.get(variable)
            return found[0] if known is None else quoted(known)
        if (groups.get("all") or groups.get("args")) is not None:
            self._used = True
            return self._all(quoted)
        value = self._word(groups)
        if value is None:
            return found[0]
        self._used = True
        return quoted(value)

    def _all(self, quoted: Callable[[str], str]) -> str:
        """All arguments as they were typed; between the words of a command as words, in Gemini's as one."""
        arguments = self._values.arguments.strip()
        stands_alone = quoted(" ") == "' '"
        if stands_alone and self._values.dialect != "gemini":
            return " ".join(quoted(word) for word in self._words)
        return quoted(arguments)

    def _word(self, groups: Mapping[str, str | None]) -> str | None:
        """The word that is meant, None where so many were not given."""
        words = self._words
        if (named := groups.get("named")) is not None:
            if named in self._values.given:
                return self._values.given[named]
            place = self._values.names.index(named)
        else:
            number = groups.get("index") or groups.get("position") or "0"
            place = int(number)
        if self._values.dialect == "opencode" and groups.get("named") is None:
            if place == self._last and not groups.get("index"):
                return " ".join(words[place - 1 :]) if place else ""
            return words[place - 1] if 0 < place <= len(words) else ""
        return words[place] if place < len(words) else None

    def _appended(self) -> str:
        arguments = self._values.arguments.strip()
        gap = "" if self._text.endswith("\n\n") else "\n" if self._text.endswith("\n") else "\n\n"
        match self._values.dialect:
            case "claude":
                return f"{gap}ARGUMENTS: {arguments}"
            case "opencode":
                return f"{gap}{arguments}"
            case "gemini":
                return f"{gap}/{self._values.name} {arguments}" if self._values.name else f"{gap}{arguments}"


def _values_pattern(values: Values) -> re.Pattern[str]:
    """The placeholders of arguments and variables, as they are in commands and paths too."""
    parts = [r"\$\{(?P<variable>\w+)\}", r"(?P<args>\{\{\s*args\s*\}\})"]
    if values.dialect == "gemini":
        return re.compile("|".join(parts))
    known = {*values.names, *values.given}
    names = sorted((one for one in known if not one.isdigit()), key=len, reverse=True)
    named = "|".join(re.escape(one) for one in names)
    escaped = "|".join([r"\d|ARGUMENTS", *(re.escape(f"{{{one}}}") for one in values.variables)])
    escaped += rf"|(?:{named})(?!\w)" if named else ""
    doubled = r"|\$\$" if values.doubled else ""
    parts = [rf"(?P<escape>\\\$(?={escaped}){doubled})", *parts, r"\$ARGUMENTS\[(?P<index>\d+)\]"]
    parts += [r"(?P<all>\$ARGUMENTS)(?!\w)", r"\$(?P<position>\d+)(?!\w)"]
    if named:
        parts.append(rf"\$(?P<named>{named})(?!\w)")
    return re.compile("|".join(parts))


def _pattern(values: Values) -> re.Pattern[str]:
    """All that is not plain text. A command comes first: what is in it belongs to it."""
    inner = _values_pattern(values).pattern
    match values.dialect:
        case "claude":
            parts = [BLOCK, r"(?<!\S)!`(?P<command>[^`\n]+)`", inner, MENTION]
        case "opencode":
            parts = [r"(?<!\\)!`(?P<command>[^`\n]+)`", inner, MENTION]
        case "gemini":
            parts = [r"!\{(?P<braced>" + _braced(4) + r")\}", r"@\{(?P<folder>[^{}\n]+)\}", inner]
    return re.compile("|".join(parts), re.DOTALL)


def _braced(depth: int) -> str:
    """Text with balanced braces, so many deep. Possessive: what does not end is given up at once."""
    inner = r"[^{}]*+"
    for _ in range(depth):
        inner = rf"(?:[^{{}}]|\{{{inner}\}})*+"
    return inner


def _matches(pattern: re.Pattern[str], text: str) -> list[tuple[str, re.Match[str] | None]]:
    """The plain text before each find, with the find; the rest with None."""
    out: list[tuple[str, re.Match[str] | None]] = []
    at = 0
    for found in pattern.finditer(text):
        out.append((text[at : found.start()], found))
        at = found.end()
    return [*out, (text[at:], None)]


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Neighbouring texts as one, empty ones left out."""
    out: list[Piece] = []
    for piece in pieces:
        if piece.kind == "text" and out and out[-1].kind == "text":
            out[-1] = Piece("text", out[-1].written + piece.written)
        elif piece.written:
            out.append(piece)
    return tuple(out)
