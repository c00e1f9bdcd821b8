"""One regular expression dialect for both engines: a pattern is translated so that it means the same to
Python's `re` and to ripgrep.

A pattern that only Python can run is marked so. A construct that the two would read differently is refused,
with what to write instead.
"""

import re
from dataclasses import dataclass

from cockpit.plugin.tools import ToolFailed

SCRIPT_RANGES = {
    "Han": "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af",
    "Hiragana": "\u3041-\u309f",
    "Katakana": "\u30a0-\u30ff\u31f0-\u31ff",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f",
}
POSIX_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\t\n\x0b\x0c\r ",
    "blank": r"\t ",
    "xdigit": "0-9A-Fa-f",
    "word": r"\w",
    "punct": r"!-/:-@\[-`{-~",
}
SHARED_ESCAPES = frozenset("dDwWsSbBtrfav")
REPEAT_BRACES = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
FLAG_GROUP = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?(:|\))")
LOOKAROUND = re.compile(r"\(\?(?:=|!|<=|<!|>|\(|P=)")


@dataclass(frozen=True, slots=True)
class TranslatedPattern:
    """A pattern for each engine; `ripgrep` is None where only Python can run it. `has_upper`: a literal
    letter is upper case, which makes the smart case sensitive."""

    python: str
    ripgrep: str | None
    has_upper: bool


def escape_literal(text: str) -> TranslatedPattern:
    """The pattern that matches `text` itself."""
    _check_pattern(text)
    escaped = re.sub(r"([\\.+*?()|\[\]{}^$#&~\-])", r"\\\1", text)
    return TranslatedPattern(escaped, escaped, any(character.isupper() for character in text))


def translate_pattern(pattern: str) -> TranslatedPattern:
    """Raises `ToolFailed` for a pattern that is invalid or ambiguous."""
    _check_pattern(pattern)
    reader = _PatternTranslator(pattern)
    reader.run()
    python, ripgrep = ("".join(parts) for parts in zip(*reader.out, strict=True))
    try:
        re.compile(python)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolFailed(
            f"`pattern` is not a valid regular expression: {error}; to search for it as text set literal=true"
        ) from error
    return TranslatedPattern(python, None if reader.only_python else ripgrep, reader.has_upper)


def _check_pattern(pattern: str) -> None:
    if not pattern:
        raise ToolFailed("`pattern` is empty; write what to search for")
    if "\n" in pattern or "\0" in pattern:
        raise ToolFailed("search matches one line at a time; search for the first line and use `context`")


