"""Every built-in tool has a valid schema, validates its arguments and declares its capabilities."""

import json
from typing import Any

import jsonschema
import pytest
from tests.support.contexts import writing_context

from cockpit.plugin import discovery
from cockpit.plugin.tools import ArgumentsInvalid, Tool
from cockpit.plugin.values import Scope

WRONG: dict[str, Any] = {
    "string": 3,
    "integer": "many",
    "number": "much",
    "boolean": "perhaps",
    "array": "x",
    "object": "x",
}
OURS = ("read", "list", "glob", "write", "edit", "apply_patch", "delete", "move", "shell", "job")


def registered() -> dict[str, Tool]:
    """Every tool that the built-in plugins register."""
    manager, found = discovery.load_plugins()
    tools: dict[str, Tool] = {}

    class Register:
        def __call__(self, value: object) -> None:
            assert isinstance(value, Tool)
            assert value.name not in tools, f"{value.name} is registered twice"
            tools[value.name] = value

        def changed(self) -> None:
            """Nothing is registered again here."""

    for plugin in found:
        module: Any = manager.get_plugin(plugin.name)
        if plugin.is_ours and hasattr(module, "register_tools"):
            module.register_tools(Register(), Scope(".", True, {}, "", ""))
    return tools


TOOLS = registered()


@pytest.fixture(params=sorted(TOOLS))
def tool(request: pytest.FixtureRequest) -> Tool:
    return TOOLS[request.param]


def test_file_and_shell_tools_are_registered() -> None:
    assert set(OURS) <= set(TOOLS)


def test_schema_is_valid_and_closed(tool: Tool) -> None:
    jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
    assert tool.parameters["type"] == "object"
    assert tool.parameters["additionalProperties"] is False


def test_tool_declares_its_capabilities(tool: Tool) -> None:
    assert tool.capabilities
    assert tool.description.endswith(".") and "\n" not in tool.description
    assert len(tool.description) <= 200
    assert tool.title({}) or True
    if tool.kind in ("edit", "delete", "move"):
        assert tool.preview is not None


async def test_unknown_argument_is_refused_with_the_known_arguments(tool: Tool, tmp_path: Any) -> None:
    arguments = {**fitting(tool), "surprise": 1}
    with pytest.raises(ArgumentsInvalid, match="surprise"):
        await tool.run(arguments, writing_context(tmp_path))


async def test_missing_argument_is_named(tool: Tool, tmp_path: Any) -> None:
    for name in required(tool):
        arguments = {key: value for key, value in fitting(tool).items() if key != name}
        with pytest.raises(ArgumentsInvalid, match=f"`{name}` is missing"):
            await tool.run(arguments, writing_context(tmp_path))


async def test_argument_of_the_wrong_type_is_named(tool: Tool, tmp_path: Any) -> None:
    for name, schema in properties(tool).items():
        with pytest.raises(ArgumentsInvalid, match=name):
            await tool.run({**fitting(tool), name: WRONG[schema["type"]]}, writing_context(tmp_path))


def test_aliases_map_to_arguments_that_exist(tool: Tool) -> None:
    for alias in tool.aliases:
        for theirs, ours in (*alias.arguments, *alias.fixed):
            name = theirs if (theirs, ours) in alias.fixed else ours
            assert name == "" or name in properties(tool), (alias.name, theirs, ours)


def test_no_alias_is_used_twice() -> None:
    called = ({tool.name, *(alias.name for alias in tool.aliases)} for tool in TOOLS.values())
    names = [name for tool in called for name in tool]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


def test_tool_list_in_a_request_stays_short() -> None:
    sent = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in TOOLS.values()
        if not tool.deferred
    ]
    assert len(json.dumps(sent)) < 10_500


def required(tool: Tool) -> list[str]:
    names: Any = tool.parameters.get("required", [])
    return list(names)


def properties(tool: Tool) -> dict[str, dict[str, Any]]:
    found: Any = tool.parameters["properties"]
    return dict(found)


def fitting(tool: Tool) -> dict[str, Any]:
    """Arguments that fit the schema: each required argument with a value of its type."""
    return {name: _value(properties(tool)[name]) for name in required(tool)}


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "array":
            return [_value(schema["items"])]
        case "object":
            return {name: _value(schema["properties"][name]) for name in schema.get("required", [])}
        case kind:
            return {"string": "x", "integer": 1, "number": 1.0, "boolean": True}[kind]
