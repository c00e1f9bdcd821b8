"""Holds one clause against the tables of phrases (`english.toml`, `chinese.toml`). The first row whose
pattern fits the whole clause and whose builder accepts its parts wins: special phrases come first.

From a prompt to intents. Pure: text in, values out; it never raises and never guesses a change.

Quoted parts are shielded, the prompt is cut into clauses, each clause is freed of polite words and
held against the table of `phrases`; what fits no row is `Unknown`.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cockpit.builtin.models.offline.captures import PLACEHOLDER, MaskedPrompt, mask_quotes
from cockpit.builtin.models.offline.intents import (
    CHANGE_INTENTS,
    CreateIntent,
    Intent,
    ShellIntent,
    ShowIntent,
    TodoIntent,
    UnknownIntent,
)

IntentBuilder: TypeAlias = Callable[["Captures"], Intent | None]
MAX_CLAUSE_LENGTH = 4_000
CHINESE = re.compile("[\u4e00-\u9fff]")
LANGUAGES = ("english", "chinese")
# A quoted part, or a word without the marks that part requests.
WORD_PATTERN = rf"(?:{PLACEHOLDER}|@?[^\s,，;；。]+)"
WELL_KNOWN_FILES = re.compile(
    r"(?:makefile|dockerfile|readme|license|changelog|gemfile|procfile|jenkinsfile|justfile)", re.I
)
FILE_ENDING = re.compile(r"[^\s/\\]\.[A-Za-z][A-Za-z0-9]{0,11}$|^\.[A-Za-z][\w.-]+$")


class Captures:
    """What a row's pattern captured."""

    def __init__(self, found: re.Match[str], shielded: MaskedPrompt) -> None:
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
    known = WELL_KNOWN_FILES.fullmatch(value.rsplit("/", 1)[-1].split(".")[0])
    return "/" in value or "\\" in value or bool(known) or bool(FILE_ENDING.search(value))


def match_clause(clause: str, shielded: MaskedPrompt) -> Intent | None:
    """The intent of a clause without its polite words, or None."""
    if not clause or len(clause) > MAX_CLAUSE_LENGTH:
        return None
    for pattern, build in _phrase_table(bool(CHINESE.search(clause))):
        found = pattern.fullmatch(clause)
        if found and (intent := build(Captures(found, shielded))) is not None:
            return intent
    return None


def starts_request(clause: str) -> bool:
    """Whether `clause` begins as a request does, rather than going on with a list."""
    return _request_starts().match(clause) is not None


@cache
def _phrase_table(chinese_first: bool) -> tuple[tuple[re.Pattern[str], IntentBuilder], ...]:
    """The rows of every language; the clause's own language goes first."""
    from cockpit.builtin.models.offline.builders import BUILDERS

    rows: list[tuple[re.Pattern[str], IntentBuilder]] = []
    for language in reversed(_load_languages()) if chinese_first else _load_languages():
        words = {"HELD": PLACEHOLDER, "W": WORD_PATTERN, **language["words"]}
        for row in language["row"]:
            build = BUILDERS[row["means"]]
            rows += [(_compile_phrase(line, words), build) for line in row["says"].strip().splitlines()]
    return tuple(rows)


@cache
def _request_starts() -> re.Pattern[str]:
    return re.compile("|".join(language["starts"].strip() for language in _load_languages()), re.I)


@cache
def _load_languages() -> tuple[dict[str, Any], ...]:
    folder = Path(__file__).parent
    return tuple(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in LANGUAGES)


def _compile_phrase(line: str, words: dict[str, str]) -> re.Pattern[str]:
    # Twice: a word may be made of others.
    for _ in range(3):
        line = re.sub(r"%([A-Z_]+)", lambda found: words[found[1]], line)
    return re.compile(line, re.I | re.S)


