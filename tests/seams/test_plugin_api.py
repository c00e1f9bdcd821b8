"""Each hook of the plugin API works for a plugin of thirty lines, installed like any other."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.support.decks import call, distribution, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import MessageFinished, Noticed, PanelChanged, ToolCallFinished, Warned
from cockpit.protocol.ops import Trust
from cockpit.protocol.queries import Listing, ListingRows, PluginRows, Plugins

HEAD = """
from contextlib import asynccontextmanager
from cockpit.plugin import hookimpl
from cockpit.plugin.models import *
from cockpit.plugin.safety import *
from cockpit.plugin.tools import *
from cockpit.plugin.values import *
from cockpit.protocol.content import Text
from cockpit.protocol.events import *
"""


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    (root / "b.txt").write_text("two\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


async def test_a_resident_survives_a_reload(scripted: Path, plugins: Path) -> None:
    log = scripted.parent / "resident.log"
    distribution(
        plugins,
        "lodger",
        HEAD
        + f"""
@hookimpl
def register_residents(register, scope):
    @asynccontextmanager
    async def run(context):
        with open({str(log)!r}, "a") as file:
            file.write("in\\n")
        yield
        with open({str(log)!r}, "a") as file:
            file.write("out\\n")
    register(Resident("lodger", "session", run))
""",
    )
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        running = await driver.until(
            lambda one: (
                isinstance(one.event, PanelChanged)
                and any(row.text == "lodger" and row.state == "running" for row in one.event.rows)
            )
        )
        assert running
        await driver.channel.submit(Trust("t1", "tui", True))
        await driver.prompt("hello")
        assert log.read_text() == "in\n"
    assert log.read_text() == "in\nout\n"


async def test_a_guard_rewrites_a_call_which_is_judged_again(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "warden",
        HEAD
        + """
@hookimpl
def register_guards(register, scope):
    async def check(guarded, context):
        if guarded.tool == "read" and guarded.call.arguments.get("path") == "a.txt":
            return Rewrite(arguments={"path": "b.txt"})
        if guarded.tool == "read":
            return Rewrite(arguments={"path": 7, "colour": "red"})
        return Pass()
    register(Guard("warden", "tool_call", check))
""",
    )
    reads = [call("read", path="a.txt"), call("read", path="c.txt")]
    script(scripted.parent, {"calls": reads}, {"text": "done"})
    async with driving(scripted) as driver:
        await driver.prompt("go")
    first, second = [one.result for one in driver.all(ToolCallFinished)]
    assert first.outcome == "ok" and "two" in first.text
    assert second.outcome == "error" and "colour" in second.text


async def test_hanging_guard_asks_and_is_rejected_headless(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "sleeper",
        HEAD
        + """
import asyncio
@hookimpl
def register_guards(register, scope):
    async def check(guarded, context):
        await asyncio.Event().wait()
    register(Guard("sleeper", "tool_call", check, timeout_s=0.05))
""",
    )
    script(scripted.parent, {"calls": [call("read", path="a.txt")]}, {"text": "done"})
    options = RunOptions(model="scripted:script", someone=False, mode="full")
    async with driving(scripted, options=options) as driver:
        await driver.prompt("go")
    assert driver.all(ToolCallFinished)[0].result.outcome == "denied"
    assert any("sleeper" in one.text for one in driver.all(Warned))


async def test_a_context_source_that_misses_its_deadline_is_used_in_the_next_request(
    scripted: Path, plugins: Path
) -> None:
    gate = scripted.parent / "gate"
    distribution(
        plugins,
        "slow",
        HEAD
        + f"""
import asyncio, pathlib
SEEN = []
@hookimpl
def register_context(register, scope):
    async def collect(context):
        while not pathlib.Path({str(gate)!r}).exists():
            await asyncio.sleep(0.01)
        return "LATE FACT"
    register(ContextSource("slow", "reminder", "turn", collect, deadline_ms=20))
@hookimpl
def register_models(register, scope):
    async def stream(request):
        SEEN.append(request.reminder)
        yield TextPart("LATE FACT" in request.reminder and "told" or "not told")
        yield FinishPart("stop")
    async def models():
        return ("ear",)
    register(Model("ear", stream, models, default="ear"))
