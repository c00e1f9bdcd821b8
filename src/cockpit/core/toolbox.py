"""The tools one agent has: which are sent, which wait to be searched, and what others call them.

The tools that are sent keep their order and bytes from turn to turn; a deferred one that was found
is appended behind them.
"""

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import cast

from cockpit.core.catalog import Catalog
from cockpit.plugin.models import ToolSchema
from cockpit.plugin.tools import Alias, Arguments, Tool
from cockpit.protocol.messages import Json


class Toolbox:
    """The tools of one agent. `allowed` None means all; `withholds` says why one is not for this agent
    ("" where it is). Both are enforced when a call runs."""

    def __init__(
        self,
        catalog: Catalog,
        allowed: tuple[str, ...] | None = None,
        withholds: Callable[[Tool], str] | None = None,
    ) -> None:
        self._allowed = allowed
        self._withholds = withholds
        self._found: list[str] = []
        self.use(catalog)

    def use(self, catalog: Catalog) -> None:
        """Take another catalog (after a reload); what was found stays found."""
        tools = catalog.all(Tool)
        named = {tool.name: tool for tool in tools}
        self._aliases: dict[str, tuple[Tool, Alias]] = {}
        for tool in tools:
            for alias in tool.aliases:
                self._aliases.setdefault(alias.name, (tool, alias))
        allowed = self._allowed
        if allowed is not None:
            names = {self._name(one, named) for one in allowed}
            named = {name: tool for name, tool in named.items() if name in names}
        reasons = {name: self._withholds(tool) for name, tool in named.items()} if self._withholds else {}
        self._withheld = {name: reason for name, reason in reasons.items() if reason}
        self._tools = {name: tool for name, tool in named.items() if name not in self._withheld}
        self._tokens = 0

    def tokens(self) -> int:
        """About how many tokens the tools cost that are sent."""
        if not self._tokens:
            rows = [[one.name, one.description, dict(one.parameters)] for one in self.schemas()]
            self._tokens = len(json.dumps(rows)) // 4
        return self._tokens

    def tools(self) -> tuple[Tool, ...]:
        """Every tool there is for this agent, sent or not."""
        return tuple(self._tools.values())

    def sent(self) -> tuple[Tool, ...]:
        always = sorted((t for t in self._tools.values() if not t.deferred), key=lambda one: one.name)
        found = (self._tools[name] for name in self._found if name in self._tools)
        return (*always, *found)

    def schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(ToolSchema(one.name, one.description, one.parameters) for one in self.sent())

    def fingerprint(self) -> str:
        """Twelve hex digits over the bytes of the tool list."""
        rows = [[one.name, one.description, dict(one.parameters)] for one in self.schemas()]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]

    def find(self, name: str, arguments: Arguments) -> tuple[Tool, Arguments] | None:
        """The tool that `name` means, and the arguments in our words."""
        if (tool := self._tools.get(name)) is not None:
            return tool, _renamed(arguments, tool)
        for known, (tool, alias) in self._aliases.items():
            if known == name and tool.name in self._tools:
                return tool, _translated(arguments, alias, tool)
        same = [tool for own, tool in self._tools.items() if own.lower() == name.lower()]
        return (same[0], _renamed(arguments, same[0])) if len(same) == 1 else None

    def withheld(self, name: str) -> str:
        """Why the tool that `name` means is not for this agent; "" where there is none such."""
        for known in (name, *(tool.name for own, (tool, _) in self._aliases.items() if own == name)):
            if reason := self._withheld.get(known):
                return reason
        return ""

    def near(self, name: str) -> tuple[str, ...]:
        """Names that `name` may have meant."""
        return tuple(difflib.get_close_matches(name, [*self._tools, *self._aliases], 3, 0.5))

    def search(self, query: str) -> tuple[Tool, ...]:
        """Deferred tools by `select:a,b` or by words, the best first; they are sent from now on."""
        deferred = [tool for tool in self._tools.values() if tool.deferred]
        if query.startswith("select:"):
            wanted = [name.strip() for name in query.removeprefix("select:").split(",")]
            hits = [tool for tool in deferred if tool.name in wanted]
        else:
            words = [word for word in query.lower().replace("_", " ").split() if word]
            scored = [(_score(tool, words), tool) for tool in deferred]
            hits = [tool for score, tool in sorted(scored, key=lambda one: -one[0]) if score][:8]
        for tool in hits:
            if tool.name not in self._found:
                self._found.append(tool.name)
                self._tokens = 0
        return tuple(hits)

    def _name(self, name: str, named: Mapping[str, Tool]) -> str:
        if name in named:
            return name
        return self._aliases[name][0].name if name in self._aliases else name


def _renamed(arguments: Arguments, tool: Tool) -> Arguments:
    """Another agent's argument names under a name that is also ours: opencode's `read` takes `filePath`,
    Codex's `apply_patch` takes `input`. What is a name of ours stays what it is."""
    for alias in tool.aliases:
        if alias.name == tool.name:
            arguments = _reshaped(arguments, alias)
    properties = cast("Mapping[str, Json]", tool.parameters.get("properties") or {})
    if all(name in properties for name in arguments):
        return arguments
    renamed = {theirs: ours for alias in tool.aliases for theirs, ours in alias.arguments}
    foreign = {
        name: ours for name, ours in renamed.items() if name not in properties and ours not in arguments
    }
    return _translated(arguments, Alias(tool.name, tuple(foreign.items())), tool)


def _translated(arguments: Arguments, alias: Alias, tool: Tool) -> Arguments:
    """Their argument names as ours, in any case and with or without underscores. One that we do not have
    is dropped where the alias says so."""
    properties = cast("Mapping[str, Json]", tool.parameters.get("properties") or {})
    ours = {_folded(name): name for name in properties}
    ours |= {_folded(theirs): own for theirs, own in alias.arguments}
    out: dict[str, Json] = {}
    for name, value in _reshaped(arguments, alias).items():
        exact = dict(alias.arguments).get(name, name if name in properties else None)
        own = ours.get(_folded(name), name) if exact is None else exact
        if own:
            out[own] = value
    return out | dict(alias.fixed)


def _reshaped(arguments: Arguments, alias: Alias) -> Arguments:
    if alias.reshape is None:
        return arguments
    try:
        return alias.reshape(arguments)
    # A plugin's function on whatever a model wrote: what it cannot read is named when it is checked.
    except (Exception, SystemExit):
        return arguments


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


def _score(tool: Tool, words: list[str]) -> int:
    name = tool.name.lower().replace("_", " ")
    rest = f"{tool.description} {' '.join(tool.keywords)}".lower()
    return sum(3 * (word in name) + (word in rest) for word in words)
