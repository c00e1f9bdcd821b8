"""Detects secrets in other programs' settings and replaces them by variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.formats.mcp_files import SECRET_NAME
from cockpit.protocol.messages import Json

# How other agents name a variable: $VAR, ${VAR}, ${VAR:-x}, {env:VAR}, $(echo $VAR).
ECHO_REFERENCE = re.compile(r"""\$\(\s*(?:echo|printenv)\s+["']?\$?\{?(\w+)\}?["']?\s*\)""")
BRACED_REFERENCE = re.compile(r"\$\{(\w+)(:-[^}]*)?\}")
BARE_REFERENCE = re.compile(r"\$(\w+)")
OPENCODE_REFERENCE = re.compile(r"\{env:(\w+)\}")
COMPUTED_VALUE = re.compile(r"\$\([^)]*\)|`[^`]*`|\{file:[^}]*\}")
SECRET_SHAPES = re.compile(
    r"(?:sk|pk|rk)-[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{8,}|xox[abprs]-[\w-]{8,}|AKIA\w{12,}"
    r"|AIza[\w-]{20,}|hf_\w{16,}|pplx-\w{8,}|ntn_\w{8,}|tvly-[\w-]{8,}|eyJ[\w-]{10,}\.[\w-]+|ctx7sk[\w-]+"
)
PLAIN_VALUE = re.compile(r"^(?:https?://\S*|[~./]\S*|true|false|\d+|[A-Za-z]:\\\S*)$", re.IGNORECASE)
SECRET_WORDS = r"(?:key|token|secret|passw(?:or)?d|passphrase|pwd|auth|credential|signature|cookie)"
# An option, or a variable as in `docker run -e GITHUB_TOKEN=...`.
SECRET_FLAG = re.compile(rf"^-{{0,2}}[\w-]*(?:{SECRET_WORDS}|pass$)[\w-]*$", re.IGNORECASE)
SECRET_QUERY = re.compile(rf"([?&][\w-]*{SECRET_WORDS}[\w-]*=)([^&#$]+)", re.IGNORECASE)
# `Authorization: Bearer x` after `--header`, and `"apiKey": "x"` in a JSON argument.
SECRET_HEADER = re.compile(rf"^([\w-]*{SECRET_WORDS}[\w-]*):\s*(.+)$", re.IGNORECASE | re.DOTALL)
SECRET_JSON = re.compile(rf'"([\w-]*{SECRET_WORDS}[\w-]*)"(\s*:\s*)"([^"$]+)"', re.IGNORECASE)
# The password of an address with a name and a password before its host.
URL_PASSWORD = re.compile(r"(\w[\w+.-]*:/{2}[^\s/:@]*:)([^\s/@$]+)(@)")
# The part of a path that is a key: `https://mcp.example/s/NjM4ZWQ0...`.
URL_SECRET = re.compile(r"(?<=/)(?=[\w=-]*\d)(?=[\w=-]*[A-Za-z])[\w=-]{24,}(?=/|[?#]|$)")
MIN_LENGTH = 6


@dataclass(frozen=True, slots=True)
class SafeText:
    """A text without secrets: `variables` must be set (their values were not copied); `why` says why it
    cannot be imported."""

    text: str
    variables: tuple[str, ...] = ()
    why: str = ""


def normalize_references(text: str) -> str:
    """`text` with every kind of variable reference written as `${VAR}`."""
    text = OPENCODE_REFERENCE.sub(r"${\1}", ECHO_REFERENCE.sub(r"${\1}", text))
    return BARE_REFERENCE.sub(r"${\1}", text) if not BRACED_REFERENCE.search(text) else text


def find_variable(text: str) -> str:
    """The variable that `text` refers to if it is nothing but a reference, or an empty string."""
    match = BRACED_REFERENCE.fullmatch(normalize_references(text.strip()))
    return match[1] if match else ""


def is_secret(name: str, value: str) -> bool:
    """Whether `value`, found under `name`, is a secret in plain text."""
    if SECRET_SHAPES.search(value):
        return True
    return bool(SECRET_NAME.search(name)) and len(value) >= MIN_LENGTH and not PLAIN_VALUE.match(value)


def mask_secret(name: str, value: str) -> str:
    """`value`, found under `name`, as it may be displayed. The name of a variable is not a secret."""
    if is_secret(name, value) and not name.endswith("_env"):
        return "***"
    return URL_PASSWORD.sub(r"\1***\3", value)


def replace_secret(name: str, value: str, instead: str) -> SafeText:
    """`value`, or a reference to the variable `instead` if it is a secret. A scheme (`Bearer `) is
    preserved."""
    text = normalize_references(value)
    if COMPUTED_VALUE.search(text):
        why = f"`{name}` is computed when the other program starts; write a variable in its place"
        return SafeText("", (), why)
    if BRACED_REFERENCE.search(text) or not is_secret(name, text):
        return _replace_embedded(text, instead)
    scheme = re.match(r"(?i)(?:bearer|basic|token)\s+", text)
    return SafeText(f"{scheme[0] if scheme else ''}${{{instead}}}", (instead,))


def _replace_embedded(text: str, instead: str) -> SafeText:
    """`text` without the passwords inside it: in an address, in JSON."""
    names: list[str] = []

    def named(name: str) -> str:
        names.append(make_variable_name(instead, name))
        return f"${{{names[-1]}}}"

    text = URL_PASSWORD.sub(lambda match: f"{match[1]}{named('password')}{match[3]}", text)
    text = SECRET_QUERY.sub(lambda match: match[1] + named(match[1].strip("?&=")), text)
    text = SECRET_JSON.sub(lambda match: f'"{match[1]}"{match[2]}"{named(match[1])}"', text)
    return SafeText(text, tuple(dict.fromkeys(names)))


def replace_in_arguments(words: tuple[str, ...], prefix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Command line arguments without the secrets in them, and the variables to set."""
    safe_arguments: list[str] = []
    names: list[str] = []
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        before = words[at - 1] if at else ""
        if equals and SECRET_FLAG.match(flag):
            made = replace_secret(flag, value, make_variable_name(prefix, flag))
            safe_arguments.append(f"{flag}={made.text}")
        elif (header := SECRET_HEADER.match(word)) is not None:
            made = replace_secret(header[1], header[2], make_variable_name(prefix, header[1]))
            safe_arguments.append(f"{header[1]}: {made.text}")
        else:
            is_flag_value = SECRET_FLAG.match(before) is not None and before.startswith("-")
            name = before if is_flag_value else ""
            made = replace_secret(name, word, make_variable_name(prefix, name or "key"))
            safe_arguments.append(made.text if not made.why else word)
        names += made.variables
    return tuple(safe_arguments), tuple(names)


def replace_in_url(url: str, prefix: str) -> SafeText:
    """An address without secrets in its user, path and query."""
    made = _replace_embedded(normalize_references(url), prefix)
    name = make_variable_name(prefix, "key")
    before, mark, query = made.text.partition("?")
    path = URL_SECRET.sub(f"${{{name}}}", before)
    text = SECRET_SHAPES.sub(f"${{{name}}}", f"{path}{mark}{query}")
    return SafeText(text, (*made.variables, *((name,) if text != made.text else ())))


def make_variable_name(*parts: str) -> str:
    """A variable name: `github`, `Authorization` become GITHUB_AUTHORIZATION."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(parts).upper()).strip("_")


@dataclass
class SafeTexts:
    """The texts of one entry, and the variables used in them in place of secrets."""

    variables: tuple[str, ...] = ()
    why: str = ""

    def keep(self, made: SafeText) -> str:
        self.variables += made.variables
        self.why = self.why or made.why
        return made.text

    def table(self, table: Mapping[str, Json], prefix: str) -> dict[str, Json]:
        """Texts by name; `prefix` is prepended to variable names."""
        texts: dict[str, Json] = {}
        for key, value in table.items():
            if isinstance(value, str):
                texts[key] = self.keep(replace_secret(key, value, make_variable_name(prefix, key)))
            elif isinstance(value, bool | int | float):
                texts[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return texts
