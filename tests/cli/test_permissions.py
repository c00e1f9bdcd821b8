"""`cockpit permissions` in a real process: list, explain, adopt, remove."""

import json
from pathlib import Path

import pytest
from tests.support.in_process import cockpit

from cockpit.settings import trust
from cockpit.settings.files import add_user_word, user_file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / ".claude").mkdir(parents=True)
    lists = {"permissions": {"allow": ["Bash(npm run *)"], "ask": ["Bash(git push *)"]}}
    (root / ".claude" / "settings.json").write_text(json.dumps(lists), encoding="utf-8")
    trust.save_trust(str(root), True)
    add_user_word(("permissions", "allow"), "Bash(git *)")
    return root


def test_rules_are_listed_with_files_and_offers_separately(project: Path) -> None:
    listed = cockpit("permissions", cwd=project)
    assert listed.code == 0
    lines = listed.out.splitlines()
    ask, allow = lines[0].split(), lines[1].split()
    assert ask[:3] == ["ask", "Bash(git", "push"] and str(project / ".claude" / "settings.json") in lines[0]
    assert allow[:3] == ["allow", "Bash(git", "*)"] and "settings.toml" in lines[1]
    assert "offered, not applied" in listed.out and "Bash(npm run *)" in lines[-1]
    rows = json.loads(cockpit("permissions", "list", "--json", cwd=project).out)
    assert [row["applies"] for row in rows if row["rule"] == "Bash(npm run *)"] == [False]


def test_broken_file_is_a_refused_row(project: Path) -> None:
    broken = project / ".claude" / "settings.local.json"
    broken.write_text('{"permissions": {\n"deny": ["Bash(rm *)"\n}}', encoding="utf-8")
    listed = cockpit("permissions", "list", cwd=project)
    assert listed.code == 0 and "Bash(git push *)" in listed.out
    assert "refused .claude/settings.local.json:3: invalid JSON" in listed.out
    user_file().write_text("mode = [", encoding="utf-8")
    rows = json.loads(cockpit("permissions", "list", "--json", cwd=project).out)
    assert "Bash(git push *)" in [row["name"] for row in rows]
    refused = {one["file"]: (one["line"], bool(one["remedy"])) for row in rows for one in row["refused"]}
    assert refused[str(broken)] == (3, True) and refused[str(user_file())] == (1, True)


def test_explain_names_the_rule_that_decides_and_what_it_shadows(project: Path) -> None:
    told = cockpit("permissions", "explain", "git push origin main", cwd=project)
    assert told.code == 0
    assert "policy   needs-confirm" in told.out
    assert "rule     Bash(git push *) asks about it" in told.out
    assert "shadows  allow Bash(git *)" in told.out
    data = json.loads(cockpit("permissions", "explain", "git push", "--json", cwd=project).out)
    assert (data["rules"], data["by"][0]["rule"]) == ("ask", "Bash(git push *)")


def test_no_rule_overrides_a_block_of_the_policy(project: Path) -> None:
    add_user_word(("permissions", "allow"), "Bash(rm *)")
    told = cockpit("permissions", "explain", "rm -rf /", cwd=project)
    assert "policy   must-block" in told.out and "allows it" not in told.out


def test_an_edit_is_explained_by_its_path(project: Path) -> None:
    add_user_word(("permissions", "allow"), "Edit(src/**)")
    told = cockpit("permissions", "explain", "--tool", "edit", "src/a.py", cwd=project)
    assert "policy   needs-confirm" in told.out and "rule     Edit(src/**) allows it" in told.out
    hook = cockpit("permissions", "explain", "--tool", "edit", ".git/hooks/x", cwd=project)
    assert "policy   must-block" in hook.out


def test_adopted_rule_is_listed_and_removed(project: Path) -> None:
    assert cockpit("permissions", "adopt", cwd=project).out.startswith("allow  Bash(npm run *)")
    assert "offered" not in cockpit("permissions", cwd=project).out
    removed = cockpit("permissions", "remove", "Bash(npm run *)", cwd=project)
    assert removed.code == 0 and "removed" in removed.out
    again = cockpit("permissions", "remove", "Bash(npm run *)", cwd=project)
    assert again.code == 1 and "is not in your settings" in again.err


def test_unknown_rules_and_tools_are_reported(project: Path) -> None:
    assert "not offered" in cockpit("permissions", "adopt", "Bash(x)", cwd=project).err
    assert "there is no tool" in cockpit("permissions", "explain", "--tool", "nope", "x", cwd=project).err
    trust.save_trust(str(project), False)
    assert "npm run" not in cockpit("permissions", cwd=project).out