""",
    )
    async with driving(scripted, options=RunOptions(model="ear:ear")) as driver:
        await driver.prompt("one")
        gate.touch()
        texts = []
        while "told" not in texts and len(texts) < 200:
            await driver.prompt("again")
            texts = [one.message.text for one in driver.all(MessageFinished)]
        assert texts[0] == "not told" and texts[-1] == "told"


async def test_a_runner_in_another_process_runs_a_role(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "runner",
        HEAD
        + f"""
import asyncio
from cockpit.plugin.context import Report
from cockpit.protocol.messages import Usage
class Handle:
    def __init__(self, id, process):
        self.id, self._process = id, process
    async def send(self, text): ...
    async def wait(self, seconds=None):
        out, _ = await self._process.communicate()
        return Report(out.decode().strip(), "end_turn", Usage(), 1)
    async def cancel(self):
        self._process.kill()
    def transcript(self, cursor=0):
        return (), cursor
async def start(task, context):
    process = await asyncio.create_subprocess_exec(
        {sys.executable!r}, "-c", f"print({{task.task!r}}.upper(), {{int(task.budget['steps'])}})", stdout=-1)
    return Handle(task.id, process)
@hookimpl
def register_runners(register, scope):
    register(Runner("other-process", start))
@hookimpl
def register_roles(register, scope):
    register(Role("shouter", "shouts", "Shout.", runner="other-process", max_steps=7))
@hookimpl
def register_commands(register, scope):
    async def run(invoked, context):
        handle = await context.agents.open("shouter", invoked.text, background=True)
        report = await handle.wait()
        return Show((Text(f"{{handle.id}}: {{report.text}}"),))
    register(Command("shout", "shouts", run))
""",
    )
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        await driver.invoke("shout", text="hello")
        shown = await driver.next(Noticed)
        assert shown.content[0].text == "main/shouter-1: HELLO 7"


async def test_a_subagent_in_process_works_on_the_parents_budget(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "boss",
        HEAD
        + """
@hookimpl
def register_commands(register, scope):
    async def run(invoked, context):
        handle = await context.agents.open("general", invoked.text)
        report = await handle.wait()
        return Show((Text(f"{handle.id}: {report.text} ({report.stop_reason})"),))
    register(Command("ask-child", "asks", run))
""",
    )
    script(scripted.parent, {"calls": [call("read", path="a.txt")]}, {"text": "one, I read"})
    async with driving(scripted) as driver:
        await driver.invoke("ask-child", text="read a.txt")
        shown = await driver.next(Noticed)
        assert shown.content[0].text == "main/general-1: one, I read (end_turn)"
        assert {one.agent for one in driver.seen if isinstance(one.event, ToolCallFinished)} == {
            "main/general-1"
        }


async def test_a_panel_gets_its_rows_from_a_resident(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "gauge",
        HEAD
        + """
@hookimpl
def register_panels(register, scope):
    register(Panel("gauge", "Gauge"))
@hookimpl
def register_residents(register, scope):
    @asynccontextmanager
    async def run(context):
        context.emit(PanelChanged("gauge", (PanelRow("pressure", "high"),)))
        yield
    register(Resident("gauge", "session", run))
""",
    )
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        found = await driver.until(
            lambda one: isinstance(one.event, PanelChanged) and one.event.panel == "gauge"
        )
        assert found.event.rows[0].text == "pressure"
        listing = await driver.channel.ask(Listing("panels"))
        assert isinstance(listing, ListingRows) and "gauge" in [row.name for row in listing.rows]


async def test_observer_sees_only_its_kinds_and_failure_is_named_once(scripted: Path, plugins: Path) -> None:
    out = scripted.parent / "seen"
    distribution(
        plugins,
        "watcher",
        HEAD
        + f"""
@hookimpl
def register_observers(register, scope):
    async def see(envelope):
        with open({str(out)!r}, "a") as file:
            file.write(type(envelope.event).__name__ + "\\n")
    async def fall(envelope):
        raise ValueError("no eyes")
    register(Observer("watcher", ("turn_finished", "tool_call_finished"), see))
    register(Observer("blind", ("tool_call_finished", "turn_started"), fall))
