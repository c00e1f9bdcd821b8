"""Secrets in other programs' settings: told from other texts, and replaced by the variable to put them in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.formats.mcp_entries import SECRET
from cockpit.protocol.messages import Json

# How other agents name a variable: $VAR, ${VAR}, ${VAR:-x}, {env:VAR}, $(echo $VAR).
ECHO = re.compile(r"""\$\(\s*(?:echo|printenv)\s+["']?\$?\{?(\w+)\}?["']?\s*\)""")
BRACED = re.compile(r"\$\{(\w+)(:-[^}]*)?\}")
BARE = re.compile(r"\$(\w+)")
OPENCODE = re.compile(r"\{env:(\w+)\}")
COMPUTED = re.compile(r"\$\([^)]*\)|`[^`]*`|\{file:[^}]*\}")
SHAPES = re.compile(
    r"(?:sk|pk|rk)-[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{8,}|xox[abprs]-[\w-]{8,}|AKIA\w{12,}"
    r"|AIza[\w-]{20,}|hf_\w{16,}|pplx-\w{8,}|ntn_\w{8,}|tvly-[\w-]{8,}|eyJ[\w-]{10,}\.[\w-]+|ctx7sk[\w-]+"
)
PLAIN = re.compile(r"^(?:https?://\S*|[~./]\S*|true|false|\d+|[A-Za-z]:\\\S*)$", re.IGNORECASE)
FLAG = re.compile(r"^--?[\w-]*(?:key|token|secret|password|auth)[\w-]*$", re.IGNORECASE)
QUERY = re.compile(r"([?&][\w-]*(?:key|token|secret|auth)[\w-]*=)([^&$]{6,})", re.IGNORECASE)
SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Safe:
    """A text without secrets: `variables` are to be set (their values were not copied), `why` says what
    cannot be taken over."""

    text: str
    variables: tuple[str, ...] = ()
    why: str = ""


def referred(text: str) -> str:
    """`text` with every way to name a variable written as `${VAR}`."""
    text = OPENCODE.sub(r"${\1}", ECHO.sub(r"${\1}", text))
    return BARE.sub(r"${\1}", text) if not BRACED.search(text) else text


def variable(text: str) -> str:
    """The variable that `text` is nothing but a reference to, or empty."""
    found = BRACED.fullmatch(referred(text.strip()))
    return found[1] if found else ""


def is_secret(name: str, value: str) -> bool:
    """Whether `value`, which stands under `name`, is a secret in clear."""
    if SHAPES.search(value):
        return True
    return bool(SECRET.search(name)) and len(value) >= SHORTEST and not PLAIN.match(value)


def safe(name: str, value: str, instead: str) -> Safe:
    """`value`, or a reference to the variable `instead` where it is a secret. A scheme (`Bearer `) stays."""
    text = referred(value)
    if COMPUTED.search(text):
        return Safe(
            "", (), f"`{name}` is computed when the other program starts; write a variable in its place"
        )
    if BRACED.search(text) or not is_secret(name, text):
        return Safe(text)
    scheme = re.match(r"(?i)(?:bearer|basic|token)\s+", text)
    return Safe(f"{scheme[0] if scheme else ''}${{{instead}}}", (instead,))


def safe_words(words: tuple[str, ...], prefix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Arguments of a program without the secrets in them, and the variables to set."""
    out: list[str] = []
    names: list[str] = []
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        before = words[at - 1] if at else ""
        if equals and FLAG.match(flag):
            made = safe(flag, value, variable_of(prefix, flag))
            out.append(f"{flag}={made.text}")
        else:
            made = safe(before if FLAG.match(before) else "", word, variable_of(prefix, before or "key"))
            out.append(made.text if not made.why else word)
        names += made.variables
    return tuple(out), tuple(names)


def safe_url(url: str, prefix: str) -> Safe:
    """An address without the secrets in its query."""
    names: list[str] = []

    def instead(found: re.Match[str]) -> str:
        name = variable_of(prefix, found[1].strip("?&="))
        names.append(name)
        return f"{found[1]}${{{name}}}"

    text = QUERY.sub(instead, referred(url))
    return Safe(text, tuple(names))


def variable_of(*parts: str) -> str:
    """A name for a variable: `github`, `Authorization` as GITHUB_AUTHORIZATION."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(parts).upper()).strip("_")


@dataclass
class Texts:
    """The texts of one entry, and the variables that stand in them in place of secrets."""

    variables: tuple[str, ...] = ()
    why: str = ""

    def keep(self, made: Safe) -> str:
        self.variables += made.variables
        self.why = self.why or made.why
        return made.text

    def table(self, table: Mapping[str, Json], prefix: str) -> dict[str, Json]:
        """Texts by name; `prefix` goes before the names of variables."""
        out: dict[str, Json] = {}
        for key, value in table.items():
            if isinstance(value, str):
                out[key] = self.keep(safe(key, value, variable_of(prefix, key)))
            elif isinstance(value, bool | int | float):
                out[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return out
