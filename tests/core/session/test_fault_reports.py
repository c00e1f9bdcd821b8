"""Parts of files that are not used are reported in one message, once, with file, line and remedy."""

from pathlib import Path

from tests.support.decks import Driver, driving
from tests.support.moved_in import moved_in
from tests.support.sources import until

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import Warned
from cockpit.protocol.queries import Settings, SettingsTable

ROLE = "---\nname: wide\ndescription: Wants more\npermissionMode: bypassPermissions\n---\nDo it.\n"


def told(driver: Driver) -> list[str]:
    warnings = (one.event for one in driver.seen if isinstance(one.event, Warned))
    return [one.text for one in warnings if one.source == "files"]


async def said(root: Path) -> list[str]:
    options = RunOptions(model="offline:rules", trust=True, someone=False)
    async with driving(root, options=options) as driver:
        await driver.prompt("hello")
        return told(driver)


async def test_faults_are_listed_once_then_counted_and_listed_again_when_changed(tmp_path: Path) -> None:
    root = moved_in(tmp_path / "project", broken=True)
    first = await said(root)
    assert len(first) == 1
    assert ".claude/agents/widening.md:4: `permissionMode: bypassPermissions`" in first[0]
    assert ".codex/hooks.json:3" in first[0] or "and " in first[0].splitlines()[-1]
    assert str(root) not in first[0]
    (second,) = await said(root)
    assert "still not used" in second and "\n" not in second
    (root / ".claude" / "agents" / "wide.md").write_text(ROLE, encoding="utf-8")
    (third,) = await said(root)
    assert "the rest works" in third


async def test_without_faults_nothing_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    assert await said(root) == []


async def test_ineffective_rules_and_settings_are_reported_once(
    tmp_path: Path,
) -> None:
    root = tmp_path / "project"
    for name, text in {
        ".claude/settings.json": '{"permissions": {\n"deny": ["Bash(rm *)" "WebFetch"]}}',
        ".cockpit/settings.toml": 'mode = "plan"\n',
    }.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text, encoding="utf-8")
    async with driving(root, options=RunOptions(model="offline:rules", trust=True)) as driver:
        await driver.invoke("config.set", key="limits.steps", value="7")

        async def is_in_force() -> bool:
            table = await driver.channel.ask(Settings())
            assert isinstance(table, SettingsTable)
            return any(row.key == "limits.steps" and row.value == 7 for row in table.rows)

        await until(is_in_force)
        await driver.prompt("hello")
        said = [one for one in driver.all(Warned) if one.source in ("settings", "plugins")]
    assert ["settings.json:2: invalid JSON" in said[1].text, ":1: `mode`" in said[0].text] == [True, True]
    assert len(said) == 2 and all("config check" in one.hint for one in said)