""",
    )
    script(scripted.parent, {"calls": [call("read", path="a.txt")]}, {"text": "done"})
    async with driving(scripted) as driver:
        await driver.prompt("go")
    assert out.read_text().split() == ["ToolCallFinished", "TurnFinished"]
    assert sum("no eyes" in one.text for one in driver.all(Warned)) == 1


async def test_broken_plugins_are_named_and_the_rest_works(scripted: Path, plugins: Path) -> None:
    distribution(plugins, "fails-at-import", "raise RuntimeError('bad day')")
    distribution(
        plugins,
        "fails-at-registration",
        HEAD + "@hookimpl\ndef register_tools(register, scope):\n    raise RuntimeError('worse day')\n",
    )
    distribution(plugins, "misspells", HEAD + "@hookimpl\ndef register_toolz(register, scope):\n    pass\n")
    distribution(
        plugins,
        "good",
        HEAD
        + """
@hookimpl
def register_commands(register, scope):
    async def run(invoked, context):
        raise RuntimeError("later day")
    register(Command("later", "fails later", run))
""",
    )
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        reply = await driver.channel.ask(Plugins())
        assert isinstance(reply, PluginRows)
        states = {row.name: (row.state, row.reason) for row in reply.rows}
        assert states["fails-at-import"][0] == "failed" and "bad day" in states["fails-at-import"][1]
        assert states["fails-at-registration"][0] == "failed"
        assert states["misspells"][0] == "failed" and "register_toolz" in states["misspells"][1]
        assert states["good"][0] == "loaded"
        await driver.invoke("later")
        await driver.until(lambda one: isinstance(one.event, Warned) and "later day" in one.event.text)
        assert (await driver.prompt("hello")).stop_reason == "end_turn"
    warned = " ".join(one.text for one in driver.all(Warned))
    assert all(name in warned for name in ("fails-at-import", "fails-at-registration", "misspells"))


async def test_the_same_name_twice_in_a_layer_names_both_plugins(scripted: Path, plugins: Path) -> None:
    source = (
        HEAD
        + """
@hookimpl
def register_commands(register, scope):
    async def run(invoked, context):
        return Show((Text("x"),))
    register(Command("twin", "a twin", run))
"""
    )
    distribution(plugins, "castor", source)
    distribution(plugins, "pollux", source)
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        await driver.prompt("hello")
    assert any("castor" in one.text and "pollux" in one.text for one in driver.all(Warned))


async def test_a_plugin_shadows_a_built_in_and_the_listing_says_so(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "better-read",
        HEAD
        + """
@hookimpl
def register_tools(register, scope):
    async def run(arguments, context):
        return Done("better")
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    capabilities = frozenset({"fs.read"})
    register(Tool("read", "read", "Better.", parameters, capabilities, run, lambda arguments: "read"))
""",
    )
    script(scripted.parent, {"calls": [call("read", path="a.txt")]}, {"text": "done"})
    async with driving(scripted) as driver:
        await driver.prompt("go")
        reply = await driver.channel.ask(Listing("tools"))
    assert driver.all(ToolCallFinished)[0].result.text == "better"
    assert isinstance(reply, ListingRows)
    row = next(row for row in reply.rows if row.name == "read")
    assert row.plugin == "better-read" and "built-in" in row.shadows


async def test_two_sessions_of_one_deck_run_their_turns_at_once(scripted: Path) -> None:
    from tests.support.decks import Driver

    from cockpit.core.session.deck import LocalDeck

    gate = scripted.parent / "gate"
    script(scripted.parent, {"text": "done", "gate": str(gate)})
    deck = LocalDeck(RunOptions(model="scripted:script"))
    drivers = [Driver(await deck.open(str(scripted))) for _ in range(2)]
    for driver in drivers:
        await driver.start()
    turns = [await driver.begin("go") for driver in drivers]
    gate.touch()
    ended = await asyncio.gather(*(one.end(turn) for one, turn in zip(drivers, turns, strict=True)))
    assert [one.stop_reason for one in ended] == ["end_turn", "end_turn"]
    assert drivers[0].channel.session != drivers[1].channel.session
    await deck.close()
    for driver in drivers:
        await driver.stop()


async def test_plugin_that_exits_at_import_is_named_and_the_rest_works(scripted: Path, plugins: Path) -> None:
    distribution(plugins, "quitter", "import sys\nsys.exit(3)\n")
    script(scripted.parent, {"text": "hi"})
    async with driving(scripted) as driver:
        reply = await driver.channel.ask(Plugins())
        assert isinstance(reply, PluginRows)
        (row,) = [one for one in reply.rows if one.name == "quitter"]
        assert row.state == "failed" and "SystemExit" in row.reason
