"""`cockpit import`: a dry run first, then what was seen is written, and a second time nothing is."""

import json
import os
from pathlib import Path

import pytest
from tests.support.command import Ended
from tests.support.in_process import cockpit
from tests.support.other_agents import SECRETS, lay_out

from cockpit import paths
from cockpit.settings.files import user_file


@pytest.fixture
def person(tmp_path: Path, root: Path) -> Path:
    folder = tmp_path / "person"
    lay_out(folder, root)
    return folder


def run(person: Path, root: Path, *arguments: str) -> Ended:
    where = {"HOME": str(person), "USERPROFILE": str(person)}
    return cockpit("import", *arguments, cwd=root, environment=where)


def test_a_dry_run_shows_all_five_and_writes_nothing(person: Path, root: Path) -> None:
    ended = run(person, root)
    assert ended.code == 0 and ended.err == ""
    for agent in ("claude", "codex", "opencode", "crush", "vibe"):
        assert f"\n{agent}\n" in ended.out
    assert "~/.codex/config.toml:11" in ended.out and "nothing was written; run with --apply" in ended.out
    assert "-> mcp.json: docs-server --port 4000 --api-key=${DOCS_API_KEY}" in ended.out
    assert not user_file().exists() and not (paths.config() / "mcp.json").exists()
    assert not [one for one in SECRETS if one in ended.out]


def test_apply_writes_new_settings_but_nothing_that_loosens(person: Path, root: Path) -> None:
    ended = run(person, root, "codex", "vibe", "--apply", "--json")
    rows = json.loads(ended.out)
    assert {row["agent"] for row in rows} == {"codex", "vibe"}
    assert all(row["written"] == (row["state"] == "new" and not row["loosens"]) for row in rows)
    text = user_file().read_text(encoding="utf-8")
    assert "mine:qwen3-coder" in text and "allow" not in text
    if os.name == "posix":
        assert user_file().stat().st_mode & 0o777 == 0o600
    again = json.loads(run(person, root, "codex", "vibe", "--apply", "--json").out)
    assert not [row for row in again if row["written"]]


def test_yes_also_imports_what_loosens(person: Path, root: Path) -> None:
    run(person, root, "claude", "--apply", "--yes")
    assert 'allow = ["Bash(npm run lint)"' in user_file().read_text(encoding="utf-8")


def test_unknown_agent_is_refused_and_empty_home_is_reported(
    person: Path, root: Path, tmp_path: Path
) -> None:
    refused = run(person, root, "cursor")
    assert refused.code == 1 and "choose from claude, codex, opencode, crush, vibe, all" in refused.err
    (tmp_path / "empty").mkdir()
    assert "no settings of" in run(tmp_path / "empty", root).out
