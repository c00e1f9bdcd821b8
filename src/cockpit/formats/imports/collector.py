"""Collects what the settings files of one agent contain, and what each setting would become in cockpit.

A reader opens files with a `SettingsCollector` and calls a method of `SettingsSection` for each setting.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from cockpit.formats.config_files import ConfigFile, PathStep, ValuePath, read_config
from cockpit.formats.imports.secrets import (
    SafeTexts,
    find_variable,
    make_variable_name,
    replace_in_arguments,
    replace_in_url,
    replace_secret,
)
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json
from cockpit.settings.schema import MODES

SettingKind: TypeAlias = Literal[
    "model", "provider", "prices", "mode", "rule", "mcp", "agent", "command", "other"
]
RuleLevel: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class SetValue:
    """Set a value in the user's settings file."""

    path: tuple[str, ...]
    value: Json


@dataclass(frozen=True, slots=True)
class AddRule:
    """Add a permission rule; only for the folder `root` if given."""

    level: RuleLevel
    text: str
    root: str = ""


@dataclass(frozen=True, slots=True)
class AddFacts:
    """Add the prices and abilities of a model to `models.toml`."""

    provider: str
    model: str
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddServer:
    """Add an entry to `mcp.json`."""

    name: str
    entry: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddAgent:
    """Add a file to the user's `agents` folder."""

    name: str
    text: str


ImportAction: TypeAlias = SetValue | AddRule | AddFacts | AddServer | AddAgent


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """A setting of another agent. Without `take` it is not imported, and `why` says so.

    With `loosens` it needs the user's consent. With `in_place` cockpit reads it where it is, so it is only
    imported on request. `notes` say what else the user has to do.
    """

    agent: str
    what: SettingKind
    name: str
    file: str
    line: int
    take: ImportAction | None = None
    why: str = ""
    loosens: bool = False
    in_place: bool = False
    notes: tuple[str, ...] = field(default=())


RULE_PATTERN = re.compile(r"[\w*-]+(?:\(.*\))?", re.DOTALL)
# Other agents' names of cockpit's providers.
PROVIDER_TABLE = """
    moonshotai=moonshot kimi=moonshot zai=zhipu zhipuai=zhipu alibaba=dashscope fireworks-ai=fireworks
    togetherai=together lm-studio=lmstudio llamacpp=llama.cpp openai-chat-completions=openai
"""
PROVIDER_ALIASES = dict(pair.split("=") for pair in PROVIDER_TABLE.split())
# A folder must not decide where the user's words and keys are sent (docs/adr/0008).
PROJECT_REFUSAL = "a project may not choose a model or an endpoint for you"
PROVIDERS_KEY = ("plugins", "openai_chat", "providers")


@dataclass
class SettingsCollector:
    """The settings of one agent's files. `known` are the names of cockpit's providers, `defined` those that
    the files define."""

    agent: str
    known: Collection[str]
    settings: list[FoundSetting] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)

    def open(self, path: Path, is_project: bool = False) -> "SettingsSection | None":
        """The file at `path`, or None. A file that cannot be read is recorded."""
        doc = read_config(path)
        if doc is None:
            return None
        if doc.faults:
            fault = doc.faults[0]
            why = f"{fault.reason}; {fault.remedy}"
            self.settings.append(FoundSetting(self.agent, "other", path.name, doc.file, fault.line, why=why))
            return None
        return SettingsSection(self, replace(doc, is_project=is_project))


