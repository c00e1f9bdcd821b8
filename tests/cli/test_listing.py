"""`cockpit KIND list` in the folder of somebody who comes from other agents: what loaded, what of it was
understood, what it hides, and what was refused, with file, line and remedy."""

import json
import os
from pathlib import Path

import pytest
from tests.support.in_process import cockpit
from tests.support.moved_in import BROKEN, LINES, moved_in

Row = dict[str, object]
KINDS = ("skills", "roles", "commands", "hooks", "mcp", "permissions", "instructions")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").mkdir()
    return moved_in(root)


def listed(kind: str, root: Path, home: Path, *more: str) -> list[Row]:
    ended = cockpit(
        kind, "list", "--json", "--cwd", str(root), *more, cwd=home, environment={"HOME": str(home)}
    )
    assert ended.code == 0, ended.err
    rows: list[Row] = json.loads(ended.out)
    return rows


def of(rows: list[Row], name: str) -> Row:
    return next(row for row in rows if row["name"] == name)


def fields(row: Row) -> dict[str, object]:
    found = row["fields"]
    assert isinstance(found, dict)
    return found


def refused(row: Row) -> list[dict[str, object]]:
    found = row["refused"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_the_same_shape(kind: str, project: Path, tmp_path: Path) -> None:
    rows = listed(kind, project, tmp_path, "--trust")
    assert rows
    for row in rows:
        assert {"name", "file", "layer", "fields", "shadows", "refused"} <= row.keys()
        assert isinstance(row["shadows"], list) and isinstance(row["refused"], list)


@pytest.mark.parametrize("kind", KINDS)
def test_untrusted_folder_lists_none_of_its_files(kind: str, project: Path, tmp_path: Path) -> None:
    assert [row for row in listed(kind, project, tmp_path) if str(project) in str(row["file"])] == []


def test_skills_load_with_all_their_fields(project: Path, tmp_path: Path) -> None:
    rows = listed("skills", project, tmp_path, "--trust")
    row = of(rows, "deploy-check")
    assert row["layer"] == "project" and str(row["file"]).endswith("deploy-check/SKILL.md")
    told = fields(row)
    assert told["allowed-tools"] == ["Read", "Grep", "Bash(git *)"]
    assert told["arguments"] == ["environment", "tag"] and told["user-invocable"] is True
    assert told["disable-model-invocation"] is False and told["model"] == "sonnet"
    assert fields(of(rows, "audit"))["context"] == "fork"
    assert [(one["line"], bool(one["remedy"])) for one in refused(row) if "hooks" in str(one)] == [(20, True)]
    names = {str(row["name"]).lower() for row in rows}
    assert not names & {"readme", "idea", "drafts"}
    assert {"review", "plan", "commit", "summarize", "explain", "test", "debug", "release-notes"} <= names


def test_roles_load_with_all_their_fields_and_only_narrow(project: Path, tmp_path: Path) -> None:
    rows = listed("roles", project, tmp_path, "--trust")
    told = fields(of(rows, "code-reviewer"))
    assert told["tools"] == ["Read", "Grep", "Glob", "Bash"] and told["maxTurns"] == 12
    assert told["permissionMode"] == "plan" and told["isolation"] == "worktree"
    names = {row["name"] for row in rows}
    assert {"general", "explore", "research", "plan", "review"} <= names
    assert {"write", "critic", "implement", "verify"} <= names


def test_commands_of_four_agents_load(project: Path, tmp_path: Path) -> None:
    rows = listed("commands", project, tmp_path, "--trust")
    files = {str(row["name"]): str(row["file"]) for row in rows if row["file"]}
    assert any(file.endswith("fix-issue.md") for file in files.values())
    assert files["git:commit"].endswith("git/commit.toml")
    assert files["coverage"].endswith(".opencode/commands/coverage.md")


def test_hooks_of_every_type_load(project: Path, tmp_path: Path) -> None:
    rows = listed("hooks", project, tmp_path, "--trust")
    told = [fields(row) for row in rows]
    assert {one["type"] for one in told} == {"command", "http", "prompt", "agent"}
    assert {one["event"] for one in told} >= {"PreToolUse", "Stop", "PostToolUse", "SessionStart"}


def test_servers_load_with_their_variables_filled_in(project: Path, tmp_path: Path) -> None:
    rows = listed("mcp", project, tmp_path, "--trust")
    assert {"tracker", "docs", "old"} <= {row["name"] for row in rows}
    told = str(fields(of(rows, "tracker")))
    assert "read" in told and "${TRACKER_MODE" not in told


def test_instructions_list_their_files(project: Path, tmp_path: Path) -> None:
    rows = listed("instructions", project, tmp_path, "--trust")
    files = [os.path.relpath(str(row["file"]), project).replace(os.sep, "/") for row in rows]
    assert {"AGENTS.md", "web/AGENTS.md", ".claude/rules/tests.md"} <= set(files)


def test_broken_file_of_each_kind_is_reported_and_the_rest_loads(project: Path, tmp_path: Path) -> None:
    moved_in(project, broken=True)
    found: dict[str, list[dict[str, object]]] = {}
    for kind in ("skills", "roles", "commands", "hooks"):
        rows = listed(kind, project, tmp_path, "--trust")
        for one in (one for row in rows for one in refused(row)):
            found.setdefault(os.path.relpath(str(one["file"]), project).replace(os.sep, "/"), []).append(one)
    for name in BROKEN:
        assert name in found, f"{name} was not told"
        assert all(one["reason"] and one["remedy"] for one in found[name])
        assert any(one["line"] in LINES[name] for one in found[name]), found[name]
    assert of(listed("skills", project, tmp_path, "--trust"), "deploy-check")
    assert of(listed("roles", project, tmp_path, "--trust"), "code-reviewer")
    assert of(listed("roles", project, tmp_path, "--trust"), "widening"), "the rest of the file works"


def test_server_file_with_invalid_json_is_reported(project: Path, tmp_path: Path) -> None:
    (project / ".mcp.json").write_text('{\n "mcpServers": {\n  "a": {"command": "x",}}\n', encoding="utf-8")
    rows = listed("mcp", project, tmp_path, "--trust")
    told = [one for row in rows for one in refused(row) if str(one["file"]).endswith(".mcp.json")]
    assert any(one["line"] and one["remedy"] for one in told)


def test_text_listing_shows_refusals_and_trust(project: Path, tmp_path: Path) -> None:
    moved_in(project, broken=True)
    home = {"HOME": str(tmp_path)}
    ended = cockpit("roles", "list", "--cwd", str(project), "--trust", cwd=tmp_path, environment=home)
    assert ".claude/agents/widening.md:4" in ended.out and "refused" in ended.out
    untrusted = cockpit("roles", "list", "--cwd", str(project), cwd=tmp_path, environment=home)
    assert "not trusted" in untrusted.out and "widening" not in untrusted.out
