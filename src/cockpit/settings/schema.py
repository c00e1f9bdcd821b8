"""Every key of a settings file: what it holds, what it is where nobody says, who may set it. Reads no file.

A part `*` of a key stands for any name. `project` keys may stand in a project's file, where they only
tighten; all others are the person's own.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

KeyKind: TypeAlias = Literal["text", "choice", "whole", "number", "words", "table"]
KeyPath: TypeAlias = tuple[str, ...]
# From the loosest to the tightest.
MODES = ("full", "auto-edit", "ask", "plan", "deny")
TIERS = ("fast", "default", "medium", "strong")
KIND_DESCRIPTIONS: Mapping[KeyKind, str] = {
    "text": "text in quotes",
    "choice": "a word in quotes",
    "whole": "a whole number from 0 on",
    "number": "a number from 0 on",
    "words": "a list of words in quotes",
    "table": "a table",
}


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One key by its dotted `name`. `default` None: nothing is set. `live` False: what is changed while a
    session runs holds from the next session on. `grows`: every layer adds to the list."""

    name: str
    kind: KeyKind
    default: object = None
    about: str = ""
    project: bool = False
    choices: tuple[str, ...] = ()
    live: bool = True
    grows: bool = False

    @property
    def path(self) -> KeyPath:
        return tuple(self.name.split("."))

    @property
    def wanted(self) -> str:
        """What its value must be, for people."""
        return f"one of {', '.join(self.choices)}" if self.choices else KIND_DESCRIPTIONS[self.kind]

    @property
    def variable(self) -> str:
        """The variable of the environment that sets it; empty for a table."""
        if self.kind == "table" or "*" in self.name:
            return ""
        return SHORT_VARIABLES.get(self.name, f"COCKPIT_{self.name.replace('.', '_').upper()}")

    def misfit(self, value: object) -> bool:
        """Whether `value` is of another shape. A bool is an int to Python, not to a person."""
        match self.kind:
            case "text":
                return not isinstance(value, str)
            case "choice":
                return value not in self.choices
            case "whole":
                return isinstance(value, bool) or not isinstance(value, int) or value < 0
            case "number":
                return isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0
            case "words":
                return not isinstance(value, list) or not all(isinstance(one, str) for one in value)
            case "table":
                return not isinstance(value, dict)


SHORT_VARIABLES: Mapping[str, str] = {
    "models.default": "COCKPIT_MODEL",
    "limits.stop_file": "COCKPIT_STOP_FILE",
}


def _table_key(name: str, about: str = "") -> SettingKey:
    return SettingKey(name, "table", None, about)


def _limit_key(name: str, kind: KeyKind, default: object, about: str) -> SettingKey:
    return SettingKey(f"limits.{name}", kind, default, about, project=True, live=False)


def _rules_key(level: str, about: str, project: bool) -> SettingKey:
    return SettingKey(f"permissions.{level}", "words", [], about, project, grows=project)


def _disabled_key(name: str, what: str, project: bool) -> SettingKey:
    return SettingKey(f"{name}.disabled", "words", [], f"{what} that are switched off", project, grows=True)


