"""What is sent, what waits to be searched, and what other agents call it."""

from pathlib import Path

import pytest

from cockpit.cli.plugins import catalog_of
from cockpit.core.toolbox import Toolbox


@pytest.fixture
def toolbox(root: Path) -> Toolbox:
    return Toolbox(catalog_of(str(root)))


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
        ("read", {"path": "a", "nonsense": 1}, "read", {"path": "a", "nonsense": 1}),
    ],
)
def test_another_agents_name_is_understood(
    toolbox: Toolbox, name: str, arguments: dict, ours: str, translated: dict
) -> None:
    found = toolbox.find(name, arguments)
    assert found is not None
    assert (found[0].name, dict(found[1])) == (ours, translated)


def test_about_fourteen_tools_are_sent_and_the_others_are_searched(toolbox: Toolbox) -> None:
    sent = [tool.name for tool in toolbox.sent()]
    assert 10 <= len(sent) <= 18 and sent == sorted(sent)
    before = toolbox.fingerprint()
    assert "git_change" not in sent
    assert "git_change" in [tool.name for tool in toolbox.search("commit")]
    assert [tool.name for tool in toolbox.sent()][: len(sent)] == sent
    assert toolbox.fingerprint() != before
    assert toolbox.search("select:job,nothing")[0].name == "job"


def test_the_bytes_of_the_list_are_equal_between_two_builds(root: Path) -> None:
    boxes = [Toolbox(catalog_of(str(root))) for _ in range(2)]
    assert boxes[0].fingerprint() == boxes[1].fingerprint()


def test_a_role_has_only_what_it_lists_also_by_other_names(root: Path) -> None:
    box = Toolbox(catalog_of(str(root)), ("Read", "search"))
    assert [tool.name for tool in box.tools()] == ["read", "search"]
    assert box.find("shell", {"command": "ls"}) is None
    assert box.find("Bash", {"command": "ls"}) is None


def test_an_unknown_name_has_near_ones(toolbox: Toolbox) -> None:
    assert "search" in toolbox.near("serch")
