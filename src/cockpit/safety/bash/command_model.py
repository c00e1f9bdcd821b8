"""Words, redirections and commands of a bash line, as far as they are known before the line runs.

In a word, everything that is not plain text is one private-use character (`UNKNOWN`, `STAR`, ...), so that a
partly known word can still be compared. Code that needs certainty uses `ShellWord.literal`. Touches no disk.
"""

import re
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node


UNKNOWN = "\ue000"  # only known when it runs
UNKNOWN_HARMLESS = "\ue001"  # not known, and harmless to print
STAR, QUESTION, BRACKET, BRACKET_END = "\ue002", "\ue003", "\ue004", "\ue005"
BRACE, COMMA, BRACE_END = "\ue006", "\ue007", "\ue008"
TILDE, SPLIT = "\ue009", "\ue00a"
SIGN_PATTERN = re.compile("[\ue000-\ue00a]")
GLOB_SIGNS = frozenset({STAR, QUESTION, BRACKET})
ACTIVE_SIGNS = dict(
    zip("*?[]{,}~", (STAR, QUESTION, BRACKET, BRACKET_END, BRACE, COMMA, BRACE_END, TILDE), strict=True)
)
LETTER_OF_SIGN = {sign: letter for letter, sign in ACTIVE_SIGNS.items()} | {SPLIT: " "}
SIMPLE_ESCAPES = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S
)
RANGE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])(?:\.\.(-?\d+))?")
MAX_BRACE_WORDS = 64  # words that one brace list may expand to; a longer list is unknown


# The kinds of syntax nodes that are words.
WORD_NODES = word_set(
    "word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion "
    "command_substitution process_substitution arithmetic_expansion number brace_expression regex "
    "extglob_pattern"
)


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word of a command line.

    `text` is its value, with private-use characters for unknown parts. `sure` is False where the text is only
    the likeliest value (a default, the output of `echo`). `taints` say where it came from: `net`, `decoded`,
    `secret`. `span` is its byte range in the line, None for a derived word.
    """

    text: str
    sure: bool = True
    taints: frozenset[str] = field(default_factory=frozenset)
    span: tuple[int, int] | None = None

    @property
    def literal(self) -> str | None:
        """The text if all of it is known, else None. A glob counts as unknown."""
        # No private-use character is ASCII, and `isascii` is cheap.
        is_plain = self.text.isascii() or not SIGN_PATTERN.search(self.text)
        return self.text if self.sure and is_plain else None

    @property
    def guess(self) -> str:
        """The text for inspection: globs as written, unknown parts as UNKNOWN."""
        return show_signs(self.text)

    @property
    def is_partly_unknown(self) -> bool:
        """Whether a part of the text is only known when the line runs."""
        return UNKNOWN in self.text or UNKNOWN_HARMLESS in self.text

    def after(self, sign: str) -> "ShellWord":
        """The text after the first `sign`, as a word."""
        return ShellWord(self.text.partition(sign)[2], self.sure)


def show_signs(text: str) -> str:
    """Globs and braces as ordinary characters again."""
    if text.isascii() or not SIGN_PATTERN.search(text):
        return text
    return "".join(LETTER_OF_SIGN.get(character, character) for character in text)


def unquote(text: str) -> str:
    """Unquoted text: backslashes resolved, active characters marked."""
    if "\\" not in text:
        return "".join(ACTIVE_SIGNS.get(character, character) for character in text)
    return re.sub(
        r"\\(.?)|(.)",
        lambda match: ACTIVE_SIGNS.get(match[2], match[2]) if match[2] else (match[1] or "").strip("\n"),
        text,
        flags=re.S,
    )


def unquote_double(text: str) -> str:
    """Text between double quotes: a backslash only escapes $, `, a double quote, itself and a line break."""
    return re.sub(r"\\([$`\"\\])|\\\n", lambda match: match[1] or "", text) if "\\" in text else text


