"""Expands the nodes of a word to its likely values. Substitutions are walked by callbacks."""

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cockpit.safety.bash import command_model as letters
from cockpit.safety.bash.command_model import (
    SPLIT,
    UNKNOWN,
    UNKNOWN_HARMLESS,
    DataFlow,
    ShellScope,
    ShellWord,
    node_text,
)
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

# Variables that `echo $x` may print without asking: terminal and tool settings, no tokens.
PRINTABLE_VARIABLES = word_set(
    "PATH SHELL LANG TERM COLORTERM EDITOR VISUAL PAGER HOSTNAME VIRTUAL_ENV CONDA_PREFIX GOPATH GOROOT "
    "JAVA_HOME NODE_ENV SHLVL LC_ALL LC_CTYPE TZ COLUMNS LINES BASH_VERSION MACHTYPE HOSTTYPE CI DISPLAY "
    "XDG_SESSION_TYPE XDG_CURRENT_DESKTOP LOGNAME UID EUID PPID MANPATH PYTHONPATH"
)
MAX_LENGTH = 100_000
MAX_BACKTICKS = 60  # commands between backticks in one text
NUMERIC_VARIABLES = frozenset("?#$!") | {"LINENO", "RANDOM", "SECONDS", "EPOCHSECONDS", "BASHPID"}
EXPANSION = re.compile(
    r"\$\{(?P<mark>[#!]?)(?P<name>\w+|[@*?$!#-])(?:\[(?P<index>[^\]]*)\])?(?P<rest>.*)\}", re.S
)
ARITHMETIC = re.compile(r"[\s\d+\-*/%()<>&|^!?:=~,]*")
NoteUnreadable = Callable[[str, str], None]


