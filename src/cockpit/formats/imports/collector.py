"""What is found in the settings of another agent, and what it would become here.

Gathering what the files of one agent say: one method for each kind of thing, the same for all agents.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from cockpit.formats.imports.documents import SettingsDocument, open_document
from cockpit.formats.imports.secrets import (
    SafeTexts,
    find_variable,
    make_variable_name,
    replace_in_arguments,
    replace_in_url,
    replace_secret,
)
from cockpit.plugin.origin import FileProblem
from cockpit.protocol.messages import Json
from cockpit.settings.schema import MODES

SettingKind: TypeAlias = Literal[
    "model", "provider", "prices", "mode", "rule", "mcp", "agent", "command", "other"
]
RuleLevel: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class SetValue:
    """A value of the person's settings file."""

    path: tuple[str, ...]
    value: Json


@dataclass(frozen=True, slots=True)
class AddRule:
    """A permission rule; of one folder where `root` names it."""

    level: RuleLevel
    text: str
    root: str = ""


@dataclass(frozen=True, slots=True)
class AddFacts:
    """What a model costs and can, for `models.toml`."""

    provider: str
    model: str
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddServer:
    """An entry of `mcp.json`."""

    name: str
    entry: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AddAgent:
    """A file in the folder `agents` of the person's own."""

    name: str
    text: str


ImportAction: TypeAlias = SetValue | AddRule | AddFacts | AddServer | AddAgent


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """One thing that a file says. `take` None: it is not taken over, and `why` says so.

    `loosens`: only after a person's yes. `in_place`: cockpit reads it where it is, so that it is taken over
    only when it is asked for. `notes` are what the person has to do besides.
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
# Other agents' names of the providers that cockpit knows.
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
# A folder may not say where a person's words and keys go (docs/adr/0008).
PROJECT_REFUSAL = "it is the project's: a project names no model and no endpoint for you"
PROVIDERS_KEY = ("plugins", "openai_chat", "providers")


@dataclass
class SettingsCollector:
    """What one agent's files say. `known` are the providers that cockpit has, by name."""

    agent: str
    known: Collection[str]
    found: list[FoundSetting] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)

    def open(self, path: Path, is_project: bool = False) -> SettingsDocument | None:
        """The file at `path`, None where there is none. What cannot be read is found as such."""
        doc = open_document(path)
        if isinstance(doc, FileProblem):
            self._left("other", path.name, doc.file, doc.line, f"{doc.reason}; {doc.remedy}")
            return None
        return replace(doc, is_project=is_project) if doc is not None else None

    def left(
        self, doc: SettingsDocument, path: tuple[str | int, ...], what: SettingKind, name: str, why: str
    ) -> None:
        """Something that is not taken over."""
        self._left(what, name, doc.file, doc.line(*path), why)

    def _left(self, what: SettingKind, name: str, file: str, line: int, why: str) -> None:
        self.found.append(FoundSetting(self.agent, what, name, file, line, why=why))

    def take(
        self,
        doc: SettingsDocument,
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
        self.found.append(
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

    def model(
        self, doc: SettingsDocument, path: tuple[str | int, ...], provider: str, id: str, key: str
    ) -> None:
        """A chosen model: `key` is `models.default` or a tier."""
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
        doc: SettingsDocument,
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
        """A provider. `key` is what stands there as its key, `foreign` why its protocol is another one."""
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
            self.left(doc, path, "provider", name, "it has no address")
            return
        self.defined.add(known)
        table: dict[str, Json] = {"base_url": url}
        table |= {
            item: value
            for item, value in (("key_env", key_env), ("label", label), ("default", default))
            if value
        }
        if headers:
            kept, more = self._headers(known, headers)
            table |= {"headers": kept} if kept else {}
            notes += more
        self.take(doc, path, "provider", known, SetValue((*PROVIDERS_KEY, known), table), notes=tuple(notes))

    def _headers(self, name: str, headers: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
        """Headers of a provider are sent as they stand: one that would need a variable is left out."""
        kept: dict[str, Json] = {}
        notes: list[str] = []
        for header, value in headers.items():
            made = replace_secret(header, str(value), make_variable_name(name, header))
            if made.variables or made.why or "${" in made.text:
                notes.append(f"its header {header} was not copied: it holds a secret, or a variable")
            else:
                kept[header] = made.text
        return kept, notes

    def prices(
        self,
        doc: SettingsDocument,
        path: tuple[str | int, ...],
        provider: str,
        id: str,
        facts: Mapping[str, Json],
    ) -> None:
        """What a model costs and can."""
        kept = {entry: value for entry, value in facts.items() if value not in (None, 0, 0.0, False)}
        name = PROVIDER_ALIASES.get(provider, provider)
        if kept and id and not doc.is_project and (name in self.known or name in self.defined):
            self.take(doc, path, "prices", f"{name}:{id}", AddFacts(name, id, kept))

    def mode(self, doc: SettingsDocument, path: tuple[str | int, ...], mode: str) -> None:
        """The mode of new sessions; one looser than `ask` wants a yes."""
        loosens = mode in MODES and MODES.index(mode) < MODES.index("ask")
        self.take(doc, path, "mode", mode, SetValue(("mode",), mode), loosens=loosens)

    def rule(
        self,
        doc: SettingsDocument,
        path: tuple[str | int, ...],
        level: RuleLevel,
        text: str,
        *,
        root: str = "",
        in_place: bool = False,
    ) -> None:
        """A permission rule; one that allows wants a yes."""
        if not RULE_PATTERN.fullmatch(text):
            self.left(doc, path, "rule", text, "it is no rule; write Tool or Tool(pattern)")
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
        doc: SettingsDocument,
        path: tuple[str | int, ...],
        name: str,
        head: Mapping[str, Json],
        body: str,
    ) -> None:
        """A subagent's role as a file of our own."""
        if not body.strip():
            self.left(doc, path, "agent", name, "it has no instructions of its own")
            return
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items() if value]
        text = "\n".join(["---", f"name: {name}", *lines, "---", "", body.strip(), ""])
        self.take(doc, path, "agent", name, AddAgent(name, text))

    def server(
        self,
        doc: SettingsDocument,
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
        """An MCP server, as an entry of `.mcp.json`. No secret is copied: the variable to set is named."""
        if not command and not url:
            self.left(doc, path, "mcp", name, "it names neither a program nor an address")
            return
        if doc.is_project and not in_place:
            why = "it is the project's: write it into .mcp.json there, where it starts after your yes"
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