@dataclass(frozen=True)
class SettingsSection:
    """The value at `path` in a settings file. Paths given to its methods are relative to it."""

    collector: SettingsCollector
    doc: ConfigFile
    path: ValuePath = ()

    def at(self, *path: PathStep) -> Json:
        """The value at `path`, or None."""
        return self.doc.at(*self.path, *path)

    def table(self, *path: PathStep) -> Mapping[str, Json]:
        """The table at `path`, empty if there is none."""
        return self.doc.table(*self.path, *path)

    def rows(self, *path: PathStep) -> list[Json]:
        """The list at `path`, empty if there is none."""
        return self.doc.rows(*self.path, *path)

    def text(self, *path: PathStep) -> str:
        """The text at `path`, stripped, or an empty string."""
        return self.doc.text(*self.path, *path)

    def words(self, *path: PathStep) -> list[str]:
        """The items of the list at `path` as text."""
        return [str(row) for row in self.rows(*path)]

    def milliseconds(self, *path: PathStep) -> float:
        """The number of seconds at `path` in milliseconds, 0 if there is none."""
        seconds = self.at(*path)
        return 1000 * seconds if isinstance(seconds, int | float) else 0

    def below(self, *path: PathStep) -> "SettingsSection":
        """The section at `path`."""
        return replace(self, path=(*self.path, *path))

    def tables(self, *path: PathStep) -> "Iterator[tuple[str, SettingsSection]]":
        """The entries of the table at `path` as sections, by name."""
        return ((name, self.below(*path, name)) for name in self.table(*path))

    def items(self, *path: PathStep) -> "Iterator[SettingsSection]":
        """The items of the list at `path` as sections."""
        return (self.below(*path, index) for index in range(len(self.rows(*path))))

    def left(self, what: SettingKind, name: str, why: str) -> None:
        """Record that it is not imported."""
        line = self.doc.line(*self.path)
        setting = FoundSetting(self.collector.agent, what, name, self.doc.file, line, why=why)
        self.collector.settings.append(setting)

    def left_unknown(self, known: Collection[str], reasons: Mapping[str, str]) -> None:
        """Record the keys that are not in `known`."""
        for key, section in self.tables():
            if key not in known:
                section.left("other", key, reasons.get(key, "cockpit has no setting for it"))

    def take(
        self,
        what: SettingKind,
        name: str,
        take: ImportAction,
        *,
        loosens: bool = False,
        in_place: bool = False,
        notes: Iterable[str] = (),
    ) -> None:
        """Record that it can be imported."""
        line, agent = self.doc.line(*self.path), self.collector.agent
        setting = FoundSetting(agent, what, name, self.doc.file, line, take, "", loosens, in_place)
        self.collector.settings.append(replace(setting, notes=tuple(dict.fromkeys(notes))))

    def model(self, provider: str, id: str, key: str) -> None:
        """A chosen model; `key` is `models.default` or a tier."""
        name = PROVIDER_ALIASES.get(provider, provider)
        if not name or not id:
            return
        if self.doc.is_project:
            self.left("model", f"{provider}/{id}", PROJECT_REFUSAL)
        elif self._has_provider(name):
            self.take("model", key, SetValue(tuple(key.split(".")), f"{name}:{id}"))
        else:
            why = (
                f"cockpit has no provider {name} that speaks OpenAI's protocol: `cockpit connect` lists them"
            )
            self.left("model", f"{provider}/{id}", why)

    def _has_provider(self, name: str) -> bool:
        return name in self.collector.known or name in self.collector.defined

    def provider(
        self,
        name: str,
        *,
        url: str = "",
        key: str = "",
        key_env: str = "",
        label: str = "",
        default: str = "",
        headers: Mapping[str, Json] | None = None,
        unsupported: str = "",
    ) -> None:
        """A provider. `key` is the key in the file; `unsupported` says why cockpit cannot use it."""
        known = PROVIDER_ALIASES.get(name, name)
        if unsupported or self.doc.is_project:
            self.left("provider", name, unsupported or PROJECT_REFUSAL)
            return
        notes: list[str] = []
        key_env = key_env or find_variable(key)
        if key and not key_env:
            notes.append(f"its key was not copied: run `cockpit connect {known}`")
        if not url:
            is_known = known in self.collector.known
            for note in notes if is_known else ["it has no address (URL)"]:
                self.left("provider", name, note)
            return
        self.collector.defined.add(known)
        fields: dict[str, Json] = {"base_url": url, "key_env": key_env, "label": label, "default": default}
        plain_headers: dict[str, Json] = {}
        for header, value in (headers or {}).items():
            # They are sent literally, so those that need a variable are left out.
            made = replace_secret(header, str(value), make_variable_name(known, header))
            if made.variables or made.why or "${" in made.text:
                notes.append(f"its header {header} was not copied: it holds a secret, or a variable")
            else:
                plain_headers[header] = made.text
        fields["headers"] = plain_headers
        table: dict[str, Json] = {item: value for item, value in fields.items() if value}
        self.take("provider", known, SetValue((*PROVIDERS_KEY, known), table), notes=notes)

    def prices(self, provider: str, id: str, facts: Mapping[str, Json]) -> None:
        """The prices and abilities of a model."""
        known_facts = {entry: value for entry, value in facts.items() if value not in (None, 0, 0.0, False)}
        name = PROVIDER_ALIASES.get(provider, provider)
        if known_facts and id and not self.doc.is_project and self._has_provider(name):
            self.take("prices", f"{name}:{id}", AddFacts(name, id, known_facts))

    def mode(self, mode: str) -> None:
        """The mode of new sessions; a looser mode than `ask` needs consent."""
        if self.doc.is_project:
            self.left(
                "mode", mode, "a project may not set the user's mode; use --mode or `cockpit config set mode`"
            )
            return
        loosens = mode in MODES and MODES.index(mode) < MODES.index("ask")
        self.take("mode", mode, SetValue(("mode",), mode), loosens=loosens)

    def rule(self, level: RuleLevel, text: str, *, root: str = "", in_place: bool = False) -> None:
        """A permission rule; one that allows needs consent."""
        if not RULE_PATTERN.fullmatch(text):
            self.left("rule", text, "not a rule; write Tool or Tool(pattern)")
            return
        allows = level == "allow"
        rule = AddRule(level, text, root)
        self.take("rule", f"{level} {text}", rule, loosens=allows, in_place=in_place and not allows)

    def disabled_tools(self, server: str) -> None:
        """Tools of an MCP server that are switched off, as deny rules."""
        for item in self.items("disabled_tools"):
            item.rule("deny", mcp_tool_name(server, str(item.at())))
        if self.rows("enabled_tools"):
            example = mcp_tool_name(server, "NAME")
            why = f"only some tools of {server} are enabled: deny the others, like {example}"
            self.below("enabled_tools").left("rule", f"{server} enabled_tools", why)

    def agent_file(self, name: str, head: Mapping[str, Json], body: str) -> None:
        """A subagent's role, as a role file of cockpit."""
        if not body.strip():
            self.left("agent", name, "it has no instructions of its own")
            return
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items() if value]
        text = "\n".join(["---", f"name: {name}", *lines, "---", "", body.strip(), ""])
        self.take("agent", name, AddAgent(name, text))

    def server(
        self,
        name: str,
        *,
        type: str = "",
        command: Sequence[str] = (),
        env: Mapping[str, Json] | None = None,
        headers: Mapping[str, Json] | None = None,
        cwd: str = "",
        milliseconds: float = 0,
        disabled: bool = False,
        oauth: Mapping[str, Json] | None = None,
        in_place: bool = False,
        notes: tuple[str, ...] = (),
    ) -> None:
        """An MCP server, as an entry of `.mcp.json`. No secret is copied: the variable to set is named
        instead."""
        url = self.text("url")
        if not command and not url:
            self.left("mcp", name, "it has neither a command nor an address")
            return
        if self.doc.is_project and not in_place:
            why = (
                "it belongs to the project: put it into .mcp.json there, where it starts once you approve it"
            )
            self.left("mcp", name, why)
            return
        made = SafeTexts()
        entry: dict[str, Json] = {"type": type or ("http" if url else "stdio")}
        if url:
            entry["url"] = made.keep(replace_in_url(url, name))
        else:
            words, variables = replace_in_arguments(tuple(command), name)
            made.variables += variables
            entry |= {"command": words[0], "args": list(words[1:])}
        for key, table, prefix in (("env", env, ""), ("headers", headers, name), ("oauth", oauth, name)):
            entry |= {key: made.table(table, prefix)} if table else {}
        extra: dict[str, Json] = {"cwd": cwd, "timeout": int(milliseconds), "disabled": disabled}
        entry |= {key: value for key, value in extra.items() if value}
        if made.why:
            self.left("mcp", name, made.why)
            return
        secrets = [
            f"set {variable} in your environment: its value was not copied" for variable in made.variables
        ]
        self.take("mcp", name, AddServer(name, entry), in_place=in_place, notes=(*secrets, *notes))
