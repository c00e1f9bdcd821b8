"""Our tools under Claude Code's names, and back without a loss."""

from pathlib import Path

import pytest
from tests.support.session_view import registered

from cockpit.builtin.tools import delete, edit, read, shell, write
from cockpit.builtin.tools import search as searching
from cockpit.formats.hook_protocol import find_claude_name, to_claude_call, to_own_arguments
from cockpit.plugin.tools import Tool
from cockpit.protocol.messages import Json

TOOLS: dict[str, Tool] = {
    name: tool
    for plugin in (read, edit, write, shell, searching, delete)
    for name, tool in registered(plugin).items()
}


def test_names() -> None:
    wanted = {"read": "Read", "edit": "Edit", "multi_edit": "MultiEdit", "write": "Write", "shell": "Bash"}
    wanted |= {"search": "Grep", "delete": "delete"}
    assert {name: find_claude_name(TOOLS[name]) for name in wanted} == wanted


CALLS: list[tuple[str, dict[str, Json], dict[str, Json]]] = [
    ("read", {"path": "a.txt", "start": 3, "lines": 5}, {"file_path": "/r/a.txt", "offset": 3, "limit": 5}),
    (
        "edit",
        {"path": "/r/a", "old": "x", "new": "y"},
        {"file_path": "/r/a", "old_string": "x", "new_string": "y"},
    ),
    ("write", {"path": "d/../a", "content": "x"}, {"file_path": "/r/a", "content": "x"}),
    (
        "shell",
        {"command": "ls", "seconds": 1.5, "background": True, "cwd": "d"},
        {"command": "ls", "timeout": 1500, "run_in_background": True, "cwd": "d"},
    ),
    ("search", {"pattern": "x", "path": "d", "limit": 3}, {"pattern": "x", "path": "d", "head_limit": 3}),
    (
        "multi_edit",
        {"path": "a", "edits": [{"old": "x", "new": "y"}]},
        {"file_path": "/r/a", "edits": [{"old_string": "x", "new_string": "y"}]},
    ),
    ("delete", {"path": "a"}, {"path": "a"}),
]


@pytest.mark.parametrize(
    ("name", "before", "told"), CALLS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_arguments_there_and_back(name: str, before: dict[str, Json], told: dict[str, Json]) -> None:
    tool = TOOLS[name]
    assert to_claude_call(tool, before, "/r").arguments == told
    assert to_own_arguments(tool, told, before, "/r") == before


def test_updated_arguments_are_converted_back() -> None:
    before: dict[str, Json] = {"command": "ls"}
    new: dict[str, Json] = {"command": "pwd", "description": "where", "timeout": 2000}
    assert to_own_arguments(TOOLS["shell"], new, before, "/r") == {"command": "pwd", "seconds": 2}
    edited: dict[str, Json] = {"file_path": "/r/b", "old_string": "x", "new_string": "z"}
    assert to_own_arguments(TOOLS["edit"], edited, {"path": "a", "old": "x", "new": "y"}, "/r") == {
        "path": "/r/b",
        "old": "x",
        "new": "z",
    }


def test_a_matcher_knows_a_tool_by_all_its_names() -> None:
    assert {"Bash", "shell", "run_command"} <= {*to_claude_call(TOOLS["shell"], {}, "/r").names}
    assert "Edit" in to_claude_call(TOOLS["delete"], {}, "/r").names
    assert to_claude_call(TOOLS["read"], {}, "/r", "crush").name == "view"
    assert to_claude_call(TOOLS["shell"], {}, "/r", "crush").name == "bash"


def test_a_path_from_the_home_folder_is_made_absolute() -> None:
    assert to_claude_call(TOOLS["read"], {"path": "~/x"}, "/r").arguments == {
        "file_path": str(Path.home() / "x")
    }
