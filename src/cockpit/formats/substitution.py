"""Expands the template of a skill or command: fills in arguments, and lists the commands and files it
mentions.

    expanded = expand_template(text, TemplateValues("12 --fast", names=("issue",)))
    expanded.commands    # what `` !`git diff $issue` `` would run
    expanded.files       # what `@src/app.py` names
    expanded.filled(outputs, contents)

Reads and runs nothing. The text is scanned once: inserted values are never scanned again, so an argument
like `$1`, `@file` or `` !`rm` `` stays plain text. Inside a command, values are quoted for the shell.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Shell = Literal["bash", "powershell"]


def split_arguments(arguments: str) -> tuple[str, ...]:
    """Split as a shell does; at blanks only if a quote is never closed (`don't do it`)."""
    try:
        return tuple(shlex.split(arguments))
    except ValueError:
        return tuple(arguments.split())


def quote_value(value: str, before: str, shell: Shell = "bash") -> str:
    """`value` quoted so that it stays a single word, or part of the quoted word that is open, after
    `before`."""
    return _quote_for_powershell(value, before) if shell == "powershell" else _quote_for_bash(value, before)


def _quote_for_bash(value: str, before: str) -> str:
    stack = _find_open_quotes(before)
    match stack[-1]:
        case "'":
            written = value.replace("'", "'\\''")
        case '"':
            written = re.sub(r'(["$`\\])', r"\\\1", value)
        case _:
            written = shlex.quote(value)
    for _ in range(stack.count("`")):
        # Between backticks a shell removes one level of backslashes first.
        written = re.sub(r"([$`\\])", r"\\\1", written)
    return written


def _quote_for_powershell(value: str, before: str) -> str:
    if before.count("'") % 2 and not before.count('"') % 2:
        return value.replace("'", "''")
    if before.count('"') % 2:
        return re.sub(r'(["$`])', r"`\1", value)
    plain = re.fullmatch(r"[\w./:\\-]+", value)
    return value if plain else "'" + value.replace("'", "''") + "'"


def _find_open_quotes(before: str) -> list[str]:
    """The quotes open at the end of `before`, innermost last: `'`, `"`, `)` for `$( )`, a backtick.

    With a here-document none counts as open: a value is then rather quoted once too often than not at all.
    """
    if "<<" in before:
        return [""]
    stack = [""]
    at = 0
    while at < len(before):
        at += _scan_character(stack, before, at)
    return stack


def _scan_character(stack: list[str], text: str, at: int) -> int:
    """Read the character at `at`, update the stack, and return how many characters were read."""
    char, top = text[at], stack[-1]
    if top == "'":
        if char == "'":
            stack.pop()
        return 1
    if char == "\\":
        return 2
    if text.startswith("$(", at):
        stack.append(")")
        return 2
    if char == "`" or (char == ")" and top == ")") or (char == '"' and top == '"'):
        if top == char:
            stack.pop()
        else:
            stack.append(char)
        return 1
    if top == '"':
        return 1
    if char == "#" and (at == 0 or text[at - 1] in " \t\n;"):
        return len(text[at:].partition("\n")[0]) or 1
    if char in "'\"(":
        stack.append(")" if char == "(" else char)
    return 1


Dialect = Literal["claude", "opencode", "gemini"]

# A path after `@`, quoted if it contains blanks; not inside an address or code.
MENTION_PATTERN = r'(?<![\w`@\\/.])@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"\'`,;()<>]+))'
COMMAND_BLOCK = r"(?m:^[ \t]*```![ \t]*\n)(?P<block>.*?)(?m:\n[ \t]*```[ \t]*$)"
POSITION_PATTERN = re.compile(r"\$(\d+)(?!\w)")


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """What is inserted. `arguments` is the typed text; `names` name its words in order.

    `variables` are the values of `${NAME}`. `dialect` says whose syntax the file uses: `$1` is the second
    word in `claude`, the first in `opencode`, and nothing in `gemini`, which has `{{args}}`. `name` is the
    name of the command. `given` are values by name; their `NAME=value` words are not counted as arguments.
    With `doubled`, `$$` is a dollar sign.
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
class TemplatePiece:
    """A piece of the result: text, a command or a file. `written` is how it appears while nothing was run or
    read; `target` is the command or path."""

    kind: Literal["text", "command", "file"]
    written: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class ExpandedTemplate:
    """A template with its arguments filled in. With `in_place` a file replaces its mention (Gemini's
    `@{path}`); otherwise it is appended under its name and the sentence stays whole."""

    pieces: tuple[TemplatePiece, ...]
    in_place: bool = False

    @property
    def text(self) -> str:
        """The whole text, with commands and files as written."""
        return "".join(piece.written for piece in self.pieces)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands to run, in order, each once."""
        return self._target("command")

    @property
    def files(self) -> tuple[str, ...]:
        """Possible paths, in order, each once. A mention that is not a file stays a word (`@someone`)."""
        return self._target("file")

    def filled(self, outputs: Mapping[str, str], contents: Mapping[str, str]) -> str:
        """The text with command outputs and file contents inserted literally. What is missing stays as
        written."""
        known = {"command": outputs, "file": contents if self.in_place else {}, "text": {}}
        text = "".join(known[piece.kind].get(piece.target, piece.written) for piece in self.pieces)
        if self.in_place:
            return text
        behind = [f"[@{path}]\n{contents[path]}" for path in self.files if path in contents]
        return "\n\n".join([text.rstrip("\n"), *behind]) if behind else text

    def _target(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(piece.target for piece in self.pieces if piece.kind == kind))


def expand_template(text: str, values: TemplateValues) -> ExpandedTemplate:
    """Fill `values` into `text`. Arguments that no placeholder uses are appended."""
    return _TemplateExpansion(text, values).expanded()


class _TemplateExpansion:
    """Expands one text in a single pass."""

    def __init__(self, text: str, values: TemplateValues) -> None:
        self._text = text
        self._values = values
        named = {f"{name}={value}" for name, value in values.given.items()}
        self._words = tuple(word for word in split_arguments(values.arguments) if word not in named)
        self._used = False
        # opencode's last placeholder takes all remaining words.
        self._last = max((int(item) for item in POSITION_PATTERN.findall(text)), default=0)

    def expanded(self) -> ExpandedTemplate:
        pieces: list[TemplatePiece] = []
        for before, match in _split_at_matches(_build_pattern(self._values), self._text):
            pieces.append(TemplatePiece("text", before))
            if match is not None:
                pieces.append(self._piece(match))
        if self._values.arguments.strip() and not self._used:
            pieces.append(TemplatePiece("text", self._appended()))
        return ExpandedTemplate(_merge_texts(pieces), self._values.dialect == "gemini")

    def _piece(self, match: re.Match[str]) -> TemplatePiece:
        groups = match.groupdict()
        for key in ("block", "command", "braced"):
            if (template := groups.get(key)) is not None:
                command = self._line(template).strip()
                return TemplatePiece("command", self._written(key, command), command)
        for key in ("quoted", "bare", "folder"):
            if (name := groups.get(key)) is not None:
                return self._file(match[0], name, key)
        return TemplatePiece("text", self._value(match, lambda value: value))

    def _written(self, key: str, command: str) -> str:
        match key:
            case "block":
                return f"```!\n{command}\n```"
            case "braced":
                return f"!{{{command}}}"
            case _:
                return f"!`{command}`"

    def _file(self, whole: str, name: str, key: str) -> TemplatePiece:
        path = self._line(name, quotes=False)
        if key == "folder":
            return TemplatePiece("file", f"@{{{path}}}", path.strip())
        trimmed = path if key == "quoted" or path != name else path.rstrip(".:!?")
        written = whole.replace(name, path)
        return TemplatePiece("file", written, trimmed) if trimmed else TemplatePiece("text", written)

    def _line(self, template: str, quotes: bool = True) -> str:
        """A command or path with the values filled in."""
        out = ""
        for before, match in _split_at_matches(_build_placeholder_pattern(self._values), template):
            out += before
            if match is not None:
                out += self._value(match, self._quoting(out) if quotes else lambda value: value)
        return out

    def _quoting(self, before: str) -> Callable[[str], str]:
        return lambda value: quote_value(value, before, self._values.shell)

    def _value(self, match: re.Match[str], quoted: Callable[[str], str]) -> str:
        """The value of a placeholder; without a value it stays as written."""
        groups = match.groupdict()
        if groups.get("escape"):
            return "$"
        if (variable := groups.get("variable")) is not None:
            known = self._values.variables.get(variable)
            return match[0] if known is None else quoted(known)
        if (groups.get("all") or groups.get("args")) is not None:
            self._used = True
            return self._all(quoted)
        value = self._word(groups)
        if value is None:
            return match[0]
        self._used = True
        return quoted(value)

    def _all(self, quoted: Callable[[str], str]) -> str:
        """All arguments as typed; in a command each word is quoted, in Gemini's dialect all as one word."""
        arguments = self._values.arguments.strip()
        stands_alone = quoted(" ") == "' '"
        if stands_alone and self._values.dialect != "gemini":
            return " ".join(quoted(word) for word in self._words)
        return quoted(arguments)

    def _word(self, groups: Mapping[str, str | None]) -> str | None:
        """The word a placeholder means, or None if there are not that many."""
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


