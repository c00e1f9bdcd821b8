"""`cockpit lsp`: servers of cockpits that run, and what would start where none does; `/lsp` in a session."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.command import command
from tests.support.in_process import cockpit

from cockpit.navigation.lsp import status_files
from cockpit.settings import trust


@pytest.fixture
def project(root: Path) -> Path:
    (root / "app.py").write_text("def main() -> None: ...\n\n\nmain()\n", encoding="utf-8")
    (root / "go.mod").write_text("module app\n", encoding="utf-8")
    (root / "main.go").write_text("package main\n", encoding="utf-8")
    return root


def test_status_without_a_running_cockpit_lists_servers_that_would_start(project: Path) -> None:
    ended = cockpit("lsp", "status", cwd=project)
    assert ended.code == 0 and "no cockpit runs on" in ended.out
    lines = {line.split()[0]: line for line in ended.out.splitlines()[1:]}
    assert "found" in lines["ty"] and "found" in lines["ruff"]
    assert "gopls" in lines and ("go install" in lines["gopls"] or "cockpit --trust" in lines["gopls"])
    rows = json.loads(cockpit("lsp", "status", "--json", cwd=project).out)
    assert rows["running"] == [] and {row["name"] for row in rows["would"]} >= {"ty", "ruff", "gopls"}


@pytest.mark.parametrize("verb", ["restart", "stop", "log"])
def test_restart_without_a_running_cockpit_fails(project: Path, verb: str) -> None:
    ended = cockpit("lsp", verb, cwd=project)
    assert (ended.code, ended.out) == (1, "") and ended.err.startswith("cockpit: no ")


def told(project: Path, state: str) -> list[tuple[int, str, str]]:
    """What other processes are told of ty, asked until it is `state`: they are told once a second."""
    until = time.monotonic() + 20
    while True:
        rows = json.loads(cockpit("lsp", "status", "ty", "--json", cwd=project).out)["running"]
        found = [(row["pid"], row["name"], row["state"]) for row in rows]
        if time.monotonic() > until or [row["state"] for row in rows] == [state]:
            return found


def test_servers_of_a_running_cockpit_are_shown_stopped_and_logged(project: Path) -> None:
    with subprocess.Popen(
        command("nav", "batch", "--source", "lsp"),
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        ask = json.dumps({"id": 1, "op": "definition", "place": "app.py:4:1"}) + "\n"
        other.stdin.write(ask)
        other.stdin.flush()
        assert json.loads(other.stdout.readline())["results"][0]["source"] == "lsp"
        assert told(project, "ready") == [(other.pid, "ty", "ready")]
        assert f"cockpit {other.pid} on" in cockpit("lsp", cwd=project).out
        assert "ty" in cockpit("lsp", "stop", "ty", cwd=project).out
        assert told(project, "stopped") == [(other.pid, "ty", "stopped")]
        assert "== ty" in cockpit("lsp", "log", "ty", cwd=project).out
        assert "ty" in cockpit("lsp", "restart", "ty", cwd=project).out
        other.stdin.write(ask)
        other.stdin.flush()
        assert json.loads(other.stdout.readline())["results"][0]["source"] == "lsp"
        other.stdin.close()
        assert other.wait(30) == 0
    assert status_files.find_running(Path(), str(project)) == ()


def test_project_server_waits_for_trust_and_approval(project: Path) -> None:
    entry = {"mine": {"command": "ty", "args": ["server"], "extensionToLanguage": {".py": "python"}}}
    (project / ".lsp.json").write_text(json.dumps(entry), encoding="utf-8")
    refused = cockpit("lsp", "allow", "mine", cwd=project)
    assert refused.code == 1 and "not trusted" in refused.err
    trust.save_trust(str(project), True)
    assert "cockpit lsp allow mine" in cockpit("lsp", "status", cwd=project).out
    allowed = cockpit("lsp", "allow", "mine", cwd=project)
    assert allowed.code == 0 and "allowed: mine: ty server" in allowed.out
    assert "mine" in cockpit("lsp", "status", cwd=project).out
    assert "cockpit lsp allow mine" not in cockpit("lsp", "status", cwd=project).out
    assert cockpit("lsp", "allow", "other", cwd=project).code == 1


def test_lsp_command_of_a_session_shows_and_controls_servers(project: Path) -> None:
    for words, wanted in (
        ("/lsp", "No language server has started"),
        ("/lsp log", "No server has written anything"),
        ("/lsp allow", "No server waits for approval"),
        ("/lsp fly", "unknown action 'fly' of /lsp"),
    ):
        assert wanted in cockpit("-p", words, cwd=project).out, words
