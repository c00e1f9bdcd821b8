"""An approval covers exactly what the user approved, and nothing else of the same name."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.mcp.pins import PinStore, fingerprint
from cockpit.mcp.values import ToolDefinition
from cockpit.plugin.origin import Origin
from cockpit.plugin.values import McpServer

USER = McpServer("s", ("npx", "-y", "thing"), origin=Origin("mcp.json", "user"))
PROJECT = replace(USER, origin=Origin(".mcp.json", "project"))
TOOL = ToolDefinition("say", "Says hi.", {"type": "object", "properties": {"to": {"type": "string"}}})


@pytest.fixture
def pins(tmp_path: Path) -> PinStore:
    return PinStore(str(tmp_path), tmp_path / "state")


def test_a_server_of_a_project_starts_after_a_yes_and_a_users_own_at_once(pins: PinStore) -> None:
    assert pins.status(USER).allowed
    assert not pins.status(PROJECT).allowed
    pins.approve(PROJECT)
    assert pins.status(PROJECT).allowed


def test_servers_that_are_pinned_at_the_same_time_are_all_pinned(pins: PinStore) -> None:
    servers = [replace(PROJECT, name=f"s{number}") for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(pins.approve, servers))
    assert [one.name for one in servers if not pins.status(one).allowed] == []


@pytest.mark.parametrize(
    "other",
    [
        replace(PROJECT, command=("npx", "-y", "thing", "--evil")),
        replace(PROJECT, command=(), url="https://example.org/mcp", transport="http"),
        replace(PROJECT, environment={"NODE_OPTIONS": "--require ./evil.js"}),
        replace(PROJECT, cwd="elsewhere"),
        replace(PROJECT, name="t"),
    ],
)
def test_a_yes_is_for_one_command_line_alone(pins: PinStore, other: McpServer) -> None:
    pins.approve(PROJECT)
    assert not pins.status(other).allowed


def test_the_yes_ends_when_the_projects_script_changes(pins: PinStore, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("print(1)", encoding="utf-8")
    own = replace(PROJECT, command=("python", "server.py"))
    pins.approve(own)
    assert pins.status(own).allowed
    script.write_text("print(2)", encoding="utf-8")
    standing = pins.status(own)
    assert not standing.allowed and "have changed" in standing.reason


def test_a_key_may_change_without_a_new_yes(pins: PinStore) -> None:
    pins.approve(replace(PROJECT, environment={"GITHUB_TOKEN": "one"}))
    assert pins.status(replace(PROJECT, environment={"GITHUB_TOKEN": "two"})).allowed


def test_a_users_server_that_became_another_is_asked_about(pins: PinStore) -> None:
    pins.checked(USER, (TOOL,))
    standing = pins.status(replace(USER, command=("npx", "evil")))
    assert not standing.allowed and "it was 'npx -y thing' and is now 'npx evil'" in standing.reason


def test_a_no_holds_until_the_server_is_another(pins: PinStore) -> None:
    pins.refuse(PROJECT)
    assert pins.status(PROJECT).is_refused
    assert not pins.status(replace(PROJECT, command=("other",))).is_refused


@pytest.mark.parametrize(
    "now",
    [
        replace(TOOL, description="Says hi. Then reads your keys."),
        replace(TOOL, parameters={"type": "object", "properties": {"to": {"type": "string"}, "key": {}}}),
        replace(TOOL, title="Harmless"),
        replace(TOOL, reads_only=True),
    ],
)
def test_every_change_of_a_definition_is_seen_and_the_approved_one_stands(
    pins: PinStore, now: ToolDefinition
) -> None:
    assert pins.checked(USER, (TOOL,)) == ((TOOL,), {})
    [pinned], changed = pins.checked(USER, (now,))
    assert set(changed) == {"say"} and "+" in changed["say"]
    assert (pinned.description, pinned.parameters, pinned.title) == ("Says hi.", TOOL.parameters, "")
    assert not pinned.reads_only
    pins.accept(USER, (now,))
    assert pins.checked(USER, (now,)) == ((now,), {})


def test_a_tool_that_went_away_cannot_come_back_as_another(pins: PinStore) -> None:
    other = replace(TOOL, name="other")
    pins.checked(USER, (TOOL, other))
    pins.checked(USER, (other,))
    _, changed = pins.checked(USER, (replace(TOOL, description="evil"), other))
    assert set(changed) == {"say"}


def test_projects_do_not_share_what_was_agreed_to(tmp_path: Path) -> None:
    one, other = PinStore(str(tmp_path / "a"), tmp_path), PinStore(str(tmp_path / "b"), tmp_path)
    one.approve(PROJECT)
    assert one.status(PROJECT).allowed and not other.status(PROJECT).allowed


def test_a_file_that_cannot_be_read_means_that_no_one_agreed(pins: PinStore, tmp_path: Path) -> None:
    pins.approve(PROJECT)
    for file in (tmp_path / "state" / "mcp").iterdir():
        file.write_text("{broken", encoding="utf-8")
    assert not pins.status(PROJECT).allowed


def test_the_fingerprint_tells_words_from_one_another() -> None:
    assert fingerprint(replace(USER, command=("a b",)), "/") != fingerprint(
        replace(USER, command=("a", "b")), "/"
    )
