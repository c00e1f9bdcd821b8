"""The cost of calls of plugins is counted, however the call ends."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.decks import distribution, driving, script

from cockpit.core.plugins.catalog import PluginMeter
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Guard, Guarded, Judged, Pass, Ruling, Verdict
from cockpit.plugin.values import Panel
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import Noticed
from cockpit.protocol.queries import PluginRows, Plugins


async def test_a_call_that_raises_or_is_cancelled_is_counted_and_unchanged() -> None:
    meter = PluginMeter()

    async def fall(judged: Judged) -> Verdict | None:
        raise ValueError("no")

    async def hang(judged: Judged) -> Verdict | None:
        await asyncio.Event().wait()
        return None

    falls = meter.metered(Decider("falls", fall), "mine", "register_deciders")
    hangs = meter.metered(Decider("hangs", hang), "mine", "register_deciders")
    assert isinstance(falls, Decider) and isinstance(hangs, Decider)
    judged = object.__new__(Judged)
    with pytest.raises(ValueError, match="no"):
        await falls.decide(judged)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hangs.decide(judged), 0.01)
    spent = meter.of("mine")["register_deciders"]
    assert spent.calls == 2 and spent.seconds >= spent.longest >= 0.01
    assert meter.of("yours") == {}


def test_values_that_are_rarely_called_are_not_metered() -> None:
    panel = Panel("a", "A")
    assert PluginMeter().metered(panel, "mine", "register_panels") is panel


def test_the_other_fields_stay() -> None:
    async def check(guarded: Guarded, context: Context) -> Ruling:
        return Pass()

    guard = Guard("slow", "prompt", check, timeout_s=3.0)
    metered = PluginMeter().metered(guard, "mine", "register_guards")
    assert isinstance(metered, Guard) and replace(metered, check=check) == guard


SOURCE = """
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import *
from cockpit.plugin.values import *

@hookimpl
def register_guards(register, scope):
    async def check(guarded, context):
        return Pass()
    register(Guard("meter", "prompt", check))

@hookimpl
def register_observers(register, scope):
    async def see(envelope): ...
    register(Observer("meter", ("turn_started",), see))
"""


async def test_a_session_reports_the_time_of_registering_and_calling(
    root: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(plugins, "costly", SOURCE)
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    script(root.parent, {"text": "one"}, {"text": "two"})
    async with driving(root) as driver:
        await driver.prompt("one")
        await driver.prompt("two")
        await driver.invoke("plugins")
        shown = await driver.next(Noticed)
        reply = await driver.channel.ask(Plugins())
    assert isinstance(reply, PluginRows)
    row = next(row for row in reply.rows if row.name == "costly")
    assert set(row.hooks) == {"guards", "observers"} and row.calls == {"guards": 2, "observers": 2}
    assert set(row.spent) == {"guards", "observers"} and row.milliseconds > 0
    line = next(line for line in plain_text(shown.content).splitlines() if line.startswith("costly "))
    assert "guards 2x" in line and "observers 2x" in line
