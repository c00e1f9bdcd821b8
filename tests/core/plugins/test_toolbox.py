"""Which tools are sent, which wait to be searched, and names of other agents."""

from pathlib import Path

import pytest

from cockpit.cli.command import load_catalog
from cockpit.core.permission.rules import RoleRights
from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Tool
from cockpit.plugin.values import Role


@pytest.fixture
def toolbox(root: Path) -> AgentToolbox:
    return AgentToolbox(load_catalog(str(root)))


@pytest.mark.parametrize(
    ("name", "arguments", "ours", "translated"),
    [
        ("Read", {"file_path": "a"}, "read", {"path": "a"}),
        ("read_file", {"path": "a", "limit": 3}, "read", {"path": "a", "lines": 3}),
        ("Bash", {"command": "ls"}, "shell", {"command": "ls"}),
        (
            "Edit",
            {"file_path": "a", "old_string": "x", "new_string": "y"},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        ("Grep", {"pattern": "x"}, "search", {"pattern": "x"}),
        ("git_log", {}, "git", {"what": "log"}),
        ("READ", {"path": "a"}, "read", {"path": "a"}),
        ("READ", {"file_path": "a"}, "read", {"path": "a"}),
        ("read", {"filePath": "a", "offset": 2}, "read", {"path": "a", "start": 2}),
        (
            "edit",
            {"filePath": "a", "oldString": "x", "newString": "y"},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        ("write", {"filePath": "a", "content": "x"}, "write", {"path": "a", "content": "x"}),
        ("apply_patch", {"input": "p"}, "apply_patch", {"patch": "p"}),
        ("shell", {"command": "ls", "workdir": "src"}, "shell", {"command": "ls", "cwd": "src"}),
        ("exec_command", {"cmd": "ls"}, "shell", {"command": "ls"}),
        (
            "TodoWrite",
            {"todos": [{"content": "a", "status": "completed", "activeForm": "doing a"}]},
            "todo",
            {"rows": [{"text": "a", "status": "completed"}]},
        ),
        (
            "todowrite",
            {
                "todos": [
                    {"content": "a", "status": "cancelled", "id": "1"},
                    {"content": "b", "priority": "low"},
                ]
            },
            "todo",
            {"rows": [{"text": "b"}]},
        ),
        (
            "update_plan",
            {"plan": [{"step": "a", "status": "in_progress"}], "explanation": "why"},
            "todo",
            {"rows": [{"text": "a", "status": "in_progress"}]},
        ),
        ("todo", {"todos": ["a"]}, "todo", {"rows": [{"text": "a"}]}),
        ("todo", {"rows": [{"text": "a"}]}, "todo", {"rows": [{"text": "a"}]}),
        (
            "shell",
            {"command": ["bash", "-lc", "ls | wc"], "workdir": "src", "timeout_ms": 9000},
            "shell",
            {"command": "ls | wc", "cwd": "src", "seconds": 9000},
        ),
        ("shell", {"command": ["/bin/sh", "-c", "ls"]}, "shell", {"command": "ls"}),
        ("shell", {"command": ["git", "commit", "-m", "a b"]}, "shell", {"command": "git commit -m 'a b'"}),
        ("shell", {"command": ["bash", "a.sh", "b c"]}, "shell", {"command": "bash a.sh 'b c'"}),
        ("shell", {"command": [1]}, "shell", {"command": [1]}),
        ("exec_command", {"cmd": ["ls", "-l"]}, "shell", {"command": "ls -l"}),
        (
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": True}]},
            "multi_edit",
            {"path": "a", "edits": [{"old": "x", "new": "y", "replace_all": True}]},
        ),
        ("MultiEdit", {"file_path": "a", "edits": "x"}, "multi_edit", {"path": "a", "edits": "x"}),
        ("read", {"path": "a", "nonsense": 1}, "read", {"path": "a", "nonsense": 1}),
    ],
)
def test_another_agents_name_is_understood(
    toolbox: AgentToolbox, name: str, arguments: dict, ours: str, translated: dict
) -> None:
    found = toolbox.find(name, arguments)
    assert found is not None
    assert (found[0].name, dict(found[1])) == (ours, translated)


def test_about_twenty_tools_are_sent_and_the_others_are_searched(toolbox: AgentToolbox) -> None:
    sent = [tool.name for tool in toolbox.sent()]
    assert 10 <= len(sent) <= 28 and sent == sorted(sent)
    before = toolbox.fingerprint()
    assert "git_change" not in sent
    assert "git_change" in [tool.name for tool in toolbox.search("commit")]
    assert [tool.name for tool in toolbox.sent()][: len(sent)] == sent
    assert toolbox.fingerprint() != before
    assert toolbox.search("select:job,nothing")[0].name == "job"


def test_the_bytes_of_the_list_are_equal_between_two_builds(root: Path) -> None:
    boxes = [AgentToolbox(load_catalog(str(root))) for _ in range(2)]
    assert boxes[0].fingerprint() == boxes[1].fingerprint()


def test_a_role_has_only_what_it_lists_also_by_other_names(root: Path) -> None:
    rights = RoleRights(Role("r", "", "", tools=("Read", "search")))
    box = AgentToolbox(load_catalog(str(root)), rights.withholds)
    assert sorted(tool.name for tool in box.tools()) == ["read", "read_result", "search"]
    assert box.find("shell", {"command": "ls"}) is None
    assert box.find("Bash", {"command": "ls"}) is None


def test_an_unknown_name_has_near_ones(toolbox: AgentToolbox) -> None:
    assert "search" in toolbox.near("serch")


def test_arguments_an_alias_cannot_reshape_are_unchanged() -> None:
    def broken(arguments: Arguments) -> Arguments:
        raise KeyError("theirs")

    async def run(arguments: Arguments, context: Context) -> Done:
        return Done("")

    aliases = (Alias("Ours", (("theirs", "own"),), reshape=broken), Alias("ours", reshape=broken))
    tool = Tool(
        "ours", "other", "", {"properties": {"own": {}}}, frozenset({"none"}), run, str, aliases=aliases
    )
    row = CatalogEntry("register_tools", tool.name, tool, "test", "user")
    box = AgentToolbox(PluginCatalog((row,), (), (), {"register_tools": {tool.name: row}}))
    assert [box.find(name, {"theirs": 1}) for name in ("Ours", "ours")] == [(tool, {"own": 1})] * 2
