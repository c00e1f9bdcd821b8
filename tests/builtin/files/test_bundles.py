"""A plugin of Claude Code in a session: its skills, agents, hooks and servers are there under its name."""

from pathlib import Path

import pytest
from tests.support.bundles import write_bundle
from tests.support.decks import call, driving, script

from cockpit import paths
from cockpit.cli.command import load_catalog
from cockpit.cli.definition_list import list_definitions
from cockpit.core.session.options import RunOptions
from cockpit.plugin.agents import Role
from cockpit.plugin.languages import Language
from cockpit.plugin.values import Command, McpServer, Skill
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import ToolCallFinished, TurnStarted


@pytest.fixture
def bundle(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    return write_bundle(paths.data() / "bundles" / "tidy")


def test_its_parts_are_registered_under_its_name(bundle: Path, root: Path) -> None:
    catalog = load_catalog(str(root), True)
    skill = catalog.get(Skill, "tidy:lint")
    assert skill is not None and skill.body() == f"Run {bundle}/bin/lint."
    assert skill.origin is not None and skill.origin.layer == "plugin"
    role = catalog.get(Role, "tidy:checker")
    assert role is not None and role.instructions == f"Check. See {bundle}."
    assert catalog.get(Command, "tidy:sweep") is not None
    assert catalog.get(Command, "tidy:git:tag") is not None
    server = catalog.get(McpServer, "plugin:tidy:db")
    assert server is not None and server.command == (f"{bundle}/bin/db", "--root", str(root))
    language = catalog.get(Language, "tidy:zig")
    assert language is not None and language.servers[0].command == (f"{bundle}/bin/zls",)
    assert language.globs == ("*.zig",) and language.ids == {".zig": "zig"}
    owners = {entry.layer for entry in catalog.entries if entry.plugin == "bundles"}
    assert owners == {"plugin"}


async def test_its_command_becomes_a_prompt_that_knows_its_folder(bundle: Path, root: Path) -> None:
    (bundle / "commands" / "where.md").write_text("In ${CLAUDE_PLUGIN_ROOT}: $ARGUMENTS\n", encoding="utf-8")
    script(root.parent, {"text": "Done."})
    async with driving(root, options=RunOptions(model="scripted:script", trust=True)) as driver:
        await driver.invoke("tidy:where", text="x y")
        started = await driver.next(TurnStarted)
    assert plain_text(started.content) == f"In {bundle}: x y"


async def test_its_hooks_run_with_its_folder(bundle: Path, root: Path) -> None:
    script(root.parent, {"calls": [dict(call("Read", file_path="a.txt"))]}, {"text": "Done."})
    async with driving(root, options=RunOptions(model="scripted:script", trust=True)) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert result.outcome == "denied" and result.text.endswith(f"from {bundle}")


def test_listings_tell_of_it(bundle: Path, root: Path) -> None:
    (bundle / "skills" / "broken").mkdir()
    (bundle / "skills" / "broken" / "SKILL.md").write_text("---\nname: [\n---\nx", encoding="utf-8")
    rows = {row.name: row for row in list_definitions("skills", str(root), True)}
    assert rows["tidy:lint"].layer == "plugin"
    assert any(row.refused and "broken" in row.file for row in rows.values())
    assert [(row.layer, row.file) for row in list_definitions("hooks", str(root), True)] == [
        ("plugin", str(bundle / "hooks" / "hooks.json"))
    ]


def test_a_bundle_that_cannot_be_read_is_told_and_the_others_work(bundle: Path, root: Path) -> None:
    broken = write_bundle(bundle.parent / "broken")
    (broken / ".claude-plugin" / "plugin.json").write_text("[]", encoding="utf-8")
    catalog = load_catalog(str(root), True)
    assert any(one.name == "broken" for one in catalog.unloaded["register_skills"])
    assert catalog.get(Skill, "tidy:lint") is not None