MAX_PROMPT_LENGTH = 20_000
MAX_CLAUSES = 40
MAX_CUTS = 40
COMMAND_LINE = re.compile(
    r"^\s*(?:(?:please\s+|请)?(?:run|execute|exec|shell|cmd|command|运行|执行|命令)(?:命令)?\s*[:：]\s*|[$!]\s*)(?P<command>\S.*)$",
    re.I,
)
THEN_SEPARATOR = re.compile(r"\s*[;,；，]\s*(?:and\s+)?(?:then\b|然后|接着|再)[,，]?\s*", re.I)
# What certainly parts two requests.
STRONG_SEPARATOR = re.compile(
    r"\s*[;；]\s*(?:(?:and\s+)?then\b[,:]?\s*|and\s+|然后|接着|再|并)?"
    r"|\n+"
    r"|\s*,?\s*\b(?:and|after that|afterwards)[, ]+then\b[,:]?\s+"
    r"|\s*[,.]\s*(?:then|after that|afterwards|finally|next)\b[,:]?\s+"
    r"|\s+then\s+(?=(?:run|show|search|find|replace|rename|create|delete|move|open|list|git|test|tell|explain)\b)"
    r"|\s*[，,。；]?\s*(?:然后|接着|随后|之后)再?[，,]?\s*"
    r"|\s*[，,。；]\s*(?:再|最后|并且|并|同时)\s*",
    re.I,
)
# What may part two requests: only where both sides are understood.
WEAK_SEPARATOR = re.compile(
    r"\s*(?:[，。！？,]|[.!?](?=\s))\s*(?:and\s+|also\s+)?|\s+(?:and|also|plus|&&)\s+|\s*(?:并且|并|以及)\s*",
    re.I,
)
LIST_NUMBER = re.compile(
    r"^\s*(?:\(?\d{1,2}[.)、）:]\s*|[-*•]\s+|第[一二三四五六七八九十]+[步，、]\s*|[一二三四五六七八九十]、)"
)
POLITE_HEAD = re.compile(
    r"^(?:please|pls|kindly|hey|ok(?:ay)?|so|well|now|also|and|first(?:ly)?(?!\s+\d)|second(?:ly)?|"
    r"then|next|finally|lastly|just|"
    r"(?:could|can|would|will) you(?: please| kindly)?|i(?: woul|')?d like (?:you )?to|"
    r"i (?:want|need) (?:you )?to|"
    r"let'?s|let us|go ahead and|help me(?: to)?|try to|i would like (?:you )?to|would you mind|"
    r"(?:hi|hello)[, ]+(?=\S+\s+\S)|"
    r"请问|请你|请|麻烦你?|劳驾|帮我|帮忙|给我|替我|能不能|能否|可不可以|可以|你能|我想要?|我要|我需要|现在|首先|先|接下来|最后(?!\s*\d)|再(?!见))"
    r"(?=[\s,，:：\u2e80-\uffff\ue000]|$)[\s,，:：]*",
    re.I,
)
POLITE_TAIL = re.compile(
    r"(?:[\s,，]*(?:please|pls|for me|thanks?(?: you)?|thx|if you can|right now|now|"
    r"谢谢|好吗|可以吗|行吗|吧|呢|吗|啊|呀)|"
    r"[\s.!?。！？,，;；:：~]+)$",
    re.I,
)


def parse_prompt(prompt: str) -> tuple[Intent, ...]:
    """The intents of `prompt` in order.

    Where a part is not understood, nothing that changes something is kept: the person is told.
    """
    shielded = mask_quotes(prompt[:MAX_PROMPT_LENGTH])
    intents = _parse_text(shielded.text, shielded)
    unknown = [one for one in intents if isinstance(one, UnknownIntent)]
    if not unknown:
        return tuple(intents)
    said = "\n".join(one.text for one in unknown if one.text)
    known = [one for one in intents if not isinstance(one, UnknownIntent)]
    # Mostly not understood: a pasted text, in which a line that looks like a request is none.
    if len(unknown) > len(known):
        return (UnknownIntent(said, held_back=any(isinstance(one, CHANGE_INTENTS) for one in known)),)
    reading = [one for one in known if not isinstance(one, CHANGE_INTENTS)]
    return (*reading, UnknownIntent(said, held_back=len(reading) < len(known)))