def _build_placeholder_pattern(values: TemplateValues) -> re.Pattern[str]:
    """The placeholders of arguments and variables, which may also appear in commands and paths."""
    parts = [r"\$\{(?P<variable>\w+)\}", r"(?P<args>\{\{\s*args\s*\}\})"]
    if values.dialect == "gemini":
        return re.compile("|".join(parts))
    known = {*values.names, *values.given}
    names = sorted((item for item in known if not item.isdigit()), key=len, reverse=True)
    named = "|".join(re.escape(name) for name in names)
    escaped = "|".join([r"\d|ARGUMENTS", *(re.escape(f"{{{variable}}}") for variable in values.variables)])
    escaped += rf"|(?:{named})(?!\w)" if named else ""
    doubled = r"|\$\$" if values.doubled else ""
    parts = [rf"(?P<escape>\\\$(?={escaped}){doubled})", *parts, r"\$ARGUMENTS\[(?P<index>\d+)\]"]
    parts += [r"(?P<all>\$ARGUMENTS)(?!\w)", r"\$(?P<position>\d+)(?!\w)"]
    if named:
        parts.append(rf"\$(?P<named>{named})(?!\w)")
    return re.compile("|".join(parts))


def _build_pattern(values: TemplateValues) -> re.Pattern[str]:
    """Everything that is not plain text. Commands come first, because what is in them belongs to them."""
    inner = _build_placeholder_pattern(values).pattern
    match values.dialect:
        case "claude":
            parts = [COMMAND_BLOCK, r"(?<!\S)!`(?P<command>[^`\n]+)`", inner, MENTION_PATTERN]
        case "opencode":
            parts = [r"(?<!\\)!`(?P<command>[^`\n]+)`", inner, MENTION_PATTERN]
        case "gemini":
            parts = [
                r"!\{(?P<braced>" + _match_balanced_braces(4) + r")\}",
                r"@\{(?P<folder>[^{}\n]+)\}",
                inner,
            ]
    return re.compile("|".join(parts), re.DOTALL)


def _match_balanced_braces(depth: int) -> str:
    """A pattern for text with balanced braces up to `depth`. Possessive, so that unclosed braces fail at
    once."""
    inner = r"[^{}]*+"
    for _ in range(depth):
        inner = rf"(?:[^{{}}]|\{{{inner}\}})*+"
    return inner


def _split_at_matches(pattern: re.Pattern[str], text: str) -> list[tuple[str, re.Match[str] | None]]:
    """The plain text before each match, with the match; the rest with None."""
    out: list[tuple[str, re.Match[str] | None]] = []
    at = 0
    for match in pattern.finditer(text):
        out.append((text[at : match.start()], match))
        at = match.end()
    return [*out, (text[at:], None)]


def _merge_texts(pieces: list[TemplatePiece]) -> tuple[TemplatePiece, ...]:
    """Merge neighbouring text pieces and drop empty ones."""
    out: list[TemplatePiece] = []
    for piece in pieces:
        if piece.kind == "text" and out and out[-1].kind == "text":
            out[-1] = TemplatePiece("text", out[-1].written + piece.written)
        elif piece.written:
            out.append(piece)
    return tuple(out)
