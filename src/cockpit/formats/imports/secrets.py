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
WORDS = r"(?:key|token|secret|passw(?:or)?d|passphrase|pwd|auth|credential|signature|cookie)"
# An option, or a variable as in `docker run -e GITHUB_TOKEN=...`.
FLAG = re.compile(rf"^-{{0,2}}[\w-]*(?:{WORDS}|pass$)[\w-]*$", re.IGNORECASE)
QUERY = re.compile(rf"([?&][\w-]*{WORDS}[\w-]*=)([^&#$]+)", re.IGNORECASE)
# `Authorization: Bearer x` behind `--header`, and `"apiKey": "x"` in JSON that is an argument.
HEADER = re.compile(rf"^([\w-]*{WORDS}[\w-]*):\s*(.+)$", re.IGNORECASE | re.DOTALL)
QUOTED = re.compile(rf'"([\w-]*{WORDS}[\w-]*)"(\s*:\s*)"([^"$]+)"', re.IGNORECASE)
# The password of an address with a name and a password before its host.
USER = re.compile(r"(\w[\w+.-]*:/{2}[^\s/:@]*:)([^\s/@$]+)(@)")
# The part of a path that is a key: `https://mcp.example/s/NjM4ZWQ0...`.
PART = re.compile(r"(?<=/)(?=[\w=-]*\d)(?=[\w=-]*[A-Za-z])[\w=-]{24,}(?=/|[?#]|$)")
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


def hidden(name: str, value: str) -> str:
    """`value`, which stands under `name`, as it may be shown. The name of a variable is no secret."""
    if is_secret(name, value) and not name.endswith("_env"):
        return "***"
    return USER.sub(r"\1***\3", value)


def safe(name: str, value: str, instead: str) -> Safe:
    """`value`, or a reference to the variable `instead` where it is a secret. A scheme (`Bearer `) stays."""
    text = referred(value)
    if COMPUTED.search(text):
        return Safe(
            "", (), f"`{name}` is computed when the other program starts; write a variable in its place"
        )
    if BRACED.search(text) or not is_secret(name, text):
        return _within(text, instead)
    scheme = re.match(r"(?i)(?:bearer|basic|token)\s+", text)
    return Safe(f"{scheme[0] if scheme else ''}${{{instead}}}", (instead,))


def _within(text: str, instead: str) -> Safe:
    """`text` without the passwords that are parts of it: of an address, of JSON."""
    names: list[str] = []

    def named(name: str) -> str:
        names.append(name)
        return f"${{{name}}}"

    text = USER.sub(lambda one: f"{one[1]}{named(variable_of(instead, 'password'))}{one[3]}", text)
    text = QUERY.sub(lambda one: one[1] + named(variable_of(instead, one[1].strip("?&="))), text)
    text = QUOTED.sub(lambda one: f'"{one[1]}"{one[2]}"{named(variable_of(instead, one[1]))}"', text)
    return Safe(text, tuple(dict.fromkeys(names)))


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
        elif (header := HEADER.match(word)) is not None:
            made = safe(header[1], header[2], variable_of(prefix, header[1]))
            out.append(f"{header[1]}: {made.text}")
        else:
            said = FLAG.match(before) is not None and before.startswith("-")
            made = safe(before if said else "", word, variable_of(prefix, before if said else "key"))
            out.append(made.text if not made.why else word)
        names += made.variables
    return tuple(out), tuple(names)


def safe_url(url: str, prefix: str) -> Safe:
    """An address without the secrets in its user, its path and its query."""
    made = _within(referred(url), prefix)
    name = variable_of(prefix, "key")
    before, mark, query = made.text.partition("?")
    path = PART.sub(f"${{{name}}}", before)
    text = SHAPES.sub(f"${{{name}}}", f"{path}{mark}{query}")
    return Safe(text, (*made.variables, *((name,) if text != made.text else ())))


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