def _parse_text(text: str, shielded: MaskedPrompt) -> list[Intent]:
    if (whole := _parse_create_with_body(text, shielded)) is not None:
        return whole
    intents: list[Intent] = []
    for line in text.split("\n"):
        if command := COMMAND_LINE.match(LIST_NUMBER.sub("", line)):
            intents += _parse_command(command["command"], shielded)
        else:
            intents += [one for clause in _split_clauses(line) for one in _parse_clause(clause, shielded)]
        if len(intents) > MAX_CLAUSES:
            return [UnknownIntent(shielded.raw(text))]
    return intents


def _parse_create_with_body(text: str, shielded: MaskedPrompt) -> list[Intent] | None:
    """`create FILE with:` and all that follows on its own lines, or in one fence."""
    head, _, body = text.strip().partition("\n")
    if not body.strip():
        return None
    clauses = _split_clauses(head)
    found = match_clause(_strip_polite_words(clauses[-1] if clauses else ""), shielded)
    if not isinstance(found, CreateIntent) or found.content:
        return None
    if not re.search(
        r"(?:with|containing|content|contents|内容|为|是)?\s*(?:[:：]|with|containing|内容)\s*$", head, re.I
    ):
        return None
    before = [one for clause in clauses[:-1] for one in _parse_clause(clause, shielded)]
    first, _, rest = body.strip("\n").partition("\n")
    if (part := shielded.held(first)) and part.is_fence:
        after = _parse_text(rest, shielded) if rest.strip() else []
        return [*before, CreateIntent(found.path, part.inner, found.overwrite), *after]
    content = shielded.raw(body.strip("\n"))
    return [*before, CreateIntent(found.path, content + "\n", found.overwrite)]


def _parse_command(command: str, shielded: MaskedPrompt) -> list[Intent]:
    """A command line to its end; a request after `, then` that is understood is a request."""
    for cut in THEN_SEPARATOR.finditer(command):
        after = _parse_text(command[cut.end() :], shielded)
        if after and not any(isinstance(one, UnknownIntent) for one in after):
            return [ShellIntent(shielded.inner(command[: cut.start()])), *after]
    return [ShellIntent(shielded.inner(command))]


def _split_clauses(line: str) -> list[str]:
    return [
        part
        for part in STRONG_SEPARATOR.split(LIST_NUMBER.sub("", line))
        if part and _strip_polite_words(part)
    ]


def _parse_clause(clause: str, shielded: MaskedPrompt) -> list[Intent]:
    cuts = list(WEAK_SEPARATOR.finditer(clause))
    # With that many commas it is prose, and trying each of them would take long.
    if len(cuts) <= MAX_CUTS and (both := _parse_joined(clause, cuts, shielded)):
        return both
    plain = _strip_polite_words(clause)
    if not plain:
        return []
    return [match_clause(plain, shielded) or UnknownIntent(shielded.raw(plain))]


def _parse_joined(clause: str, cuts: list[re.Match[str]], shielded: MaskedPrompt) -> list[Intent]:
    """Two requests joined by a comma come before one that swallows both in its last word."""
    for cut in cuts:
        left, right = _strip_polite_words(clause[: cut.start()]), clause[cut.end() :]
        if not left or not _strip_polite_words(right):
            continue
        first = match_clause(left, shielded)
        # What follows in a list of things to do is one of them, however much it reads like a request.
        if first is None or isinstance(first, TodoIntent):
            continue
        if not isinstance(first, ShowIntent) and not starts_request(_strip_polite_words(right)):
            continue
        rest = _parse_clause(right, shielded)
        goes_on = isinstance(first, ShowIntent) and all(isinstance(one, ShowIntent) for one in rest)
        if not goes_on and not starts_request(_strip_polite_words(right)):
            continue
        if not any(isinstance(one, UnknownIntent) for one in rest):
            return [first, *rest]
        # What is not understood now is not understood behind the next comma either.
        return []
    return []


def _strip_polite_words(clause: str) -> str:
    """The clause without polite words and end marks."""
    text = LIST_NUMBER.sub("", clause).strip()
    while True:
        shorter = POLITE_HEAD.sub("", text)
        # `now?` alone, or `ok`: nothing is left to ask for, so it is kept and not understood.
        shorter = POLITE_TAIL.sub("", shorter).strip() or text
        if shorter == text:
            return text
        text = shorter
