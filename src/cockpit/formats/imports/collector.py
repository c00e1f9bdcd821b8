"""Collects what the settings files of one agent say, with a method for each kind of setting, and what it
would become here.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from cockpit.formats.config_files import ConfigFile, read_config
from cockpit.formats.imports.secrets import (
    SafeTexts,
    find_variable,
    make_variable_name,
    replace_in_arguments,
    replace_in_url,
    replace_secret,
)
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
PROVIDER_ALIASES = {
    "moonshotai": "moonshot",
    "kimi": "moonshot",
    "zai": "zhipu",
    "zhipuai": "zhipu",
    "alibaba": "dashscope",
    "fireworks-ai": "fireworks",
    "togetherai": "together",
    "lm-studio": "lmstudio",
    "llamacpp": "llama.cpp",
    "openai-chat-completions": "openai",
}
# A folder must not decide where the user's words and keys are sent (docs/adr/0008).
PROJECT_REFUSAL = "a project may not choose a model or an endpoint for you"
PROVIDERS_KEY = ("plugins", "openai_chat", "providers")


@dataclass
class SettingsCollector:
    """The settings of one agent's files. `known` are the names of cockpit's providers."""

    agent: str
    known: Collection[str]
    settings: list[FoundSetting] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)

    def open(self, path: Path, is_project: bool = False) -> ConfigFile | None:
        """The file at `path`, or None. A file that cannot be read is recorded."""
        doc = read_config(path)
        if doc is None:
            return None
        if doc.faults:
            fault = doc.faults[0]
            self._left("other", path.name, doc.file, fault.line, f"{fault.reason}; {fault.remedy}")
            return None
        return replace(doc, is_project=is_project)

    def left(
        self, doc: ConfigFile, path: tuple[str | int, ...], what: SettingKind, name: str, why: str
    ) -> None:
        """Record something that is not imported."""
        self._left(what, name, doc.file, doc.line(*path), why)

    def _left(self, what: SettingKind, name: str, file: str, line: int, why: str) -> None:
        self.settings.append(FoundSetting(self.agent, what, name, file, line, why=why))

    def take(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        what: SettingKind,
        name: str,
        take: ImportAction,
        *,
        loosens: bool = False,
        in_place: bool = False,
        notes: tuple[str, ...] = (),
    ) -> None:
        line = doc.line(*path)
        self.settings.append(
            FoundSetting(
                self.agent,
                what,
                name,
                doc.file,
                line,
                take,
                "",
                loosens,
                in_place,
                tuple(dict.fromkeys(notes)),
            )
        )

    def model(self, doc: ConfigFile, path: tuple[str | int, ...], provider: str, id: str, key: str) -> None:
        """A chosen model; `key` is `models.default` or a tier."""
        name = PROVIDER_ALIASES.get(provider, provider)
        if not name or not id:
            return
        if doc.is_project:
            self.left(doc, path, "model", f"{provider}/{id}", PROJECT_REFUSAL)
            return
        if name not in self.known and name not in self.defined:
            why = (
                f"cockpit has no provider {name} that speaks OpenAI's protocol: `cockpit connect` lists them"
            )
            self.left(doc, path, "model", f"{provider}/{id}", why)
            return
        self.take(doc, path, "model", key, SetValue(tuple(key.split(".")), f"{name}:{id}"))

    def provider(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        name: str,
        *,
        url: str = "",
        key: str = "",
        key_env: str = "",
        label: str = "",
        default: str = "",
        headers: Mapping[str, Json] | None = None,
        foreign: str = "",
    ) -> None:
        """A provider. `key` is the key in the file; `foreign` says why its protocol is not supported."""
        known = PROVIDER_ALIASES.get(name, name)
        if foreign or doc.is_project:
            self.left(doc, path, "provider", name, foreign or PROJECT_REFUSAL)
            return
        notes: list[str] = []
        key_env = key_env or find_variable(key)
        if key and not key_env:
            notes.append(f"its key was not copied: run `cockpit connect {known}`")
        if not url:
            if known in self.known:
                for note in notes:
                    self.left(doc, path, "provider", name, note)
                return
            self.left(doc, path, "provider", name, "it has no address (URL)")
            return
        self.defined.add(known)
        table: dict[str, Json] = {"base_url": url}
        table |= {
            item: value
            for item, value in (("key_env", key_env), ("label", label), ("default", default))
            if value
        }
        if headers:
            plain_headers, more = self._headers(known, headers)
            table |= {"headers": plain_headers} if plain_headers else {}
            notes += more
        self.take(doc, path, "provider", known, SetValue((*PROVIDERS_KEY, known), table), notes=tuple(notes))

    def _headers(self, name: str, headers: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
        """The headers of a provider. They are sent literally, so those that need a variable are left out."""
        plain_headers: dict[str, Json] = {}
        notes: list[str] = []
        for header, value in headers.items():
            made = replace_secret(header, str(value), make_variable_name(name, header))
            if made.variables or made.why or "${" in made.text:
                notes.append(f"its header {header} was not copied: it holds a secret, or a variable")
            else:
                plain_headers[header] = made.text
        return plain_headers, notes

    def prices(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        provider: str,
        id: str,
        facts: Mapping[str, Json],
    ) -> None:
        """The prices and abilities of a model."""
        known_facts = {entry: value for entry, value in facts.items() if value not in (None, 0, 0.0, False)}
        name = PROVIDER_ALIASES.get(provider, provider)
        if known_facts and id and not doc.is_project and (name in self.known or name in self.defined):
            self.take(doc, path, "prices", f"{name}:{id}", AddFacts(name, id, known_facts))

    def mode(self, doc: ConfigFile, path: tuple[str | int, ...], mode: str) -> None:
        """The mode of new sessions; a looser mode than `ask` needs consent."""
        loosens = mode in MODES and MODES.index(mode) < MODES.index("ask")
        self.take(doc, path, "mode", mode, SetValue(("mode",), mode), loosens=loosens)

    def rule(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        level: RuleLevel,
        text: str,
        *,
        root: str = "",
        in_place: bool = False,
    ) -> None:
        """A permission rule; one that allows needs consent."""
        if not RULE_PATTERN.fullmatch(text):
            self.left(doc, path, "rule", text, "not a rule; write Tool or Tool(pattern)")
            return
        take = AddRule(level, text, root)
        self.take(
            doc,
            path,
            "rule",
            f"{level} {text}",
            take,
            loosens=level == "allow",
            in_place=in_place and level != "allow",
        )

    def agent_file(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        name: str,
        head: Mapping[str, Json],
        body: str,
    ) -> None:
        """A subagent's role, as a role file of cockpit."""
        if not body.strip():
            self.left(doc, path, "agent", name, "it has no instructions of its own")
            return
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items() if value]
        text = "\n".join(["---", f"name: {name}", *lines, "---", "", body.strip(), ""])
        self.take(doc, path, "agent", name, AddAgent(name, text))

    def server(
        self,
        doc: ConfigFile,
        path: tuple[str | int, ...],
        name: str,
        *,
        type: str = "",
        command: tuple[str, ...] = (),
        env: Mapping[str, Json] | None = None,
        url: str = "",
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
        if not command and not url:
            self.left(doc, path, "mcp", name, "it has neither a command nor an address")
            return
        if doc.is_project and not in_place:
            why = (
                "it belongs to the project: put it into .mcp.json there, where it starts once you approve it"
            )
            self.left(doc, path, "mcp", name, why)
            return
        made = SafeTexts()
        entry: dict[str, Json] = {"type": type or ("http" if url else "stdio")}
        if url:
            entry["url"] = made.keep(replace_in_url(url, name))
        else:
            words, variables = replace_in_arguments(command, name)
            made.variables += variables
            entry |= {"command": words[0], "args": list(words[1:])}
        entry |= {"env": made.table(env or {}, "")} if env else {}
        entry |= {"headers": made.table(headers or {}, name)} if headers else {}
        entry |= {"oauth": made.table(oauth or {}, name)} if oauth else {}
        extra: dict[str, Json] = {"cwd": cwd, "timeout": int(milliseconds), "disabled": disabled}
        entry |= {key: value for key, value in extra.items() if value}
        if made.why:
            self.left(doc, path, "mcp", name, made.why)
            return
        secrets = tuple(
            f"set {variable} in your environment: its value was not copied" for variable in made.variables
        )
        self.take(doc, path, "mcp", name, AddServer(name, entry), in_place=in_place, notes=(*secrets, *notes))
