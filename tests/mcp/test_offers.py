"""Descriptions of servers are made safe before anybody sees them; names are cleaned or refused."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.mcp.client import fill_defaults, parse_fields
from cockpit.mcp.offers import choose_capabilities, choose_kind, find_path_words, resolve_paths
from cockpit.mcp.sdk_conversion import (
    MAX_SCHEMA,
    MAX_TEXT,
    UnsafeDefinition,
    clean_prose,
    clean_schema,
    require_visible,
)
from cockpit.mcp.tool_names import MAX_NAME, NameRegistry, make_tool_name
from cockpit.mcp.values import ToolDefinition
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer

HIDDEN = "\u202e\u200b\U000e0041\x1b[31m"


@given(st.text(), st.text())
def test_a_tools_name_fits_every_models_api(server: str, name: str) -> None:
    full = make_tool_name(server, name)
    assert re.fullmatch(r"mcp__[A-Za-z0-9_-]+", full) and len(full) <= MAX_NAME


def test_names_are_kept_where_they_can_be_and_long_ones_stay_apart() -> None:
    assert make_tool_name("github", "list_issues") == "mcp__github__list_issues"
    assert make_tool_name("my server", "do it!") == "mcp__my_server__do_it"
    long = "x" * 80
    assert make_tool_name("s", f"{long}1") != make_tool_name("s", f"{long}2")


def test_a_name_is_given_once() -> None:
    taken = NameRegistry(("mcp__a__b",))
    assert taken.take("mcp__A__b", "s") == "cockpit"
    assert taken.take("mcp__s__t", "s") == "" and taken.take("mcp__s__T", "t") == "s"


def test_descriptions_lose_what_no_one_sees_and_what_is_too_long() -> None:
    assert clean_prose(f"Says{HIDDEN} hi.") == "Says hi."
    assert len(clean_prose("x" * 100_000)) == MAX_TEXT


def test_schemas_are_cleaned_in_their_prose_and_refused_in_their_names() -> None:
    raw = {"properties": {"description": {"type": "string", "description": f"The{HIDDEN} text"}}}
    assert clean_schema(raw)["properties"] == {"description": {"type": "string", "description": "The text"}}
    for bad in (
        {"properties": {f"na{HIDDEN}me": {}}},
        {"properties": {"a": {"enum": [f"x{HIDDEN}"]}}},
        {"properties": {f"p{n}": {"description": "y" * 900} for n in range(MAX_SCHEMA // 900)}},
        {"type": "string"},
    ):
        with pytest.raises(UnsafeDefinition):
            clean_schema(bad)
    deep: Any = {}
    for _ in range(200):
        deep = {"properties": {"a": deep}}
    with pytest.raises(UnsafeDefinition):
        clean_schema(deep)
    with pytest.raises(UnsafeDefinition):
        require_visible(f"a{HIDDEN}", "its name")


def test_a_form_has_the_fields_and_defaults_of_its_schema() -> None:
    fields = parse_fields(
        {
            "properties": {
                "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 9},
                "age": {"type": "integer", "minimum": 0},
                "sure": {"type": "boolean", "default": True},
                "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
                "colour": {"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]},
            },
            "required": ["name"],
        }
    )
    assert [(one.name, one.kind) for one in fields] == [
        ("name", "text"),
        ("age", "integer"),
        ("sure", "yes_no"),
        ("size", "choice"),
        ("colour", "choice"),
        ("tags", "choices"),
    ]
    assert fields[0].required and fields[0].note == "2 to 9 characters" and fields[1].note == "at least 0"
    assert fields[3].labels == ("Small", "Large") and fields[4].options == ("r", "g")
    answer = FormAnswer("accept", {"name": "ada", "size": ""})
    assert fill_defaults(answer, fields) == {"name": "ada", "sure": True, "tags": ["a"]}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"path": "a/b.txt"}, ["a/b.txt"]),
        ({"text": "see https://example.org/x/y"}, []),
        ({"text": "a or b / c"}, []),
        ({"body": "/etc/hosts is a file, they say"}, []),
        ({"anything": ".git/config"}, [".git/config"]),
        ({"uri": "file:///tmp/a%20b"}, ["/tmp/a b"]),
        ({"edits": [{"file": "x"}, {"file": "y"}]}, ["x", "y"]),
        ({"command": "cat ./x > .git/hooks/h"}, ["./x", ".git/hooks/h"]),
        ({"n": 3, "flag": True, "none": None}, []),
    ],
)
def test_words_that_may_be_paths_are_found(tmp_path: Path, arguments: Any, named: list[str]) -> None:
    found = resolve_paths(find_path_words(arguments), str(tmp_path))
    assert found == tuple(str(Path(tmp_path, one)) for one in named)


def test_hints_make_a_tool_more_careful_and_never_less() -> None:
    local, remote = McpServer("l", ("x",)), McpServer("r", url="https://example.org", transport="http")

    def tool(**hints: bool) -> ToolDefinition:
        return ToolDefinition("t", "", {}, **hints)

    assert choose_kind(tool()) == "other" and choose_kind(tool(destroys=True)) == "delete"
    # None of these kinds is let run unasked by any mode or rule for reading and editing.
    assert choose_kind(tool(reads_only=True)) == "fetch"
    assert "net.egress" in choose_capabilities(remote, tool()) and "net.egress" in choose_capabilities(
        local, tool(is_open=True)
    )
    assert all("code.exec" in choose_capabilities(one, tool(reads_only=True)) for one in (local, remote))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x.json", "file:///etc/hosts", "other.json"])
def test_a_schema_that_points_elsewhere_is_refused(address: str) -> None:
    with pytest.raises(UnsafeDefinition, match="refers to another document"):
        clean_schema({"type": "object", "properties": {"a": {"$ref": address}}})
    named = {"type": "object", "properties": {"$ref": {"type": "string"}, "a": {"$ref": "#/properties/$ref"}}}
    assert clean_schema(named) == named


def test_a_question_that_is_malformed_or_hides_characters_asks_what_is_left() -> None:
    broken: Any = {
        "required": [{"a": 1}, "b"],
        "properties": {
            "a\u202e": {"type": "string"},
            "b": {"enum": 5},
            "c": {"enum": ["x\x1b[2J", "y"]},
            "d": {"oneOf": [{"const": "p\u200b"}, {"const": "q"}]},
        },
    }
    found = [(one.name, one.required, one.options) for one in parse_fields(broken)]
    assert found == [("b", True, ()), ("c", False, ("y",)), ("d", False, ("q",))]
