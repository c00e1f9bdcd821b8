"""Holds one clause against the tables of phrases (`english.toml`, `chinese.toml`). The first row whose
pattern fits the whole clause and whose builder accepts its parts wins: special phrases come first.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cockpit.builtin.offline.intents import Intent
from cockpit.builtin.offline.quoting import HELD, Shielded

Build: TypeAlias = Callable[["Parts"], Intent | None]
LONGEST = 4_000
CHINESE = re.compile("[\u4e00-\u9fff]")
LANGUAGES = ("english", "chinese")
# A quoted part, or a word without the marks that part requests.
WORD = rf"(?:{HELD}|@?[^\s,，;；。]+)"
FILES = re.compile(
    r"(?:makefile|dockerfile|readme|license|changelog|gemfile|procfile|jenkinsfile|justfile)", re.I
)
ENDING = re.compile(r"[^\s/\\]\.[A-Za-z][A-Za-z0-9]{0,11}$|^\.[A-Za-z][\w.-]+$")


class Parts:
    """What a row's pattern captured."""

    def __init__(self, found: re.Match[str], shielded: Shielded) -> None:
        self.found, self.shielded = found, shielded

    def __getitem__(self, name: str) -> str:
        """A captured value without its quotes; "" where the pattern has none or it took no part."""
        return self.shielded.inner(self.found.groupdict().get(name) or "")

    def has(self, name: str) -> bool:
        return bool(self.found.groupdict().get(name))

    def number(self, name: str) -> int:
        digits = self[name]
        return int(digits) if digits.isdecimal() and len(digits) < 9 else 0

    def is_quoted(self, name: str) -> bool:
        return self.shielded.held(self.found.groupdict().get(name) or "") is not None

    def path(self, name: str = "path") -> str | None:
        """A captured path, or None for words that are none. Unquoted it has no blanks."""
        value = self[name].removeprefix("@").rstrip(",，:：") if not self.is_quoted(name) else self[name]
        if not value or "\n" in value:
            return None
        return value if self.is_quoted(name) or looks_like_path(value) else None

    def word(self, name: str) -> str | None:
        """A captured name of code: one word, or a quoted part."""
        value = self[name]
        if not self.is_quoted(name):
            value = value.removesuffix("()")
        if not value or "\n" in value or (re.search(r"\s", value) and not self.is_quoted(name)):
            return None
        return value.strip()


def looks_like_path(value: str) -> bool:
    """Whether an unquoted word can only be a file or folder."""
    if re.search(r"\s", value):
        return False
    value = re.sub(r"(?::|#L)\d+(?:[-–:]L?\d+)?$", "", value)
    known = FILES.fullmatch(value.rsplit("/", 1)[-1].split(".")[0])
    return "/" in value or "\\" in value or bool(known) or bool(ENDING.search(value))


def match(clause: str, shielded: Shielded) -> Intent | None:
    """The intent of a clause without its polite words, or None."""
    if not clause or len(clause) > LONGEST:
        return None
    for pattern, build in _table(bool(CHINESE.search(clause))):
        found = pattern.fullmatch(clause)
        if found and (intent := build(Parts(found, shielded))) is not None:
            return intent
    return None


def starts_request(clause: str) -> bool:
    """Whether `clause` begins as a request does, rather than going on with a list."""
    return _starts().match(clause) is not None


@cache
def _table(chinese_first: bool) -> tuple[tuple[re.Pattern[str], Build], ...]:
    """The rows of every language; the clause's own language goes first."""
    from cockpit.builtin.offline.builders import BUILDERS

    rows: list[tuple[re.Pattern[str], Build]] = []
    for language in reversed(_languages()) if chinese_first else _languages():
        words = {"HELD": HELD, "W": WORD, **language["words"]}
        for row in language["row"]:
            build = BUILDERS[row["means"]]
            rows += [(_pattern(line, words), build) for line in row["says"].strip().splitlines()]
    return tuple(rows)


@cache
def _starts() -> re.Pattern[str]:
    return re.compile("|".join(language["starts"].strip() for language in _languages()), re.I)


@cache
def _languages() -> tuple[dict[str, Any], ...]:
    folder = Path(__file__).parent
    return tuple(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in LANGUAGES)


def _pattern(line: str, words: dict[str, str]) -> re.Pattern[str]:
    # Twice: a word may be made of others.
    for _ in range(3):
        line = re.sub(r"%([A-Z_]+)", lambda found: words[found[1]], line)
    return re.compile(line, re.I | re.S)
