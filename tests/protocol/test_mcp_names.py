"""The names of MCP servers' tools."""

import pytest

from cockpit.protocol.mcp_names import is_mcp_name, mcp_server_of, mcp_tool_name


def test_a_tool_name_has_its_server_and_tool() -> None:
    assert mcp_tool_name("github", "get_issue") == "mcp__github__get_issue"


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("mcp__github__get_issue", "github"),
        ("mcp__github__get__issue", "github"),
        ("mcp__github", "github"),
        ("mcp_github_get_issue", ""),
        ("read", ""),
    ],
)
def test_the_server_is_read_from_a_tool_name(name: str, server: str) -> None:
    assert mcp_server_of(name) == server
    assert is_mcp_name(name) == bool(server)