class _PatternTranslator:
    """Reads a pattern once and writes it for both engines."""

    def __init__(self, pattern: str) -> None:
        self.text, self.at = pattern, 0
        self.out: list[tuple[str, str]] = []
        self.only_python = False
        self.has_upper = False

    def run(self) -> None:
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == "\\":
                self._escape(in_class=False)
            elif character == "[":
                self._class()
            elif character == "(":
                self._group()
            elif character == "{":
                self._brace()
            else:
                self._plain(character)

    def _put(self, python: str, ripgrep: str | None = None, length: int = 1) -> None:
        self.out.append((python, python if ripgrep is None else ripgrep))
        self.at += length

    def _plain(self, character: str) -> None:
        if character == "+" and self.at and self.text[self.at - 1] in "*+?}" and self._was_repeat():
            self.only_python = True  # possessive in Python, a repeated repeat in ripgrep
        self.has_upper = self.has_upper or character.isupper()
        self._put("\\}" if character == "}" else character)

    def _was_repeat(self) -> bool:
        last = self.out[-1][0] if self.out else ""
        return last in ("*", "+", "?") or (last.startswith("{") and last.endswith("}"))

    def _escape(self, in_class: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "":
            raise ToolFailed("`pattern` ends in a lone backslash; write \\\\ for a backslash")
        if following in SHARED_ESCAPES and not (in_class and following in "bB"):
            self._put("\\" + following, length=2)
        elif following in "xuU":
            self._code_point(following)
        elif following in "pP":
            self._property(in_class)
        elif following == "n":
            raise ToolFailed("\\n never matches: search matches one line at a time; use `context`")
        elif following in "AzZ" and not in_class:
            self._put("^" if following == "A" else "$", length=2)
        elif following in "<>" and not in_class:
            self._put(r"\b(?=\w)" if following == "<" else r"\b(?<=\w)", r"\b", length=2)
            self.only_python = True
        elif following.isdigit():
            if in_class or following == "0":
                raise ToolFailed(f"\\{following} is ambiguous here; write \\x{{...}} for a character")
            self.only_python = True  # a back-reference
            self._put("\\" + following, length=2)
        elif following.isascii() and following.isalpha():
            raise ToolFailed(f"unknown escape \\{following}; to search for the text itself set literal=true")
        else:
            safe = re.escape(following) if following.isascii() else following
            self._put("\\" + following if safe == following and following in "-&~#/<>" else safe, length=2)

    def _code_point(self, kind: str) -> None:
        sizes = {"x": "{2}", "u": "{4}", "U": "{8}"}
        match = re.compile(rf"\\{kind}(?:\{{([0-9a-fA-F]+)\}}|([0-9a-fA-F]{sizes[kind]}))").match(
            self.text, self.at
        )
        if not match or int(match[1] or match[2], 16) > 0x10FFFF:
            raise ToolFailed(f"\\{kind} needs a code point, for example \\x{{4e2d}}")
        point = int(match[1] or match[2], 16)
        self._put(f"\\U{point:08x}", f"\\x{{{point:x}}}", len(match[0]))

    def _property(self, in_class: bool) -> None:
        match = re.compile(r"\\(p|P)(?:\{(\w+)\}|(\w))").match(self.text, self.at)
        name = (match[2] or match[3]) if match else ""
        if not match or name not in SCRIPT_RANGES or (match[1] == "P" and in_class):
            known = ", ".join(f"{{{script}}}" for script in SCRIPT_RANGES)
            raise ToolFailed(f"\\p supports only {known}; write a class such as [a-zA-Z] instead")
        inside = SCRIPT_RANGES[name]
        sign = "^" if match[1] == "P" else ""
        self._put(inside if in_class else f"[{sign}{inside}]", length=len(match[0]))

    def _class(self) -> None:
        self._put("[")
        if self.text[self.at : self.at + 1] == "^":
            self._put("^")
        if self.text[self.at : self.at + 1] == "]":
            self._put("\\]")
        while self.at < len(self.text) and self.text[self.at] != "]":
            character = self.text[self.at]
            if character == "\\":
                self._escape(in_class=True)
            elif character == "[":
                self._posix()
            elif character in "&~" or self.text.startswith("--", self.at):
                self._put("\\" + character)  # a set operation in ripgrep, itself in Python
            else:
                self.has_upper = self.has_upper or (character.isupper() and not self._is_range_end())
                self._put(character)
        if self.at >= len(self.text):
            raise ToolFailed("`pattern` has a [ without a ]; to search for the text itself set literal=true")
        self._put("]")

    def _is_range_end(self) -> bool:
        # [A-Z] names a range, not a letter that the user typed in upper case.
        return "-" in (self.text[self.at - 1], self.text[self.at + 1 : self.at + 2])

    def _posix(self) -> None:
        match = re.compile(r"\[:(\w+):\]").match(self.text, self.at)
        if not match:
            self._put("\\[")
        elif match[1] in POSIX_CLASSES:
            self._put(POSIX_CLASSES[match[1]], length=len(match[0]))
        else:
            raise ToolFailed(f"unknown class {match[0]}; choose one of {', '.join(POSIX_CLASSES)}")

    def _group(self) -> None:
        if self.text.startswith("(?<", self.at) and not self.text.startswith(("(?<=", "(?<!"), self.at):
            self._put("(?P<", length=3)
        elif LOOKAROUND.match(self.text, self.at):
            self.only_python = True
            self._put("(?", length=2)
        elif flags := FLAG_GROUP.match(self.text, self.at):
            self._flags(flags)
        else:
            opening = "(?" if self.text.startswith("(?", self.at) else "("
            self._put(opening, length=len(opening))

    def _flags(self, match: re.Match[str]) -> None:
        wrong = set(match[1] + (match[2] or "")) - set("ims")
        if wrong:
            raise ToolFailed(f"unknown flag {''.join(sorted(wrong))} in {match[0]}; choose from i, m and s")
        if match[3] == ")" and (self.at or match[2]):
            raise ToolFailed(
                f"{match[0]} is allowed only at the start; write (?i:...) around the part instead"
            )
        self._put(match[0], length=len(match[0]))

    def _brace(self) -> None:
        match = REPEAT_BRACES.match(self.text, self.at)
        is_repeat = match and (match[1] or (match[2] and match[3])) and self.out
        if not match or not is_repeat:
            self._put("\\{")
        elif not match[2]:
            self._put(match[0], length=len(match[0]))
        else:
            self._put(f"{{{match[1] or '0'},{match[3]}}}", length=len(match[0]))
