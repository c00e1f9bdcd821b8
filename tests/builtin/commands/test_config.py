"""`/set` in a session: rows for a screen, and a change that is in force at once."""

import sys
from pathlib import Path

import pytest
from tests.support.decks import driving, script
from tests.support.sources import until

from cockpit.core.session.options import RunOptions
from cockpit.protocol import wire
from cockpit.protocol.content import Table, Text
from cockpit.protocol.events import Noticed, SessionStarted, Warned
from cockpit.protocol.queries import Settings, SettingsTable
from cockpit.protocol.rows import SettingRow
from cockpit.settings import files
from cockpit.settings.files import user_file


@pytest.fixture(autouse=True)
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, {"text": "done"})))


def rows(reply: object) -> dict[str, SettingRow]:
    assert isinstance(reply, SettingsTable)
    assert wire.loads(wire.dumps(reply)) == reply
    return {row.key: row for row in reply.rows}


async def test_a_screen_is_told_every_setting_and_a_flag_is_its_origin(root: Path) -> None:
    async with driving(root, options=RunOptions(model="scripted:script", mode="plan")) as driver:
        told = rows(await driver.channel.ask(Settings()))
    assert told["mode"].value == "plan" and told["mode"].origin == "flag --mode"
    assert told["mode"].choices == ("full", "auto-edit", "ask", "plan", "deny") and not told["mode"].live
    assert told["limits.steps"].origin == "default" and told["limits.money"].value is None
    assert all(row.about and row.wanted for row in told.values())


async def test_a_change_is_written_and_in_force_without_a_restart(root: Path) -> None:
    async with driving(root) as driver:
        await driver.invoke("config.set", key="models.fallback", value="scripted:script")
        said = await driver.next(Noticed)
        assert said.data["changed"] is True and said.data["key"] == "models.fallback"

        async def is_in_force() -> bool:
            row = rows(await driver.channel.ask(Settings()))["models.fallback"]
            return row.value == ["scripted:script"] and row.origin == f"{user_file()}:2"

        await until(is_in_force)


async def test_a_value_that_does_not_fit_is_said_and_not_written(root: Path) -> None:
    async with driving(root) as driver:
        await driver.invoke("set", text="limits.steps many")
        await driver.until(lambda one: isinstance(one.event, Warned) and "whole number" in one.event.text)
    assert not user_file().exists()


@pytest.mark.parametrize(
    ("action", "key", "said"),
    [("config.set", "limits.steps", "whole number"), ("config.unset", "x y", "invalid key")],
)
async def test_a_screen_that_waits_is_told_why_a_value_was_not_kept(
    root: Path, action: str, key: str, said: str
) -> None:
    async with driving(root) as driver:
        await driver.invoke(action, key=key, value="many")
        told = await driver.next(Noticed)
    assert told.data["ok"] is False and told.data["changed"] is False
    (text,) = told.content
    assert isinstance(text, Text) and said in text.text and not user_file().exists()


async def test_config_shows_what_is_set_and_where(root: Path) -> None:
    async with driving(root) as driver:
        await driver.invoke("set", text="limits")
        said = await driver.next(Noticed)
    (table,) = said.content
    assert isinstance(table, Table) and ("limits.steps", "200", "default") in [row[:3] for row in table.rows]


async def test_the_machine_s_mode_and_limits_hold_against_flags(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed = tmp_path / "etc" / "settings.toml"
    managed.parent.mkdir()
    managed.write_text('mode = "ask"\n[limits]\nsteps = 2\n', encoding="utf-8")
    monkeypatch.setattr(files, "MANAGED_FILES", {sys.platform: str(managed)})
    async with driving(root, options=RunOptions(model="scripted:script", mode="full")) as driver:
        told = rows(await driver.channel.ask(Settings()))
        assert (await driver.next(SessionStarted)).mode == "ask"
    assert told["mode"].origin == f"{managed}:1" and not told["mode"].writable
    assert told["limits.steps"].value == 2
    async with driving(root, options=RunOptions(model="scripted:script", mode="plan")) as driver:
        assert (await driver.next(SessionStarted)).mode == "plan"
