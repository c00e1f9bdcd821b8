"""Whether arguments fit a tool's JSON Schema, with every fault named. Runs nothing."""

from collections.abc import Mapping
from typing import cast

from cockpit.plugin.tools import Arguments, ArgumentsInvalid, Tool
from cockpit.protocol.messages import Json

PLAIN = {"string": str, "boolean": bool, "object": Mapping, "array": list}


def check(tool: Tool, arguments: Arguments) -> None:
    """Raises `ArgumentsInvalid`: missing, unknown and unfit arguments, all at once.

    What a schema says beyond names and plain types is left to `jsonschema`. A scalar that came as a
    string is let through to the tool's own parser, because small models write so.
    """
    properties = cast("Mapping[str, Mapping[str, Json]]", tool.parameters.get("properties") or {})
    required = cast("list[str]", tool.parameters.get("required") or [])
    faults = [f"`{name}` is missing" for name in required if arguments.get(name) is None]
    if tool.parameters.get("additionalProperties") is False:
        known = ", ".join(properties) or "none"
        faults += [f"unknown argument `{one}`; known: {known}" for one in arguments if one not in properties]
    if not faults and not all(
        _is_plain(properties[name], arguments[name]) for name in arguments if name in properties
    ):
        faults = _faults(tool, arguments)
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def _is_plain(schema: Mapping[str, Json], value: Json) -> bool:
    """Whether a value fits a schema that says no more than a plain type."""
    if not schema.keys() <= {"type", "description", "default", "title"}:
        return False
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return isinstance(value, int | float | str)
    return isinstance(kind, str) and kind in PLAIN and isinstance(value, PLAIN[kind])


def _faults(tool: Tool, arguments: Arguments) -> list[str]:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(dict(tool.parameters))
    faults = []
    for error in validator.iter_errors(_loosened(tool, arguments)):
        where = ".".join(str(part) for part in error.absolute_path)
        faults.append(f"`{where}`: {error.message}" if where else str(error.message))
    return faults


def _loosened(tool: Tool, arguments: Arguments) -> dict[str, Json]:
    """Strings that say a number or a boolean, as what they say; a null of an optional one left out."""
    properties = cast("Mapping[str, Mapping[str, Json]]", tool.parameters.get("properties") or {})
    out: dict[str, Json] = {}
    for name, value in arguments.items():
        kind = properties.get(name, {}).get("type")
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
