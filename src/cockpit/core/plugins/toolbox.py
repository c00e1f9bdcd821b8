"""The tools of one agent: those sent to the model, those that wait to be searched, the names other agents use
for them, and the check of arguments against a tool's JSON Schema.

The sent tools keep their order and bytes from turn to turn; a deferred tool that was found is appended.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.plugin.models import ToolSchema
from cockpit.plugin.tools import Alias, Arguments, ArgumentsInvalid, Tool
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.messages import Json
from cockpit.suggestions import closest_names


class AgentToolbox:
    """The tools of one agent. `withholds` returns why a tool is not available to it, or an empty string; this
    is enforced when a call runs."""

    def __init__(self, catalog: PluginCatalog, withholds: Callable[[Tool], str] | None = None) -> None:
        self._withholds = withholds
        self._found: list[str] = []
        self.use(catalog)

    def use(self, catalog: PluginCatalog) -> None:
        """Use another catalog after a reload; found tools stay found."""
        tools = catalog.all(Tool)
        named = {tool.name: tool for tool in tools}
        self._aliases: dict[str, tuple[Tool, Alias]] = {}
        for tool in tools:
            for alias in tool.aliases:
                self._aliases.setdefault(alias.name, (tool, alias))
        reasons = {name: self._withholds(tool) for name, tool in named.items()} if self._withholds else {}
        self._withheld = {name: reason for name, reason in reasons.items() if reason}
        self._tools = {name: tool for name, tool in named.items() if name not in self._withheld}
        self._tokens = 0

    def tokens(self) -> int:
        """An estimate of the tokens of the tools that are sent."""
        if not self._tokens:
            self._tokens = len(json.dumps(self.schema_rows())) // 4
        return self._tokens

    def tools(self) -> tuple[Tool, ...]:
        """Every tool available to this agent, sent or not."""
        return tuple(self._tools.values())

    def sent(self) -> tuple[Tool, ...]:
        always = sorted((t for t in self._tools.values() if not t.deferred), key=lambda tool: tool.name)
        found = (self._tools[name] for name in self._found if name in self._tools)
        return (*always, *found)

    def schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(ToolSchema(tool.name, tool.description, tool.parameters) for tool in self.sent())

    def schema_rows(self) -> list[list[Json]]:
        """Name, description and parameters of the tools that are sent."""
        return [[tool.name, tool.description, dict(tool.parameters)] for tool in self.sent()]

    def fingerprint(self) -> str:
        """Twelve hex digits over the bytes of the tool list."""
        return hashlib.sha256(json.dumps(self.schema_rows()).encode()).hexdigest()[:12]

    def find(self, name: str, arguments: Arguments) -> tuple[Tool, Arguments] | None:
        """The tool `name` means, and the arguments under their names in this tool."""
        if (tool := self._tools.get(name)) is not None:
            return tool, _rename_arguments(arguments, tool)
        for known, (tool, alias) in self._aliases.items():
            if known == name and tool.name in self._tools:
                return tool, _translate_arguments(arguments, alias, tool)
        same = [tool for own, tool in self._tools.items() if own.lower() == name.lower()]
        return (same[0], _rename_arguments(arguments, same[0])) if len(same) == 1 else None

    def withheld(self, name: str) -> str:
        """Why the tool `name` means is not available to this agent, or an empty string."""
        for known in (name, *(tool.name for own, (tool, _) in self._aliases.items() if own == name)):
            if reason := self._withheld.get(known):
                return reason
        return ""

    def near(self, name: str) -> tuple[str, ...]:
        """Names similar to `name`."""
        return tuple(closest_names(name, [*self._tools, *self._aliases], limit=3, cutoff=0.5))

    def search(self, query: str) -> tuple[Tool, ...]:
        """Deferred tools by `select:a,b` or by words, the best first; they are sent from now on."""
        deferred = [tool for tool in self._tools.values() if tool.deferred]
        if query.startswith("select:"):
            wanted = [name.strip() for name in query.removeprefix("select:").split(",")]
            hits = [tool for tool in deferred if tool.name in wanted]
        else:
            words = [word for word in query.lower().replace("_", " ").split() if word]
            scored = [(_search_score(tool, words), tool) for tool in deferred]
            hits = [tool for score, tool in sorted(scored, key=lambda pair: -pair[0]) if score][:8]
        for tool in hits:
            if tool.name not in self._found:
                self._found.append(tool.name)
                self._tokens = 0
        return tuple(hits)


def _rename_arguments(arguments: Arguments, tool: Tool) -> Arguments:
    """Rename another agent's arguments of a tool we also have: opencode's `read` takes `filePath`, Codex's
    `apply_patch` takes `input`. Our own names are not changed."""
    for alias in tool.aliases:
        if alias.name == tool.name:
            arguments = _reshape_arguments(arguments, alias)
    properties = _properties(tool)
    if all(name in properties for name in arguments):
        return arguments
    renamed = {theirs: ours for alias in tool.aliases for theirs, ours in alias.arguments}
    unknown = {
        name: ours for name, ours in renamed.items() if name not in properties and ours not in arguments
    }
    return _translate_arguments(arguments, Alias(tool.name, tuple(unknown.items())), tool)


def _translate_arguments(arguments: Arguments, alias: Alias, tool: Tool) -> Arguments:
    """Translate another agent's argument names, in any case and with or without underscores. Arguments that
    we do not have are dropped when the alias says so."""
    properties = _properties(tool)
    ours = {_fold_name(name): name for name in properties}
    ours |= {_fold_name(theirs): own for theirs, own in alias.arguments}
    out: dict[str, Json] = {}
    for name, value in _reshape_arguments(arguments, alias).items():
        exact = dict(alias.arguments).get(name, name if name in properties else None)
        own = ours.get(_fold_name(name), name) if exact is None else exact
        if own:
            out[own] = value
    return out | dict(alias.fixed)


def _reshape_arguments(arguments: Arguments, alias: Alias) -> Arguments:
    if alias.reshape is None:
        return arguments
    try:
        return alias.reshape(arguments)
    # Plugin code on whatever a model wrote: what it cannot read is reported by the check of arguments.
    except (Exception, SystemExit):
        return arguments


def _fold_name(name: str) -> str:
    return name.lower().replace("_", "")


def _search_score(tool: Tool, words: list[str]) -> int:
    name = tool.name.lower().replace("_", " ")
    rest = f"{tool.description} {' '.join(tool.keywords)}".lower()
    return sum(3 * (word in name) + (word in rest) for word in words)


PLAIN_TYPES = {"string": str, "boolean": bool, "object": Mapping, "array": list}
# Schemas of MCP servers are not trusted, and these keywords could stop everything: a pattern may take
# forever to match, and references to references double with each step.
UNBOUNDED_KEYWORDS = ("pattern", "patternProperties", "additionalProperties", "unevaluatedProperties")
MAX_REFERENCES = 1_000
MAX_FAULTS = 20
MAX_FAULT_LENGTH = 500


def check_arguments(tool: Tool, arguments: Arguments) -> None:
    """Raises `ArgumentsInvalid` with all missing, unknown and invalid arguments.

    `jsonschema` checks whatever a schema says beyond names and plain types. A scalar sent as a string is
    passed to the tool's own parser, because small models send such.
    """
    properties = _properties(tool)
    required = tool.parameters.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    faults = [f"`{name}` is missing" for name in needed if arguments.get(name) is None]
    if tool.parameters.get("additionalProperties") is False:
        known = ", ".join(properties) or "none"
        faults += [
            f"unknown argument `{argument}`; known: {known}"
            for argument in arguments
            if argument not in properties
        ]
    if not faults and not all(
        _is_plain(properties[name], arguments[name]) for name in arguments if name in properties
    ):
        faults = _schema_faults(tool, arguments)
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def _properties(tool: Tool) -> Mapping[str, Json]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _is_plain(schema: Json, value: Json) -> bool:
    """Whether a value fits a schema that only names a plain type."""
    if not isinstance(schema, Mapping) or not schema.keys() <= {"type", "description", "default", "title"}:
        return False
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return isinstance(value, int | float | str)
    return isinstance(kind, str) and kind in PLAIN_TYPES and isinstance(value, PLAIN_TYPES[kind])


def _schema_faults(tool: Tool, arguments: Arguments) -> list[str]:
    """The faults, without repetition, and no more than a model can use."""
    faults: dict[str, None] = {}
    try:
        for error in _validator(tool).iter_errors(_coerce_scalars(tool, arguments)):
            where = ".".join(str(part) for part in error.absolute_path)
            message = str(error.message)[:MAX_FAULT_LENGTH]
            faults[f"`{where}`: {message}" if where else message] = None
            if len(faults) >= MAX_FAULTS:
                break
    # An invalid or endless schema says nothing about the arguments, which its author checks too. jsonschema
    # may raise any error for such a schema.
    except Exception:
        pass
    return list(faults)


def _validator(tool: Tool) -> Any:
    """A JSON Schema validator that fetches nothing: references to addresses are not followed."""
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    parameters = dict(tool.parameters)
    if not is_mcp_name(tool.name):
        return Draft202012Validator(parameters, registry=Registry())
    left = MAX_REFERENCES
    follow = Draft202012Validator.VALIDATORS["$ref"]

    def bounded(validator: Any, ref: str, instance: Json, schema: Mapping[str, Json]) -> Iterator[Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise RecursionError("too many references")
        yield from follow(validator, ref, instance, schema)

    changed: dict[str, Any] = {"$ref": bounded, "$dynamicRef": _ignore_keyword} | dict.fromkeys(
        UNBOUNDED_KEYWORDS, _ignore_keyword
    )
    extend: Any = validators.extend
    return extend(Draft202012Validator, changed)(parameters, registry=Registry())


def _ignore_keyword(validator: Any, value: Json, instance: Json, schema: Mapping[str, Json]) -> Iterator[Any]:
    """Validate nothing for this keyword."""
    return iter(())


def _coerce_scalars(tool: Tool, arguments: Arguments) -> dict[str, Json]:
    """Convert strings that spell a number or boolean; leave out a null of an optional argument."""
    properties = _properties(tool)
    out: dict[str, Json] = {}
    for name, value in arguments.items():
        about = properties.get(name)
        kind = about.get("type") if isinstance(about, Mapping) else None
        if value is None and name in properties:
            continue
        if isinstance(value, str) and kind == "boolean" and value.lower() in ("true", "false"):
            out[name] = value.lower() == "true"
        elif isinstance(value, str) and kind in ("integer", "number"):
            out[name] = _parse_number(value)
        else:
            out[name] = value
    return out


def _parse_number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
