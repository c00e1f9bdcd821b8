"""`cockpit mcp`: servers are added, listed, started, approved and removed."""

import json
import sys
from pathlib import Path

import pytest
from tests.support.command import Ended
from tests.support.in_process import cockpit
from tests.support.mcp.specs import command, configure, spec, tool

from cockpit import paths

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(root.parent))
    return root


def mcp(folder: Path, *arguments: str) -> Ended:
    return cockpit("mcp", *arguments, cwd=folder)


def done(folder: Path, *arguments: str) -> str:
    ended = mcp(folder, *arguments)
    assert ended.code == 0, ended.err
    return ended.out


def test_server_is_added_listed_started_and_removed(folder: Path) -> None:
    path = spec(folder.parent, tool("say", "say:hi", "Says hi."))
    assert "added demo to" in done(folder, "add", "demo", "--env", "LEVEL=info", "--", *command(path))
    file = paths.config() / "mcp.json"
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    entry = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["demo"]
    assert entry["command"] == sys.executable and entry["env"] == {"LEVEL": "info"}
    [row] = json.loads(done(folder, "list", "--json"))
    assert (row["name"], row["layer"], row["refused"]) == ("demo", "user", [])
    [checked] = json.loads(done(folder, "list", "--check", "--json"))
    assert (checked["state"], checked["tools"]) == ("ready", ["say"])
    assert "mcp__demo__say  Says hi." in done(folder, "tools", "demo")
    assert "hello from stderr" in done(folder, "log", "demo")
    assert "may start" in done(folder, "get", "demo")
    done(folder, "disable", "demo")
    assert "demo  disabled" in done(folder, "list", "--check")
    done(folder, "enable", "demo")
    done(folder, "remove", "demo")
    assert json.loads(done(folder, "list", "--json")) == []


def test_an_address_is_added_with_its_headers(folder: Path) -> None:
    done(folder, "add", "--transport", "http", "api", "https://example.com/mcp", "--header", "X-Team: a")
    entry = json.loads((paths.config() / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["api"]
    assert entry == {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Team": "a"}}


def test_project_server_starts_after_approval(folder: Path) -> None:
    started = folder.parent / "started"
    configure(folder / ".mcp.json", {"own": spec(folder.parent, tool("say"), starts=str(started))})
    assert json.loads(done(folder, "list", "--json")) == []
    refused = mcp(folder, "list", "--check", "--trust")
    assert refused.code == 1 and "own  needs approval" in refused.out and not started.exists()
    nobody = mcp(folder, "approve", "own", "--trust")
    assert nobody.code == 1 and "stdin is not a terminal" in nobody.err and not started.exists()
    assert "own is approved: 1 tools" in done(folder, "approve", "own", "--trust", "--yes")
    assert "own  ready" in done(folder, "list", "--check", "--trust")


def test_changed_tools_are_shown_and_approved(folder: Path) -> None:
    path = spec(folder.parent, tool("say", description="Says hi."))
    done(folder, "add", "demo", "--", *command(path))
    done(folder, "tools", "demo")
    spec(folder.parent, tool("say", description="Says hi and more."))
    assert "changed since it was approved" in done(folder, "tools", "demo")
    assert "Says hi and more." in done(folder, "approve", "demo", "--yes")
    assert "changed" not in done(folder, "tools", "demo")


def test_errors_name_the_next_step(folder: Path) -> None:
    unknown = mcp(folder, "tools", "nobody")
    assert unknown.code == 1 and "unknown MCP server 'nobody'; none is configured" in unknown.err
    done(folder, "add", "gone", "--", "no-such-program-here")
    failed = mcp(folder, "tools", "gone")
    assert failed.code == 1 and "could not be started" in failed.err
    again = mcp(folder, "add", "gone", "--", "x")
    assert again.code == 1 and "--force" in again.err


def test_enabling_an_unknown_server_lists_the_known_ones(folder: Path) -> None:
    done(folder, "add", "demo", "--", "no-such-program-here")
    unknown = mcp(folder, "enable", "nobody")
    assert unknown.code == 1 and "unknown MCP server 'nobody'; choose demo" in unknown.err
    assert "demo is not disabled" in done(folder, "enable", "demo")
