"""`cockpit doctor`: each thing that is missed comes with the one command that fixes it."""

import json
from pathlib import Path

import pytest
from tests.support.decks import distribution
from tests.support.in_process import cockpit

from cockpit.cli import doctor

AREAS = ["cockpit", "terminal", "programs", "sandbox", "language servers", "this folder", "models", "plugins"]


def test_json_report_is_a_list_of_rows_with_fixed_keys(root: Path) -> None:
    ended = cockpit("doctor", "--json", cwd=root)
    rows = json.loads(ended.out)
    assert all(row.keys() == {"area", "name", "state", "found", "fix"} for row in rows)
    assert list(dict.fromkeys(row["area"] for row in rows)) == AREAS
    assert {row["state"] for row in rows} <= {"ok", "optional", "missing"}
    assert ended.code == int(any(row["state"] == "missing" for row in rows))


def test_every_gap_comes_with_a_fix(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    # Only a package tool is there.
    only = root / "apt-get"
    only.write_text("#!/bin/sh\n", encoding="utf-8")
    only.chmod(0o755)
    monkeypatch.setenv("PATH", str(root))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("TMUX", raising=False)
    found = {(one.area, one.name): one for one in doctor.run_checks()}
    missed = [one for one in found.values() if one.state != "ok"]
    assert found["programs", "git"].state == "missing"
    assert found["programs", "git"].fix == "sudo apt-get install -y git"
    assert found["programs", "rg"].state == "optional"
    assert found["models", "keys"].fix == "cockpit connect"
    assert [one.name for one in missed if not one.fix] == []
    assert {one.name for one in found.values() if one.fix} == {one.name for one in missed}


def test_broken_settings_file_is_a_row_of_the_report(root: Path, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "settings.toml").write_text("mode = [\n", encoding="utf-8")
    ended = cockpit("doctor", "--json", cwd=root)
    row = next(row for row in json.loads(ended.out) if row["name"] == "settings file")
    assert ended.code == 1 and row["state"] == "missing"
    assert "settings.toml" in row["found"] and row["fix"]


def test_failed_plugin_is_listed_with_a_diagnosis_command(
    root: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(plugins, "broken-thing", "raise RuntimeError('bad day')")
    monkeypatch.chdir(root)
    row = next(one for one in doctor.run_checks() if one.name == "broken-thing")
    assert row.state == "missing" and "bad day" in row.found
    assert row.fix == "cockpit plugins doctor broken-thing"


@pytest.mark.parametrize(
    ("environment", "depth"),
    [
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, "true colour"),
        ({"COLORTERM": "24bit"}, "true colour"),
        ({"WT_SESSION": "1"}, "true colour"),
        ({"TERM": "xterm-256color"}, "256 colours"),
        ({"TERM": "xterm"}, "16 colours"),
        ({}, "16 colours"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "off (NO_COLOR)"),
    ],
)
def test_colour_depth_follows_the_environment(environment: dict[str, str], depth: str) -> None:
    assert doctor.detect_colour_depth(environment) == depth


@pytest.mark.parametrize(
    ("tool", "program", "command"),
    [
        ("apt-get", "rg", "sudo apt-get install -y ripgrep"),
        ("brew", "rg", "brew install ripgrep"),
        ("dnf", "bwrap", "sudo dnf install -y bubblewrap"),
        ("pacman", "clangd", "sudo pacman -S --noconfirm clang"),
        ("winget", "git", "winget install Git.Git"),
        ("brew", "bwrap", ""),
        ("none", "git", ""),
    ],
)
def test_install_command_uses_the_available_package_manager(tool: str, program: str, command: str) -> None:
    assert doctor.find_install_command(program, lambda name: name if name == tool else None) == command


def test_servers_of_the_folders_languages_come_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.go", "b.go", "c.rs"):
        (root / name).write_text("", encoding="utf-8")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", str(root))
    rows = [one for one in doctor.run_checks() if one.area == "language servers"]
    servers = [one for one in rows if not one.name.startswith("grammar")]
    assert [one.name for one in servers[:2]] == ["gopls", "rust-analyzer"]
    assert servers[0].fix.startswith("go install") and "2 files here" in servers[0].found
    assert rows[-1].name == "grammars" and rows[-1].state == "ok"
    assert len({one.name for one in servers}) == len(servers)


def test_a_grammar_that_does_not_load_is_named(
    root: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language

@hookimpl
def register_languages(register, scope):
    register(Language("gleam", ("*.gleam",), grammar="tree_sitter_gleam_that_is_not_there"))
"""
    distribution(plugins, "lang-gleam", source)
    monkeypatch.chdir(root)
    row = next(one for one in doctor.run_checks() if one.name == "grammar gleam")
    assert row.state == "optional" and "does not load" in row.found
    assert row.fix == "pip install --force-reinstall tree-sitter-gleam-that-is-not-there"