@dataclass(slots=True)
class WordPart:
    """A part of a word: its text, whether it is certain, and its taints."""

    text: str
    sure: bool = True
    taints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WordExpander:
    """Expands words. The callbacks walk `$( )`, `<( )` and text in backticks; `note` records unreadable
    text."""

    home: str
    user: str
    substitution: "Callable[[Node, ShellScope], DataFlow]"
    process_substitution: "Callable[[Node, ShellScope], WordPart]"
    note: NoteUnreadable
    script: "Callable[[str, ShellScope], DataFlow]"

    def expand(self, node: "Node", scope: ShellScope) -> list[ShellWord]:
        """Every word that `node` expands to."""
        if node.type == "word" and node.child_count == 0 and (text := node_text(node)).isalnum():
            return [ShellWord(text, span=(node.start_byte, node.end_byte))]
        piece = self._part(node, scope, quoted=False)
        span = (node.start_byte, node.end_byte)
        out = []
        for brace in letters.expand_braces(piece.text):
            whole = letters.expand_tilde(brace, self.home, self.user, scope.cwd)
            out += [ShellWord(part, piece.sure, piece.taints, span) for part in letters.split_fields(whole)]
        return out

    def expand_single(self, node: "Node", scope: ShellScope) -> ShellWord:
        """The single word where bash does not split (assignments, redirections)."""
        piece = self._part(node, scope, quoted=False)
        text = letters.expand_tilde(piece.text.replace(SPLIT, " "), self.home, self.user, scope.cwd)
        brace = {ord(letters.BRACE): "{", ord(letters.COMMA): ",", ord(letters.BRACE_END): "}"}
        return ShellWord(text.translate(brace), piece.sure, piece.taints, (node.start_byte, node.end_byte))

    def _part(self, node: "Node", scope: ShellScope, quoted: bool) -> WordPart:
        match node.type:
            case "word" | "number" | "extglob_pattern" | "regex" | "test_operator" | "special_character":
                text = node_text(node)
                plain = letters.unquote_double(text) if quoted else letters.unquote(text)
                if node.type == "number" and node.child_count:
                    return self._joined(node, scope, quoted)
                return WordPart(plain)
            case "string" | "translated_string":
                return self._string(node, scope)
            case "raw_string":
                return WordPart(node_text(node)[1:-1])
            case "ansi_c_string":
                return WordPart(letters.unquote_ansi(node_text(node)[2:-1]))
            case "simple_expansion":
                return self._variable(node_text(node)[1:], scope, quoted)
            case "expansion":
                return self._expansion(node, scope, quoted)
            case "command_substitution":
                return self._output(self.substitution(node, scope), quoted)
            case "process_substitution":
                return self.process_substitution(node, scope)
            case "arithmetic_expansion":
                return self._arithmetic(node, scope)
            case _ if node.named_child_count:
                return self._joined(node, scope, quoted)
            case _:
                return WordPart(node_text(node) if quoted else letters.unquote(node_text(node)))

    def _joined(self, node: "Node", scope: ShellScope, quoted: bool) -> WordPart:
        """All children, with the text between them that belongs to no child."""
        source, start = node.text or b"", node.start_byte
        out: list[str] = []
        last, sure, taints = start, True, frozenset[str]()
        for child in node.children:
            if child.start_byte > last:
                out.append(self._bare(source[last - start : child.start_byte - start], quoted))
            piece = self._part(child, scope, quoted)
            out.append(piece.text)
            sure, taints = sure and piece.sure, taints | piece.taints
            last = max(last, child.end_byte)
        if last < node.end_byte:
            out.append(self._bare(source[last - start :], quoted))
        return _limit_length(WordPart("".join(out), sure, taints))

    def _bare(self, source: bytes, quoted: bool) -> str:
        text = source.decode("utf-8", "replace")
        return letters.unquote_double(text) if quoted else letters.unquote(text)

    def _string(self, node: "Node", scope: ShellScope) -> WordPart:
        source, start = node.text or b"", node.start_byte
        out, sure, taints = [], True, frozenset[str]()
        last = start + (2 if node.type == "translated_string" or source.startswith(b"$") else 1)
        for child in node.children:
            if child.type in ('"', '$"', "string_content", "$") or child.start_byte < last:
                if child.type == "string" and node.type == "translated_string":
                    return self._string(child, scope)
                continue
            out.append(self._bare(source[last - start : child.start_byte - start], True))
            piece = self._part(child, scope, quoted=True)
            out.append(piece.text)
            sure, taints, last = sure and piece.sure, taints | piece.taints, child.end_byte
        out.append(self._bare(source[last - start : -1], True))
        return _limit_length(WordPart("".join(out), sure, taints))

    def expand_heredoc(self, node: "Node", scope: ShellScope) -> WordPart:
        """The body of a here-document with an unquoted delimiter."""
        piece = self._joined(node, scope, quoted=True)
        ticked = self._ticks(node, scope)
        return WordPart(piece.text.replace(SPLIT, " "), piece.sure and not ticked, piece.taints)

    def _ticks(self, node: "Node", scope: ShellScope) -> bool:
        """Walk text in backticks that the grammar reads as plain text (in here-documents and inside `${ }`).
        Returns whether there was any."""
        text = node_text(node)
        if "`" not in text:
            return False
        bare = re.sub(r"\\[^`]", "  ", text)
        pairs = list(re.finditer(r"(?<!\\)`((?:[^`\\]|\\.)*)`", bare, re.S))
        inside = [re.sub(r"\\([`$\\])", r"\1", text[pair.start(1) : pair.end(1)]) for pair in pairs]
        rest = "\n".join(inside[MAX_BACKTICKS:])
        for item in (*inside[:MAX_BACKTICKS], *([rest] if inside[MAX_BACKTICKS:] else [])):
            self.script(item, scope.copy())
        if "`" in re.sub(r"(?<!\\)`((?:[^`\\]|\\.)*)`|\\`", "", bare):
            self.note("expansion", text)
        return bool(pairs)

    def _output(self, flow: DataFlow, quoted: bool) -> WordPart:
        if flow.text is None:
            sign = UNKNOWN_HARMLESS if "mild" in flow.taints else UNKNOWN
            return WordPart(sign, False, flow.taints - {"mild"})
        text = flow.text.rstrip("\n")
        # This output is a guess, so it must never count as certain.
        return WordPart(text if quoted else _split_blanks(text), False, flow.taints - {"mild"})

    def _variable(self, name: str, scope: ShellScope, quoted: bool) -> WordPart:
        if name in NUMERIC_VARIABLES:
            return WordPart("0")
        if name in ("@", "*") or name.isdigit():
            return self._positional(name, scope, quoted)
        if name == "PWD":
            return WordPart(scope.cwd or UNKNOWN, scope.cwd is not None)
        if known := scope.variables.get(name):
            return WordPart(known.text if quoted else _split_blanks(known.text), known.sure, known.taints)
        if name == "OLDPWD":
            return WordPart(UNKNOWN, False)
        sign = UNKNOWN_HARMLESS if name in PRINTABLE_VARIABLES else UNKNOWN
        return WordPart(sign, False, _secret_taint(name))

    def _positional(self, name: str, scope: ShellScope, quoted: bool) -> WordPart:
        if scope.arguments is None:
            return WordPart(UNKNOWN, False)
        if name == "0":
            return WordPart("bash", False)
        chosen = scope.arguments if name in "@*" else scope.arguments[int(name) - 1 : int(name)]
        text = SPLIT.join(word.text for word in chosen)
        return WordPart(
            text if name in "@*" or quoted else _split_blanks(text),
            all(word.sure for word in chosen),
            frozenset().union(*(word.taints for word in chosen)),
        )

    def _expansion(self, node: "Node", scope: ShellScope, quoted: bool) -> WordPart:
        inner = [child for child in node.named_children if child.type not in ("variable_name", "subscript")]
        parts = [self._part(child, scope, True) for child in inner]
        for child in node.named_children:
            if child.type == "subscript":
                self._joined(child, scope, True)
        taints = frozenset().union(*(piece.taints for piece in parts))
        if self._ticks(node, scope):
            return WordPart(UNKNOWN, False, taints)
        match = EXPANSION.fullmatch(node_text(node))
        if match and match["index"] and not match["mark"] and not match["rest"]:
            known_word = scope.variables.get(match["name"])
            if known_word and re.fullmatch(r"[@*]|\d+", match["index"]):
                # Checks look for the worst case, so it does not matter which item is meant.
                return WordPart(_split_blanks(known_word.text), False, known_word.taints | taints)
        if not match or match["index"] or match["mark"] == "!" or "@" in match["rest"][:1]:
            self.note("expansion", node_text(node))
            second = scope.variables.get(match["name"]) if match and match["mark"] == "!" else None
            if second and (known_word := scope.variables.get(second.text)):
                text = known_word.text if quoted else _split_blanks(known_word.text)
                return WordPart(text, False, known_word.taints | taints)
            return WordPart(UNKNOWN, False, taints)
        if match["mark"] == "#" and not match["rest"]:
            return WordPart("0")
        value = self._variable(match["name"], scope, True)
        known = value.text if UNKNOWN not in value.text and UNKNOWN_HARMLESS not in value.text else None
        text, sure = _apply_operator(match["rest"], known, value, parts)
        return WordPart(text if quoted else _split_blanks(text), sure, value.taints | taints)

    def _arithmetic(self, node: "Node", scope: ShellScope) -> WordPart:
        before = len(scope.variables)
        piece = self._joined(node, scope, True)
        inside = node_text(node)
        inside = inside[3:-2] if inside.startswith("$((") else inside[2:-1]
        if not ARITHMETIC.fullmatch(inside):
            words = map(scope.variables.get, re.findall(r"\$?\{?([A-Za-z_]\w*)\}?", inside))
            plain = all(word and word.sure and word.text.isdigit() for word in words)
            if not plain or re.search(r"\[|`|\$\(", inside) or before != len(scope.variables):
                self.note("arithmetic", node_text(node))
        return WordPart("0", not piece.taints, piece.taints)


