"""Patterns of secrets, and the encoded forms of a known value.

Each pattern begins with a cue, a fixed text that is searched for first, so that text without cues costs a few
substring searches. Patterns are narrow on purpose: ordinary source text must pass unchanged
(tests/safety/test_redaction.py checks this repository).
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

# A shorter value is a word like `true`: removing it would garble ordinary text.
MIN_LENGTH = 8
MIN_ENCODED_LENGTH = 12
# Suffixes of variable names whose value is a path, not a secret.
PATH_SUFFIXES = ("_SOCK", "_FILE", "_PATH", "_DIR", "_HOME", "_URL_BASE")
START = r"(?<![A-Za-z0-9_-])"


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A kind of secret. It begins with `cue` (lower case where `any_case`); group 1, if present, is the
    secret part. With `checked` that part must also look generated."""

    kind: str
    cue: str
    pattern: re.Pattern[str]
    any_case: bool = False
    checked: bool = False


def _token_pattern(kind: str, cue: str, rest: str) -> SecretPattern:
    return SecretPattern(kind, cue, re.compile(START + re.escape(cue) + rest))


_PEM = r"[A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----"
_VALUE = (
    r"""(?:["'`]([^\s"'`<>{}$\\\[\]]{8,200})["'`]|([^\s"'`<>{}()$\\\[\],;|&]{8,200})(?=$|[\s,;|&"'}\]]))"""
)
_ASSIGNS = r"""(?:[_-]?[A-Za-z0-9]{0,12}){0,2}["']?\s{0,3}(?:=|:|=>|:=)\s{0,3}"""


def _assignment_pattern(word: str) -> SecretPattern:
    """`word=VALUE` or `"word": "VALUE"`, if the value looks generated."""
    cue = word.lower()
    return SecretPattern(
        "assigned secret", cue, re.compile(re.escape(word) + _ASSIGNS + _VALUE, re.IGNORECASE), True, True
    )


