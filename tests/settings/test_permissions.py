"""Permission rules in files: cockpit's, a project's, Claude Code's; what applies and what is offered."""

import json
from pathlib import Path

import pytest

from cockpit.errors import SettingsInvalid
from cockpit.settings import permissions
from cockpit.settings.files import user_file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "ws"
    (root / ".claude").mkdir(parents=True)
    (root / ".cockpit").mkdir()
    lists = {"allow": ["Bash(npm run *)"], "ask": ["Bash(git push:*)"], "deny": ["Read(./secrets/**)"]}
    (root / ".claude" / "settings.json").write_text(json.dumps({"permissions": lists}), encoding="utf-8")
    text = '[permissions]\nallow = ["Bash(make *)"]\ndeny = ["Bash(rm *)"]\n'
    (root / ".cockpit" / "settings.toml").write_text(text, encoding="utf-8")
    return root


def texts(root: Path, trusted: bool, applies: bool) -> set[str]:
    return {
        f"{one.level} {one.text}"
        for one in permissions.load_entries(str(root), trusted)
        if one.applies == applies
    }


def test_a_projects_files_tighten_and_only_offer_what_they_would_allow(project: Path) -> None:
    assert texts(project, True, True) == {
        "ask Bash(git push:*)",
        "deny Read(./secrets/**)",
        "deny Bash(rm *)",
    }
    assert texts(project, True, False) == {"allow Bash(npm run *)", "allow Bash(make *)"}


def test_before_trust_nothing_of_a_project_is_read(project: Path) -> None:
    assert permissions.load_entries(str(project), False) == ()


def test_rules_another_agent_has_at_home_are_offered_too(project: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    lists = {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["WebFetch"]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(lists), encoding="utf-8")
    assert texts(project, False, True) == {"deny WebFetch"}
    assert [one.text for one in permissions.find_offers(str(project), False)] == ["Bash(ls:*)"]


def test_an_offer_is_new_once_and_again_when_it_changes(project: Path) -> None:
    root = str(project)
    offers = permissions.find_offers(root, True)
    assert [permissions.is_new_offer(root, offers) for _ in range(2)] == [True, False]
    assert permissions.is_new_offer(root, offers[:1])
    assert not permissions.is_new_offer(root, ())


def test_adopted_rules_apply_to_this_folder_and_can_be_removed(project: Path) -> None:
    root = str(project)
    permissions.adopt_offers(root, permissions.find_offers(root, True))
    assert {"allow Bash(npm run *)", "allow Bash(make *)"} <= texts(project, False, True)
    assert permissions.find_offers(root, True) == ()
    assert permissions.load_entries(str(project.parent), False) == ()
    assert permissions.remove_rule(root, "Bash(make *)") == (f"projects.{root}.permissions.allow",)
    assert permissions.remove_rule(root, "Bash(make *)") == ()
    assert "allow Bash(make *)" not in texts(project, False, True)


BROKEN = {
    "{": 1,
    '{\n"permissions": {"deny": ["Bash"]}\n"a": 1}': 3,
    "[]": 0,
    '{\n"permissions": 3}': 2,
    '{"permissions": {\n"allow": [],\n"deny": "Bash"}}': 3,
    '{"permissions": {"deny": [\n"Bash",\n"Bash(rm"]}}': 3,
    '{"permissions": {"deny": [\n7]}}': 2,
    "\0": 1,
    "[" * 100_000: 0,
}


@pytest.mark.parametrize(("text", "line"), BROKEN.items(), ids=[one[:40] for one in BROKEN])
def test_another_agents_broken_file_is_reported_and_the_rest_applies(
    project: Path, text: str, line: int
) -> None:
    path = project / ".claude" / "settings.json"
    path.write_text(text, encoding="utf-8")
    assert texts(project, True, False) == {"allow Bash(make *)"}
    assert "deny Bash(rm *)" in texts(project, True, True)
    ((source, at, remedy),) = [
        (one.source, one.line, one.remedy) for one in permissions.read_entries(str(project), True)[1]
    ]
    assert source == str(path) and at == line and remedy


def test_another_agents_irregular_file_is_reported(project: Path) -> None:
    path = project / ".claude" / "settings.local.json"
    path.mkdir()
    (told,) = permissions.read_entries(str(project), True)[1]
    assert told.source == str(path) and "cannot be read" in told.reason


def test_comments_and_trailing_commas_hide_no_deny_rule(project: Path) -> None:
    text = '\ufeff{\r\n// ours\r\n"permissions": {"deny": [\r\n"WebFetch",\r\n],},}'
    (project / ".claude" / "settings.json").write_bytes(text.encode())
    assert "deny WebFetch" in texts(project, True, True)
    (line,) = [one.line for one in permissions.load_entries(str(project), True) if one.text == "WebFetch"]
    assert line == 4


def test_our_own_broken_file_is_named() -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[permissions]\nallow = "Bash"\n', encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"settings\.toml:2: permissions\.allow must be a list"):
        permissions.load_entries("/ws", False)