KEYS: tuple[SettingKey, ...] = (
    SettingKey("mode", "choice", "ask", "the permission mode of new sessions", choices=MODES, live=False),
    _table_key("models"),
    SettingKey("models.default", "text", "", "the model of new sessions, as provider:model", live=False),
    SettingKey("models.fallback", "words", [], "models that are asked in order when that one fails"),
    SettingKey("models.tiers", "table", {}, "what fast, default, medium and strong mean"),
    *(SettingKey(f"models.tiers.{tier}", "text", None, f"the model of the tier {tier}") for tier in TIERS),
    SettingKey(
        "models.window", "whole", None, "tokens of the context window, where the model's own is wrong"
    ),
    _table_key("limits"),
    _limit_key("steps", "whole", 200, "model requests of one turn"),
    _limit_key("tool_calls", "whole", None, "tool calls of one turn"),
    _limit_key("seconds", "number", None, "wall time of one turn"),
    _limit_key("tokens", "whole", None, "tokens of one turn, in and out together"),
    _limit_key("money", "number", None, "US dollars of one turn"),
    _limit_key("session_money", "number", None, "US dollars of one session"),
    _limit_key("stop_file", "text", None, "a turn ends when this file is there"),
    _table_key("approvals"),
    SettingKey(
        "approvals.seconds", "number", None, "an approval nobody answers in this time is a no", live=False
    ),
    _table_key("permissions"),
    _rules_key("allow", "rules that answer an ask with yes", project=False),
    _rules_key("ask", "rules that turn an allow into an ask", project=True),
    _rules_key("deny", "rules that refuse, in every mode", project=True),
    _table_key("redaction"),
    SettingKey(
        "redaction.file_reads",
        "choice",
        "redacted",
        "whether known secrets stay in what tools read of files",
        choices=("redacted", "raw"),
        live=False,
    ),
    _table_key("sandbox"),
    SettingKey(
        "sandbox.use",
        "choice",
        "auto",
        "whether commands run in a sandbox",
        choices=("auto", "required", "off"),
        live=False,
    ),
    SettingKey("sandbox.hosts", "words", [], "hosts that a command with the network may reach; none: all"),
    _table_key("agents"),
    SettingKey("agents.limit", "whole", 8, "subagents that run at once"),
    SettingKey(
        "agents.depth", "whole", 1, "how deep subagents may open others; 1: only the main agent opens any"
    ),
    SettingKey("agents.steps", "whole", 100, "model requests of a subagent at most, whatever its role says"),
    SettingKey("agents.tokens", "whole", None, "tokens of a subagent, in and out together"),
    SettingKey(
        "agents.output", "whole", 12_000, "characters of a subagent's report that the opener reads at once"
    ),
    SettingKey("agents.seconds", "number", None, "wall time of a subagent"),
    SettingKey(
        "agents.follow_up",
        "choice",
        "never",
        "whether a subagent that ends in the background begins a turn",
        choices=("never", "idle"),
    ),
    _table_key("skills"),
    _disabled_key("skills", "skills", project=True),
    _table_key("hooks"),
    _disabled_key("hooks", "hooks", project=False),
    _table_key("mcp"),
    _disabled_key("mcp", "MCP servers", project=True),
    SettingKey("mcp.connect_seconds", "number", None, "how long a server may take to start"),
    SettingKey("mcp.call_seconds", "number", None, "how long a call may take"),
    SettingKey("mcp.expose_tools", "words", None, "tools that `cockpit mcp-serve` offers"),
    _table_key("plugins", "what a plugin gets as its own table"),
    SettingKey("plugins.disabled", "words", [], "plugins that are not loaded", grows=True, live=False),
    _table_key("plugins.*"),
    _table_key("projects", "rules for one folder, by real path"),
    _table_key("projects.*"),
    _table_key("projects.*.permissions"),
    *(SettingKey(f"projects.*.permissions.{level}", "words") for level in ("allow", "ask", "deny")),
)
KEYS_BY_NAME: Mapping[str, SettingKey] = {key.name: key for key in KEYS}
# Below these anything may stand: a plugin knows its own keys.
OPEN_TABLES = ("plugins.*",)


def _build_defaults() -> dict[str, object]:
    made: dict[str, object] = {}
    for key in KEYS:
        if key.default is None:
            continue
        table = made
        for part in key.path[:-1]:
            inner = table.setdefault(part, {})
            assert isinstance(inner, dict)
            table = inner
        table[key.path[-1]] = key.default
    return made


DEFAULTS: Mapping[str, object] = _build_defaults()


def find_key(path: KeyPath) -> SettingKey | None:
    """The key that `path` is, None where there is none."""
    any_name = (path[0], "*", *path[2:]) if len(path) > 1 else path
    return KEYS_BY_NAME.get(".".join(path)) or KEYS_BY_NAME.get(".".join(any_name))


def is_in_open_table(path: KeyPath) -> bool:
    """Whether `path` lies in a table whose keys are somebody else's to know."""
    table = find_key(path[:2]) if len(path) > 2 else None
    return table is not None and table.name in OPEN_TABLES


def walk_keys(
    table: Mapping[str, object], above: KeyPath = ()
) -> Iterator[tuple[KeyPath, object, SettingKey | None]]:
    """Every key of a file that is the schema's to judge, with what it is there; tables before what is in
    them. What stands below an unknown key is not looked at."""
    for name, value in table.items():
        path = (*above, name)
        key = find_key(path)
        yield path, value, key
        if (
            key is not None
            and key.kind == "table"
            and isinstance(value, Mapping)
            and key.name not in OPEN_TABLES
        ):
            yield from walk_keys(value, path)


def is_key_under(name: str, wanted: str) -> bool:
    """Whether the key `name` is `wanted` or lies in it: `mode` is not `models.default`. Empty: all are."""
    return not wanted or name == wanted or name.startswith(f"{wanted.rstrip('.')}.")


def suggest_key(path: KeyPath) -> str:
    """What to do about a key that is none: the one that may have been meant."""
    name = format_key(path)
    known = [key.name for key in KEYS if "*" not in key.name and len(key.path) == len(path)]
    if len(path) > 1:
        known = [one for one in known if one.startswith(f"{path[0]}.")] or known
    near = difflib.get_close_matches(name, known or list(KEYS_BY_NAME), 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(sorted(known))}"


def format_key(path: KeyPath) -> str:
    """`path` as it is written in TOML."""
    return ".".join(one if one.replace("-", "").replace("_", "").isalnum() else f'"{one}"' for one in path)
