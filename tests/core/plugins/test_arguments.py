"""Schemas of MCP servers: arguments are checked against them, and no schema can block cockpit."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cockpit.core.plugins.toolbox import check_arguments
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, ArgumentsInvalid, Done, Tool


def foreign(name: str = "mcp__a__b", /, **properties: Any) -> Tool:
    async def run(arguments: Arguments, context: Context) -> Done:
        return Done("")

    parameters = {"type": "object", "properties": properties}
    return Tool(name, "other", "", parameters, frozenset({"none"}), run, title=lambda given: name)


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """An address, and what it was asked for."""
    paths: list[str] = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "integer"}')

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as page:
        thread = threading.Thread(target=page.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{page.server_port}/x.json", paths
        page.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["mcp__a__b", "of_a_plugin"])
def test_a_schema_cannot_make_cockpit_fetch_an_address(asked: tuple[str, list[str]], name: str) -> None:
    address, paths = asked
    check_arguments(foreign(name, a={"$ref": address}), {"a": "no integer"})
    assert paths == []


@pytest.mark.parametrize(
    "one",
    [
        True,
        None,
        {"type": "nonsense"},
        {"type": "string", "pattern": "("},
        {"allOf": [{"$ref": "#/properties/a"}]},
        {"$ref": "#/nowhere"},
    ],
)
def test_a_schema_that_cannot_be_used_says_nothing(one: Any) -> None:
    check_arguments(foreign(a=one), {"a": "x"})


def test_a_schema_of_an_mcp_server_is_checked() -> None:
    size = {"enum": ["s", "l"]}
    with pytest.raises(ArgumentsInvalid, match="size"):
        check_arguments(foreign(size=size), {"size": "m"})
    with pytest.raises(ArgumentsInvalid, match="sizes"):
        check_arguments(
            foreign(sizes={"type": "array", "items": {"$ref": "#/properties/size"}}, size=size),
            {"sizes": [1]},
        )


def test_patterns_are_matched_for_plugins_and_not_for_strangers() -> None:
    """One can be made that takes for ever to match, and holds everything up meanwhile."""
    slow = {"type": "string", "pattern": "(a+)+$"}
    check_arguments(
        foreign(a=slow, b={"patternProperties": {"(a+)+$": {}}, "additionalProperties": False}), {"a": "aa!"}
    )
    with pytest.raises(ArgumentsInvalid):
        check_arguments(foreign("of_a_plugin", a=slow), {"a": "aa!"})


def test_references_that_double_with_each_step_come_to_an_end() -> None:
    steps = {f"a{n}": {"allOf": [{"$ref": f"#/properties/a{n + 1}"}] * 2} for n in range(60)}
    with pytest.raises(ArgumentsInvalid) as caught:
        check_arguments(foreign(**steps, a60={"type": "integer"}), {"a0": "x"})
    assert str(caught.value) == "`a0`: 'x' is not of type 'integer'"