def _limit_length(piece: WordPart) -> WordPart:
    """Stop following a text that keeps doubling (`x=$x$x`)."""
    return piece if len(piece.text) <= MAX_LENGTH else WordPart(UNKNOWN, False, piece.taints)


def _apply_operator(rest: str, known: str | None, value: WordPart, parts: list[WordPart]) -> tuple[str, bool]:
    """The value of `${name REST}`, and whether it is certain."""
    other = "".join(piece.text for piece in parts)
    sure = value.sure and all(piece.sure for piece in parts)
    if not rest:
        return value.text, value.sure
    if rest[:2] in (":?", ":-", ":=") or rest[0] in "?-=":
        if known:
            return known, sure
        return (value.text if rest.lstrip(":")[0] == "?" else other or UNKNOWN), False
    if rest[:2] == ":+" or rest[0] == "+":
        return other, known is not None and sure
    if known is None:
        return UNKNOWN, False
    if match := re.fullmatch(r":\s*(-?\d+)(?::(-?\d+))?", rest):
        start = int(match[1])
        tail = known[start:]
        return (tail[: int(match[2])] if match[2] else tail), False
    simple = {"^^": known.upper(), ",,": known.lower(), "^": known[:1].upper() + known[1:]}
    if rest in simple:
        return simple[rest], False
    if match := re.fullmatch(r"(//?)([^/*?\[]+)(?:/(.*))?", rest, re.S):
        return known.replace(match[2], match[3] or "", -1 if match[1] == "//" else 1), False
    if match := re.fullmatch(r"(##?|%%?)(.+)", rest, re.S):
        return _trim_affix(known, match[1], match[2]), False
    return UNKNOWN, False


def _trim_affix(known: str, sign: str, pattern: str) -> str:
    """`known` without the matching start (#) or end (%); a doubled sign removes the longest match."""
    lengths = range(len(known) + 1) if len(sign) == 1 else range(len(known), -1, -1)
    for length in lengths:
        piece = known[:length] if sign[0] == "#" else known[len(known) - length :]
        if fnmatch.fnmatchcase(piece, pattern):
            return known[length:] if sign[0] == "#" else known[: len(known) - length]
    return known


def _split_blanks(text: str) -> str:
    return re.sub(r"[ \t\n]+", SPLIT, text) if any(sign in text for sign in " \t\n") else text


def _secret_taint(name: str) -> frozenset[str]:
    secret = re.search(r"TOKEN|SECRET|PASSW|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL", name, re.I)
    return frozenset({"secret"}) if secret else frozenset()
