"""Every key of a settings file: its type, its default and who may set it. Reads no file.

A part `*` of a key stands for any name. `project` keys may be in a project's file, where they can only
tighten; all others belong to the user.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cockpit.suggestions import closest_names, did_you_mean

KeyKind: TypeAlias = Literal["text", "choice", "whole", "number", "words", "table"]
KeyPath: TypeAlias = tuple[str, ...]
# From the loosest to the strictest.
MODES = ("full", "auto-edit", "ask", "plan", "deny")
TIERS = ("fast", "default", "medium", "strong")
KIND_DESCRIPTIONS: Mapping[KeyKind, str] = {
    "text": "text in quotes",
    "choice": "a word in quotes",
    "whole": "a whole number, 0 or more",
    "number": "a number, 0 or more",
    "words": "a list of strings in quotes",
    "table": "a table",
}
SHORT_VARIABLES: Mapping[str, str] = {
    "models.default": "COCKPIT_MODEL",
    "limits.stop_file": "COCKPIT_STOP_FILE",
}
# These tables may hold any key: a plugin defines its own.
OPEN_TABLES = ("plugins.*",)


@dataclass(frozen=True, slots=True)
class SettingKey:
    """A key by its dotted `name`. `default` None: not set. `live` False: a change takes effect in the next
    session. `grows`: every layer adds to the list."""

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
    def expected(self) -> str:
        """What its value must be, for messages."""
        return f"one of {', '.join(self.choices)}" if self.choices else KIND_DESCRIPTIONS[self.kind]

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty for a table."""
        if self.kind == "table" or "*" in self.name:
            return ""
        return SHORT_VARIABLES.get(self.name, f"COCKPIT_{self.name.replace('.', '_').upper()}")

    def is_invalid(self, value: object) -> bool:
        """Whether `value` has the wrong type. In Python a bool is an int; here it is not."""
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
                return not isinstance(value, list) or not all(isinstance(item, str) for item in value)
            case "table":
                return not isinstance(value, dict)


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
    SettingKey("models.fallback", "words", [], "models that are tried in order when that one fails"),
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
        "approvals.seconds",
        "number",
        None,
        "an approval that is not answered in time is rejected",
        live=False,
    ),
    _table_key("permissions"),
    _rules_key("allow", "rules that allow without asking", project=False),
    _rules_key("ask", "rules that ask although the policy allows", project=True),
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
    SettingKey(
        "sandbox.hosts", "words", [], "hosts that a command with network access may reach; empty: all"
    ),
    _table_key("agents"),
    SettingKey("agents.limit", "whole", 8, "subagents that run at once"),
    SettingKey(
        "agents.depth", "whole", 1, "how deeply subagents may be nested; 1: only the main agent starts any"
    ),
    SettingKey("agents.steps", "whole", 100, "most model requests of a subagent, whatever its role says"),
    SettingKey("agents.tokens", "whole", None, "tokens of a subagent, in and out together"),
    SettingKey(
        "agents.output", "whole", 12_000, "characters of a subagent's report that its parent reads at once"
    ),
    SettingKey("agents.seconds", "number", None, "wall time of a subagent"),
    SettingKey(
        "agents.follow_up",
        "choice",
        "never",
        "whether a subagent that ends in the background starts a turn",
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
    _table_key("plugins", "settings passed to each plugin"),
    SettingKey("plugins.disabled", "words", [], "plugins that are not loaded", grows=True, live=False),
    _table_key("plugins.*"),
    _table_key("projects", "rules for one folder, by real path"),
    _table_key("projects.*"),
    _table_key("projects.*.permissions"),
    *(SettingKey(f"projects.*.permissions.{level}", "words") for level in ("allow", "ask", "deny")),
)
KEYS_BY_NAME: Mapping[str, SettingKey] = {key.name: key for key in KEYS}


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
    """The key at `path`, None if it is unknown."""
    any_name = (path[0], "*", *path[2:]) if len(path) > 1 else path
    return KEYS_BY_NAME.get(".".join(path)) or KEYS_BY_NAME.get(".".join(any_name))


def is_in_open_table(path: KeyPath) -> bool:
    """Whether `path` is in a table whose keys the schema does not know."""
    table = find_key(path[:2]) if len(path) > 2 else None
    return table is not None and table.name in OPEN_TABLES


def walk_keys(
    table: Mapping[str, object], above: KeyPath = ()
) -> Iterator[tuple[KeyPath, object, SettingKey | None]]:
    """Every key of a file that the schema defines or should, with its value; tables before their content.
    Nothing below an unknown key is visited."""
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


def is_key_under(name: str, prefix: str) -> bool:
    """Whether the key `name` is `prefix` or below it: `mode` is not `models.default`. Every key is below an
    empty prefix."""
    return not prefix or name == prefix or name.startswith(f"{prefix.rstrip('.')}.")


def suggest_key(path: KeyPath) -> str:
    """What to write instead of an unknown key: the one that may be meant, or all that are known."""
    name = format_key(path)
    known = [key.name for key in KEYS if "*" not in key.name and len(key.path) == len(path)]
    if len(path) > 1:
        known = [candidate for candidate in known if candidate.startswith(f"{path[0]}.")] or known
    near = closest_names(name, known or KEYS_BY_NAME, cutoff=0.5)
    return did_you_mean([f"`{key}`" for key in near], f"known keys: {', '.join(sorted(known))}")


def format_key(path: KeyPath) -> str:
    """`path` as it is written in TOML."""
    return ".".join(
        part if part.replace("-", "").replace("_", "").isalnum() else f'"{part}"' for part in path
    )