SECRET_PATTERNS = (
    _token_pattern("api key", "sk-", r"(?=[\w-]*\d)[A-Za-z0-9][\w-]{19,}"),
    _token_pattern("github token", "ghp_", r"[A-Za-z0-9]{30,}"),
    _token_pattern("github token", "gho_", r"[A-Za-z0-9]{30,}"),
    _token_pattern("github token", "ghs_", r"[A-Za-z0-9]{30,}"),
    _token_pattern("github token", "github_pat_", r"[A-Za-z0-9_]{22,}"),
    _token_pattern("gitlab token", "glpat-", r"[\w-]{20,}"),
    _token_pattern("aws key", "AKIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _token_pattern("aws key", "ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _token_pattern("slack token", "xox", r"[abeoprs]-[\w-]{10,}"),
    SecretPattern(
        "slack webhook",
        "hooks.slack.com/",
        re.compile(r"hooks\.slack\.com/services/(T\w{6,}/B\w{6,}/\w{16,})"),
    ),
    _token_pattern("google key", "AIza", r"[\w-]{35}"),
    _token_pattern("google token", "ya29.", r"[\w-]{30,}"),
    _token_pattern("jwt", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    _token_pattern("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token_pattern("pypi token", "pypi-AgE", r"[\w-]{50,}"),
    _token_pattern("hugging face token", "hf_", r"[A-Za-z0-9]{30,}"),
    SecretPattern("stripe key", "k_live_", re.compile(r"(?<=[sr])k_live_([A-Za-z0-9]{16,})")),
    SecretPattern("stripe key", "k_test_", re.compile(r"(?<=[sr])k_test_([A-Za-z0-9]{16,})")),
    _token_pattern("groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    _token_pattern("xai key", "xai-", r"[A-Za-z0-9]{60,}"),
    _token_pattern("sendgrid key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _token_pattern("vault token", "hvs.", r"[\w-]{24,}"),
    _token_pattern("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    SecretPattern("azure key", "AccountKey=", re.compile(r"AccountKey=([A-Za-z0-9+/]{80,}={0,2})")),
    SecretPattern(
        "private key",
        "-----BEGIN ",
        re.compile(
            rf"-----BEGIN {_PEM}(?:(?=(?:[^-A-Za-z0-9]|\\[nr]){{0,8}}[A-Za-z0-9+/=:, -]{{16}})"
            rf"[^\0]{{40,16000}}?-----END {_PEM}|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{{24,}})+)"
        ),
    ),
    SecretPattern(
        "password in a url", "://", re.compile(r"""://[^\s/:@"'<>]{0,80}:([^\s/@"'<>{}$*]{3,200})@""")
    ),
    SecretPattern(
        "authorization",
        "authorization",
        re.compile(
            r"""authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token)\s+([^\s"',;<>{}$\[\]]{8,})""",
            re.I,
        ),
        True,
    ),
    SecretPattern(
        "bearer token", "bearer ", re.compile(r"bearer ((?=[\w.~+/=-]*\d)[\w.~+/=-]{20,})", re.I), True
    ),
    *map(
        _assignment_pattern,
        ("passw", "secret", "token", "api_key", "apikey", "api-key", "access_key", "credential"),
    ),
)
CUES = tuple((shape, shape.cue.encode()) for shape in SECRET_PATTERNS)


def find_secrets(text: str) -> list[tuple[int, int, str]]:
    """The secrets in `text` as (start, end, kind), in order and without overlaps."""
    matches: list[tuple[int, int, str]] = []
    # Searching bytes is several times as fast; replacing each wide character by `?` keeps all positions.
    raw = text.encode("ascii", "replace")
    lowered = raw.lower()
    for shape, cue in CUES:
        hay = lowered if shape.any_case else raw
        if (at := hay.find(cue)) >= 0:
            matches += _find_matches(shape, text, hay, at)
    return _drop_overlaps(matches) if matches else matches


def _find_matches(shape: SecretPattern, text: str, hay: bytes, at: int) -> Iterator[tuple[int, int, str]]:
    cue = shape.cue.encode()
    while at >= 0:
        match = shape.pattern.match(text, at)
        if match is None:
            at = hay.find(cue, at + 1)
            continue
        group = next((number for number in range(1, match.re.groups + 1) if match[number] is not None), 0)
        start, end = match.span(group)
        if not shape.checked or _looks_generated(text[start:end]):
            yield start, end, shape.kind
        at = hay.find(cue, max(end, at + 1))


def _looks_generated(value: str) -> bool:
    """Whether it mixes letters and digits and is not a path, an identifier or a version."""
    letters = sum(item.isalpha() for item in value)
    digits = sum(item.isdigit() for item in value)
    if not letters or digits < 2 or letters + digits < 8:
        return False
    if "/" in value and (len(value) < 24 or value.startswith(("/", "./", "../", "~", "http"))):
        return False
    # Words written by people: `two_words_2`, `a.b.c1`, `some-thing-2`.
    pieces = re.split(r"[_.:-]", value)
    if len(pieces) > 1 and all(piece.isalpha() or piece.isdigit() or len(piece) < 4 for piece in pieces):
        return False
    return len(set(value)) >= 6


def _drop_overlaps(matches: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    separate: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(matches, key=lambda finding: (finding[0], -finding[1])):
        if not separate or start >= separate[-1][1]:
            separate.append((start, end, kind))
    return separate


def is_redactable(name: str, value: str) -> bool:
    """Whether a variable's value can be removed wherever it occurs without garbling ordinary text."""
    if len(value) < MIN_LENGTH or name.upper().endswith(PATH_SUFFIXES):
        return False
    # A short lower-case word (`postgres`, `disabled`) or a number occurs in too much text.
    return not ((value.isalpha() and value.islower() and len(value) < 12) or value.isdigit())


def encoded_forms(value: str) -> tuple[str, ...]:
    """`value` and its encodings: base64 at each offset, hex, URL-encoded, JSON."""
    raw = value.encode("utf-8", "surrogateescape")
    matches = [value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]]
    encoded = [raw.hex(), raw.hex().upper()]
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw).decode()
        piece = whole[(shift * 8 + 5) // 6 : (shift + len(raw)) * 8 // 6]
        encoded += [piece, piece.replace("+", "-").replace("/", "_")]
    matches += [form for form in encoded if len(form) >= MIN_ENCODED_LENGTH]
    return tuple(dict.fromkeys(matches))
