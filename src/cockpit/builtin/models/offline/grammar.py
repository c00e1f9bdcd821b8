"""Parses a prompt into intents, with the phrases of `english.toml` and `chinese.toml`. Pure; never raises.

Quoted parts are masked, the prompt is split into clauses, and polite words are removed from each. The first
phrase that matches a whole clause and whose builder accepts the captures wins; a clause that matches none is
unknown. A change is never guessed.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from cockpit.builtin.models.offline.builders import BUILDERS, IntentBuilder
from cockpit.builtin.models.offline.captures import PLACEHOLDER, Captures, MaskedPrompt, mask_quotes
from cockpit.builtin.models.offline.change_intents import CreateIntent, ShellIntent, TodoIntent
from cockpit.builtin.models.offline.intents import Intent, UnknownIntent
from cockpit.builtin.models.offline.read_intents import ShowIntent

MAX_PROMPT_LENGTH = 20_000
MAX_CLAUSES = 40
MAX_CUTS = 40
MAX_CLAUSE_LENGTH = 4_000
CHINESE = re.compile("[\u4e00-\u9fff]")
LANGUAGES = ("english", "chinese")
# A quoted part, or a word without the marks that separate requests.
WORD_PATTERN = rf"(?:{PLACEHOLDER}|@?[^\s,，;；。]+)"
COMMAND_LINE = re.compile(
    r"^\s*(?:(?:please\s+|请)?(?:run|execute|exec|shell|cmd|command|运行|执行|命令)(?:命令)?\s*[:：]\s*|[$!]\s*)(?P<command>\S.*)$",
    re.I,
)
THEN_SEPARATOR = re.compile(r"\s*[;,；，]\s*(?:and\s+)?(?:then\b|然后|接着|再)[,，]?\s*", re.I)
# Always separates two requests.
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
# Separates two requests only if both sides are understood.
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
    """The intents of `prompt` in order. If a part is not understood, all changes are left out, and the last
    intent says so."""
    masked = mask_quotes(prompt[:MAX_PROMPT_LENGTH])
    intents = _parse_text(masked.text, masked)
    unknown = [intent for intent in intents if isinstance(intent, UnknownIntent)]
    if not unknown:
        return tuple(intents)
    text = "\n".join(intent.text for intent in unknown if intent.text)
    known = [intent for intent in intents if not isinstance(intent, UnknownIntent)]
    harmless = [intent for intent in known if not intent.changes]
    report = UnknownIntent(text, held_back=len(harmless) < len(known))
    # Mostly not understood: this is a pasted text, and its lines are not requests.
    return (report,) if len(unknown) > len(known) else (*harmless, report)


def _parse_text(text: str, masked: MaskedPrompt) -> list[Intent]:
    if (whole := _parse_create_with_body(text, masked)) is not None:
        return whole
    intents: list[Intent] = []
    for line in text.split("\n"):
        if command := COMMAND_LINE.match(LIST_NUMBER.sub("", line)):
            intents += _parse_command(command["command"], masked)
        else:
            intents += [intent for clause in _split_clauses(line) for intent in _parse_clause(clause, masked)]
        if len(intents) > MAX_CLAUSES:
            return [UnknownIntent(masked.raw(text))]
    return intents


def _parse_create_with_body(text: str, masked: MaskedPrompt) -> list[Intent] | None:
    """Parse `create FILE with:` followed by the content on its own lines or in a fence."""
    head, _, body = text.strip().partition("\n")
    if not body.strip():
        return None
    clauses = _split_clauses(head)
    create = match_clause(_strip_polite_words(clauses[-1] if clauses else ""), masked)
    if not isinstance(create, CreateIntent) or create.content:
        return None
    if not re.search(
        r"(?:with|containing|content|contents|内容|为|是)?\s*(?:[:：]|with|containing|内容)\s*$", head, re.I
    ):
        return None
    before = [intent for clause in clauses[:-1] for intent in _parse_clause(clause, masked)]
    first, _, rest = body.strip("\n").partition("\n")
    if (part := masked.quoted_part(first)) and part.is_fence:
        after = _parse_text(rest, masked) if rest.strip() else []
        return [*before, CreateIntent(create.path, part.inner, create.overwrite), *after]
    content = masked.raw(body.strip("\n"))
    return [*before, CreateIntent(create.path, content + "\n", create.overwrite)]


def _parse_command(command: str, masked: MaskedPrompt) -> list[Intent]:
    """A command line up to its end, or up to a `, then` with an understood request after it."""
    for cut in THEN_SEPARATOR.finditer(command):
        after = _parse_text(command[cut.end() :], masked)
        if after and not any(isinstance(intent, UnknownIntent) for intent in after):
            return [ShellIntent(masked.inner(command[: cut.start()])), *after]
    return [ShellIntent(masked.inner(command))]


def _split_clauses(line: str) -> list[str]:
    return [
        part
        for part in STRONG_SEPARATOR.split(LIST_NUMBER.sub("", line))
        if part and _strip_polite_words(part)
    ]


def _parse_clause(clause: str, masked: MaskedPrompt) -> list[Intent]:
    cuts = list(WEAK_SEPARATOR.finditer(clause))
    # A clause with so many commas is prose, and trying each of them would take too long.
    if len(cuts) <= MAX_CUTS and (both := _parse_joined(clause, cuts, masked)):
        return both
    plain = _strip_polite_words(clause)
    if not plain:
        return []
    return [match_clause(plain, masked) or UnknownIntent(masked.raw(plain))]


def _parse_joined(clause: str, cuts: list[re.Match[str]], masked: MaskedPrompt) -> list[Intent]:
    """Split a clause into two requests, in preference to one whose last capture swallows the second."""
    for cut in cuts:
        left, right = _strip_polite_words(clause[: cut.start()]), clause[cut.end() :]
        if not left or not _strip_polite_words(right):
            continue
        first = match_clause(left, masked)
        # What follows in a todo list is an item of it, even if it reads like a request.
        if first is None or isinstance(first, TodoIntent):
            continue
        if not isinstance(first, ShowIntent) and not starts_request(_strip_polite_words(right)):
            continue
        rest = _parse_clause(right, masked)
        shows_more = isinstance(first, ShowIntent) and all(isinstance(intent, ShowIntent) for intent in rest)
        if not shows_more and not starts_request(_strip_polite_words(right)):
            continue
        # If the rest is not understood here, it is not understood after the next comma either.
        return [] if any(isinstance(intent, UnknownIntent) for intent in rest) else [first, *rest]
    return []


def _strip_polite_words(clause: str) -> str:
    text = LIST_NUMBER.sub("", clause).strip()
    while True:
        shorter = POLITE_HEAD.sub("", text)
        # `now?` or `ok` alone would leave nothing, so it stays and is not understood.
        shorter = POLITE_TAIL.sub("", shorter).strip() or text
        if shorter == text:
            return text
        text = shorter


def match_clause(clause: str, masked: MaskedPrompt) -> Intent | None:
    """The intent of a clause without polite words, or None."""
    if not clause or len(clause) > MAX_CLAUSE_LENGTH:
        return None
    for pattern, build in _phrase_table(bool(CHINESE.search(clause))):
        match = pattern.fullmatch(clause)
        if match and (intent := build(Captures(match, masked))) is not None:
            return intent
    return None


def starts_request(clause: str) -> bool:
    """Whether `clause` begins like a request, and not like the next item of a list."""
    return _request_starts().match(clause) is not None


@cache
def _phrase_table(chinese_first: bool) -> tuple[tuple[re.Pattern[str], IntentBuilder], ...]:
    """The compiled phrases of all languages, those of the clause's language first."""
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
    # Repeated, because a word may contain others.
    for _ in range(3):
        line = re.sub(r"%([A-Z_]+)", lambda match: words[match[1]], line)
    return re.compile(line, re.I | re.S)
