"""Files that name MCP servers load as other agents wrote them; a broken one says where, the rest works."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.formats.mcp_files import add_server, read_server_file, read_servers, remove_server
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import McpServer

WHOLE = """{
  // the team's servers
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@scope/server", "${ROOT:-.}"],
      "env": {"API_KEY": "${KEY}", "LEVEL": "${LEVEL:-info}"},
      "timeout": 60000,
    },
    "remote": {
      "type": "http",
      "url": "https://${HOST:-api.example.com}/mcp",
      "headers": {"Authorization": "Bearer ${KEY}", "X-Team": "a"},
      "oauth": {"clientId": "abc", "callbackPort": 8123}
    },
    "old": {"type": "sse", "url": "https://example.com/sse", "disabled": true},
    "streaming": {"type": "streamable-http", "url": "https://example.com/mcp"},
    "short": {"command": "server"}
  }
}
"""


def named(
    file: Path, text: str, environment: Mapping[str, str] | None = None
) -> dict[str, McpServer | Unloaded]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return {item.name: item for item in read_server_file(file, "project", environment or {})}


def test_a_file_with_all_fields_is_read_whole(tmp_path: Path) -> None:
    found = named(tmp_path / ".mcp.json", WHOLE, {"KEY": "k-12345678", "LEVEL": ""})
    files, remote, old = found["files"], found["remote"], found["old"]
    assert isinstance(files, McpServer) and isinstance(remote, McpServer) and isinstance(old, McpServer)
    assert files.command == ("npx", "-y", "@scope/server", ".") and files.transport == "stdio"
    assert files.environment == {"API_KEY": "k-12345678", "LEVEL": "info"} and files.seconds == 60.0
    assert (remote.url, remote.transport) == ("https://api.example.com/mcp", "http")
    assert remote.headers == {"Authorization": "Bearer k-12345678", "X-Team": "a"}
    assert remote.oauth == {"clientId": "abc", "callbackPort": 8123}
    assert (old.transport, old.disabled) == ("sse", True)
    streaming, short = found["streaming"], found["short"]
    assert isinstance(streaming, McpServer) and streaming.transport == "http"
    assert isinstance(short, McpServer) and short.command == ("server",)


def test_a_listing_shows_no_secret(tmp_path: Path) -> None:
    found = named(tmp_path / ".mcp.json", WHOLE, {"KEY": "k-12345678"})
    told = json.dumps([item.origin.fields for item in found.values() if item.origin])
    assert "k-12345678" not in told and "https://api.example.com/mcp" in told and "info" in told


@pytest.mark.parametrize(
    ("entry", "line", "reason"),
    [
        ('"command": "x",\n"args": "y"', 4, "`args` is 'y'"),
        ('"command": "x",\n"env": {"A": "${MISSING}"}', 4, "the environment has no MISSING"),
        ('"type": "telnet",\n"url": "x"', 3, "`type` is 'telnet'"),
        ('"type": "http",\n"url": "ftp://x"', 4, "`url` is 'ftp://x'"),
        ('"args": ["a"]', 2, "neither `command` nor `url`"),
    ],
)
def test_a_broken_server_says_where_and_the_next_one_works(
    tmp_path: Path, entry: str, line: int, reason: str
) -> None:
    text = '{"mcpServers": {\n"bad": {\n' + entry + '},\n"good": {"command": "x"}}}'
    found = named(tmp_path / ".mcp.json", text)
    bad = found["bad"]
    assert isinstance(bad, Unloaded) and isinstance(found["good"], McpServer)
    [fault] = bad.origin.refused
    assert (fault.line, reason in fault.reason) == (line, True), fault
    assert fault.file.endswith(".mcp.json") and fault.remedy


def test_a_field_that_does_not_fit_is_left_out_and_the_server_works(tmp_path: Path) -> None:
    text = '{"mcpServers": {"s": {"command": "x", "timeout": "soon", "headersHelper": "./evil.sh"}}}'
    item = named(tmp_path / ".mcp.json", text)["s"]
    assert isinstance(item, McpServer) and item.origin is not None
    assert len(item.origin.refused) == 2


def test_a_file_that_is_no_json_gives_one_fault_with_its_line(tmp_path: Path) -> None:
    [broken] = named(tmp_path / ".mcp.json", '{"mcpServers": {\n "a": {]}').values()
    assert isinstance(broken, Unloaded) and broken.origin.refused[0].line == 2


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    home, root = tmp_path / "home", tmp_path / "project"
    root.mkdir()
    home.mkdir()
    return home, root


def test_local_comes_before_project_before_user_and_each_tells_what_it_hides(
    places: tuple[Path, Path],
) -> None:
    home, root = places

    def said(command: str) -> dict[str, object]:
        return {"s": {"command": command}}

    claude = {"mcpServers": said("user"), "projects": {str(root): {"mcpServers": said("local")}}}
    (home / ".claude.json").write_text(json.dumps(claude), encoding="utf-8")
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": said("project")}), encoding="utf-8")
    own = paths.config() / "mcp.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps({"mcpServers": said("ours")}), encoding="utf-8")
    [item] = read_servers(root, True, home, {})
    assert isinstance(item, McpServer) and item.origin is not None
    assert item.command == ("local",) and item.origin.layer == "user"
    assert item.origin.shadows == (str(root / ".mcp.json"), str(own), str(home / ".claude.json"))


def test_no_file_of_an_untrusted_folder_is_read(places: tuple[Path, Path]) -> None:
    home, root = places
    (root / ".mcp.json").write_text('{"mcpServers": {"s": {"command": "x"}}}', encoding="utf-8")
    assert list(read_servers(root, False, home, {})) == []
    assert [item.name for item in read_servers(root, True, home, {})] == ["s"]


def test_adding_and_removing_leave_the_rest_unchanged(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"other": [1], "mcpServers": {"a": {"command": "x", "odd": {}}}}', encoding="utf-8")
    add_server(file, "b", {"command": "y"})
    with pytest.raises(CockpitError, match="already"):
        add_server(file, "b", {"command": "z"})
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "other": [1],
        "mcpServers": {"a": {"command": "x", "odd": {}}, "b": {"command": "y"}},
    }
    assert remove_server(file, "a") and not remove_server(file, "a")
    file.write_text('{// mine\n"mcpServers": {}}', encoding="utf-8")
    with pytest.raises(CockpitError, match="by hand"):
        add_server(file, "c", {"command": "y"})
    assert "// mine" in file.read_text(encoding="utf-8")