def unquote_ansi(text: str) -> str:
    """The text inside `$'...'`."""

    def plain(found: re.Match[str]) -> str:
        item, two, four, octal, control, letter = found.groups()
        if number := item or two or four:
            code = int(number, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else UNKNOWN
        if octal:
            return chr(int(octal, 8) & 255)
        if control:
            return chr(ord(control.upper()) & 31)
        return SIMPLE_ESCAPES.get(letter, letter if letter in "\\'\"?" else "\\" + letter)

    return ESCAPE.sub(plain, text).split("\0")[0]


def expand_braces(text: str) -> list[str]:
    """Every word that brace lists expand to. Braces and commas that form no list become ordinary
    characters."""
    if BRACE not in text:
        return [text.replace(COMMA, ",").replace(BRACE_END, "}")]
    done: list[str] = []
    waiting = [text]
    while waiting:
        item = waiting.pop()
        result = _innermost(item)
        if result is None:
            done.append(item.replace(BRACE, "{").replace(COMMA, ",").replace(BRACE_END, "}"))
            continue
        start, end = result
        choices = _choices(item[start + 1 : end])
        if not choices:
            waiting.append(f"{item[:start]}{{{item[start + 1 : end]}}}{item[end + 1 :]}")
        elif len(waiting) + len(done) + len(choices) > MAX_BRACE_WORDS:
            word = f"{item[:start]}{UNKNOWN}{item[end + 1 :]}"
            done.append(word.replace(BRACE, "{").replace(COMMA, ","))
        else:
            waiting.extend(f"{item[:start]}{each}{item[end + 1 :]}" for each in reversed(choices))
    return done


def _innermost(text: str) -> tuple[int, int] | None:
    """The first outermost brace list, so that the words come in bash's order."""
    depth, start = 0, -1
    for at, sign in enumerate(text):
        if sign == BRACE:
            depth += 1
            start = at if depth == 1 else start
        elif sign == BRACE_END and depth:
            depth -= 1
            if not depth:
                return start, at
    # An unclosed brace is an ordinary character; a later one may still open a list.
    if depth and start >= 0:
        result = _innermost(text[start + 1 :])
        return (result[0] + start + 1, result[1] + start + 1) if result else None
    return None


def _choices(inside: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for at, sign in enumerate(inside):
        depth += (sign == BRACE) - (sign == BRACE_END)
        if sign == COMMA and depth == 0:
            parts.append(inside[last:at])
            last = at + 1
    if parts:
        return [*parts, inside[last:]]
    if match := RANGE.fullmatch(inside):
        return _range(match[1], match[2], abs(int(match[3] or 1)) or 1)
    return []


def _range(first: str, last: str, step: int) -> list[str]:
    numeric = first.lstrip("-").isdigit() and last.lstrip("-").isdigit()
    if not numeric and (len(first) > 1 or len(last) > 1 or first.isdigit() or last.isdigit()):
        return []
    start, end = (int(first), int(last)) if numeric else (ord(first), ord(last))
    span = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    if len(span) > MAX_BRACE_WORDS:
        return [first, UNKNOWN, last]
    return [str(number) if numeric else chr(number) for number in span]


def split_fields(text: str) -> list[str]:
    """The words that an unquoted expansion is split into."""
    if SPLIT not in text:
        return [text]
    return [part for part in text.split(SPLIT) if part]


def expand_tilde(text: str, home: str, user: str, cwd: str | None) -> str:
    """A leading active tilde becomes its folder, every other one an ordinary character."""
    if TILDE not in text:
        return text
    if not text.startswith(TILDE):
        return text.replace(TILDE, "~")
    name, slash, rest = text[1:].partition("/")
    rest = slash + rest.replace(TILDE, "~")
    match name:
        case "":
            return home + rest
        case "+":
            return (UNKNOWN if cwd is None else cwd) + rest
        case "root":
            return ("/var/root" if home.startswith("/Users/") else "/root") + rest
        case _ if name == user:
            return home + rest
        case _ if name.replace("-", "").replace("_", "").replace(".", "").isalnum() and not name.isdigit():
            return f"{home.rpartition('/')[0]}/{name}{rest}"
        case _:
            return UNKNOWN + rest


def join_known(values: "tuple[ShellWord, ...] | list[ShellWord]") -> str | None:
    """The words joined by blanks, or None where one is unknown. Globs stay as written."""
    text = " ".join(word.guess for word in values)
    return None if UNKNOWN in text or UNKNOWN_HARMLESS in text else text


MAX_COMMANDS = 300  # simple commands of a line that are judged one by one
GIT_VALUE_OPTIONS = word_set(
    "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix"
)
NO_TAINTS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DataFlow:
    """What a command reads or writes.

    `taints` say where it came from (`net`, `decoded`, `secret`), `text` is the content if it is known.
    `piped` is False for the terminal's own stdin.
    """

    taints: frozenset[str] = NO_TAINTS
    text: str | None = None
    piped: bool = False

    def joined(self, other: "DataFlow") -> "DataFlow":
        """This flow followed by `other`."""
        text = None if self.text is None or other.text is None else self.text + other.text
        return DataFlow(self.taints | other.taints, text, self.piped or other.piped)


NO_OUTPUT = DataFlow(text="")


@dataclass(frozen=True, slots=True)
class Redirection:
    """`operator` as written (`>`, `>>`, `<`, `&>`, ...) and the target word; for `2>&1` the number."""

    operator: str
    target: ShellWord

    @property
    def writes(self) -> bool:
        return ">" in self.operator and not self.copies

    @property
    def reads(self) -> bool:
        return self.operator in ("<", "<>")

    @property
    def copies(self) -> bool:
        """Whether it copies another file descriptor instead of opening a file."""
        text = self.target.text
        return self.operator.endswith("&") and (text.rstrip("-").isdigit() or text == "-")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command.

    `cwd` is the folder it runs in, None where that is not known; `likely_cwd` is the best guess and only
    ever counts against the command. `nested`: its words come from a string, not from the line itself.
    `wrappers` are the programs around it. `program` is the name without its folder, "" where there is
    none; `arguments` are the further words as far as they can be guessed.
    """

    text: str
    words: tuple[ShellWord, ...]
    assignments: tuple[tuple[str, ShellWord], ...] = ()
    redirects: tuple[Redirection, ...] = ()
    cwd: str | None = None
    likely_cwd: str = ""
    stdin: DataFlow = field(default_factory=DataFlow)
    nested: bool = False
    wrappers: tuple[str, ...] = ()
    program: str = field(init=False, default="")
    arguments: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        name = self.words[0].guess if self.words else ""
        # Computed once: each check of a command reads them many times.
        object.__setattr__(self, "program", name.rstrip("/").rpartition("/")[2])
        object.__setattr__(self, "arguments", tuple(word.guess for word in self.words[1:]))

    def subcommand(self) -> tuple[str, int]:
        """The first word that is not an option, and its index in `words`; ("", -1) where there is none."""
        at = 1
        while at < len(self.words):
            text = self.words[at].guess
            if self.program == "git" and text in GIT_VALUE_OPTIONS:
                at += 2
                continue
            if not text.startswith("-"):
                return text, at
            at += 1
        return "", -1

    def search_starts(self) -> list[ShellWord]:
        """The folders where `find` starts: the words before its first option or expression."""
        return list(takewhile(lambda word: not word.guess.startswith(("-", "(", "!")), self.words[1:]))


@dataclass(slots=True)
class ShellScope:
    """What is known at one point of the line. Copied where bash forks.

    `call_stack` are the functions being walked, `wrappers` the programs around the current command.
    `cwd_uncertain`: a `cd` may not have run, so that the folder is unknown after the current list.
    """

    cwd: str | None
    likely_cwd: str
    home: str
    variables: dict[str, ShellWord]
    functions: "dict[str, Node]"
    arguments: tuple[ShellWord, ...] | None = ()
    call_stack: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    cwd_uncertain: bool = False

    def command(self, text: str, *words: ShellWord) -> SimpleCommand:
        """A simple command that runs at this point."""
        return SimpleCommand(text, words, cwd=self.cwd, likely_cwd=self.likely_cwd)

    def copy(self) -> "ShellScope":
        return replace(self, variables=dict(self.variables), functions=dict(self.functions))

    def move(self, folder: str | None) -> None:
        """Change the folder; None is a folder that is not known."""
        self.cwd = folder
        if folder is not None:
            self.likely_cwd = folder


@dataclass(slots=True)
class LineReading:
    """What was read of a line so far.

    `notes` are (rule, piece) for text that cannot be read, `unread` the pieces that were not walked, and
    `files` the content that earlier commands wrote.
    """

    commands: list[SimpleCommand] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, DataFlow] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    depth: int = 0
    script_depth: int = 0
    commands_left: int = MAX_COMMANDS

    def emit(self, command: SimpleCommand) -> None:
        self.commands_left -= 1
        self.commands.append(command)

    def note(self, rule: str, piece: str) -> None:
        self.notes.append((rule, piece[:200]))

    def skip(self, rule: str, piece: str) -> None:
        """Note a piece that is not walked and leave it to the fallback scan."""
        self.note(rule, piece)
        self.unread.append(piece)


def node_text(node: "Node | None") -> str:
    """The source text of a node of the syntax tree."""
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
