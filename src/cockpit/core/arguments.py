"""Whether arguments fit a tool's JSON Schema, with every fault named. Runs nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from cockpit.plugin.tools import Arguments, ArgumentsInvalid, Tool
from cockpit.protocol.messages import Json

PLAIN = {"string": str, "boolean": bool, "object": Mapping, "array": list}
# Whose schemas are strangers' words, and what such a schema could stop everything with: a pattern may take
# for ever to match, and references to references double with each step.
FOREIGN = "mcp__"
PATTERNS = ("pattern", "patternProperties", "additionalProperties", "unevaluatedProperties")
MOST_REFERENCES = 1_000
MOST = 20
LONGEST = 500


def check(tool: Tool, arguments: Arguments) -> None:
    """Raises `ArgumentsInvalid`: missing, unknown and unfit arguments, all at once.

    What a schema says beyond names and plain types is left to `jsonschema`. A scalar that came as a
    string is let through to the tool's own parser, because small models write so.
    """
    properties = _properties(tool)
    required = tool.parameters.get("required")
    needed = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
    faults = [f"`{name}` is missing" for name in needed if arguments.get(name) is None]
    if tool.parameters.get("additionalProperties") is False:
        known = ", ".join(properties) or "none"
        faults += [f"unknown argument `{one}`; known: {known}" for one in arguments if one not in properties]
    if not faults and not all(
        _is_plain(properties[name], arguments[name]) for name in arguments if name in properties
    ):
        faults = _faults(tool, arguments)
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def _properties(tool: Tool) -> Mapping[str, Json]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _is_plain(schema: Json, value: Json) -> bool:
    """Whether a value fits a schema that says no more than a plain type."""
    if not isinstance(schema, Mapping) or not schema.keys() <= {"type", "description", "default", "title"}:
        return False
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return isinstance(value, int | float | str)
    return isinstance(kind, str) and kind in PLAIN and isinstance(value, PLAIN[kind])


def _faults(tool: Tool, arguments: Arguments) -> list[str]:
    """What is wrong, each thing once, and no more of it than a model can use."""
    faults: dict[str, None] = {}
    try:
        for error in _validator(tool).iter_errors(_loosened(tool, arguments)):
            where = ".".join(str(part) for part in error.absolute_path)
            said = str(error.message)[:LONGEST]
            faults[f"`{where}`: {said}" if where else said] = None
            if len(faults) >= MOST:
                break
    # A schema that is none, points nowhere or never ends says nothing of the arguments: whoever wrote it
    # looks at them, too. What jsonschema raises of one is any error there is.
    except Exception:
        return list(faults)
    return list(faults)


def _validator(tool: Tool) -> Any:
    """What judges the arguments. It fetches nothing: a reference to an address is one to nowhere."""
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    parameters = dict(tool.parameters)
    if not tool.name.startswith(FOREIGN):
        return Draft202012Validator(parameters, registry=Registry())
    left = MOST_REFERENCES
    follow = Draft202012Validator.VALIDATORS["$ref"]

    def bounded(validator: Any, ref: str, instance: Json, schema: Mapping[str, Json]) -> Iterator[Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise RecursionError("too many references")
        yield from follow(validator, ref, instance, schema)

    changed: dict[str, Any] = {"$ref": bounded, "$dynamicRef": _silent} | dict.fromkeys(PATTERNS, _silent)
    extend: Any = validators.extend
    return extend(Draft202012Validator, changed)(parameters, registry=Registry())


def _silent(validator: Any, value: Json, instance: Json, schema: Mapping[str, Json]) -> Iterator[Any]:
    """A keyword that nobody looks at."""
    return iter(())


def _loosened(tool: Tool, arguments: Arguments) -> dict[str, Json]:
    """Strings that say a number or a boolean, as what they say; a null of an optional one left out."""
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
            out[name] = _number(value)
        else:
            out[name] = value
    return out


def _number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
