"""The plugin as a user has it: installed by cockpit, found by its entry point, used in a real session."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.command import cockpit
from tests.support.decks import driving, script

from cockpit.protocol.content import plain_text
from cockpit.protocol.events import MessageFinished, Noticed, ToolCallFinished, ToolCallStarted
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import Listing, ListingRows, PluginRows, Plugins

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "plugins"
PLUGIN = EXAMPLES / "cockpit-hello-tool"


def hello(**arguments: Json) -> Mapping[str, Json]:
    """A call of the tool by the scripted model."""
    return {"name": "hello", "arguments": arguments}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which cockpit installed three examples, built from these sources."""
    folder = tmp_path_factory.mktemp("installed")
    sources = [
        str(EXAMPLES / name) for name in ("cockpit-hello-tool", "cockpit-lang-lua", "cockpit-skills-python")
    ]
    options = ("--yes", "--no-index", "--no-build-isolation", "--installer", "uv")
    environment = {"COCKPIT_HOME": str(folder), "COCKPIT_PLUGINS": "hello,language_lua,skills_python"}
    ended = cockpit("plugins", "install", *options, *sources, cwd=folder, environment=environment)
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def home(home: Path, installed: Path) -> Path:
    """A separate home with the installed plugins."""
    (home / "data").symlink_to(installed / "data")
    return home


@pytest.fixture
def project(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("COCKPIT_PLUGINS", "hello")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    before = list(sys.path)
    yield root
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith("cockpit_hello_tool")]:
        del sys.modules[name]


async def test_plugin_is_listed_with_its_values(project: Path) -> None:
    script(project.parent, {"text": "hi"})
    async with driving(project) as driver:
        plugins = await driver.channel.ask(Plugins())
        tools = await driver.channel.ask(Listing("tools"))
    assert isinstance(plugins, PluginRows) and isinstance(tools, ListingRows)
    row = next(row for row in plugins.rows if row.name == "hello")
    assert (row.distribution, row.version, row.state) == ("cockpit-hello-tool", "1.0.0", "loaded")
    assert row.registers == ("tools: hello", "commands: hello")
    assert next(row for row in tools.rows if row.name == "hello").layer == "plugin"


def test_all_installed_plugins_are_loaded(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COCKPIT_PLUGINS")
    rows = json.loads(cockpit("plugins", "--json", cwd=root).out)
    states = {row["name"]: row["state"] for row in rows if row["distribution"] != "cockpit-agent"}
    assert states == dict.fromkeys(("hello", "language_lua", "skills_python"), "loaded")
    shown = json.loads(cockpit("plugins", "info", "skills_python", "--json", cwd=root).out)[0]
    # The files beside the code were installed, too.
    assert len(shown["registers"]) == 3


async def test_model_calls_the_tool_without_approval(project: Path) -> None:
    calls = [hello(name="Ada"), hello(name="林", loud=True)]
    script(project.parent, {"calls": calls}, {"text": "greeted"})
    async with driving(project) as driver:
        await driver.prompt("greet them")
        await driver.invoke("hello")
        shown = await driver.next(Noticed)
    assert [event.title for event in driver.all(ToolCallStarted)] == ["hello Ada", "hello 林"]
    assert [event.result.text for event in driver.all(ToolCallFinished)] == ["Hello, Ada!", "HELLO, 林!"]
    assert plain_text(shown.content) == "Ada, 林"
    assert driver.all(MessageFinished)[-1].message.text == "greeted"


async def test_wrong_arguments_tell_the_model_what_to_do(project: Path) -> None:
    calls = [hello(name=" "), hello(), hello(name="Ada", colour="red")]
    script(project.parent, {"calls": calls}, {"text": "hm"})
    async with driving(project) as driver:
        await driver.prompt("greet")
    results = [event.result for event in driver.all(ToolCallFinished)]
    assert [event.outcome for event in results] == ["error"] * 3
    assert "write who to greet" in results[0].text
    assert "`name` is missing" in results[1].text and "`colour`" in results[2].text


async def test_plugin_receives_its_settings_table(project: Path, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "settings.toml").write_text('[plugins.hello]\ngreeting = "Moin"\n', encoding="utf-8")
    script(project.parent, {"calls": [hello(name="Ada")]}, {"text": "greeted"})
    async with driving(project) as driver:
        await driver.prompt("greet")
    assert driver.all(ToolCallFinished)[0].result.text == "Moin, Ada!"


async def test_plugin_can_be_disabled(project: Path, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "settings.toml").write_text('[plugins]\ndisabled = ["hello"]\n', encoding="utf-8")
    script(project.parent, {"calls": [hello(name="Ada")]}, {"text": "no"})
    async with driving(project) as driver:
        await driver.prompt("greet")
    assert "there is no tool called hello" in driver.all(ToolCallFinished)[0].result.text


def test_example_is_short() -> None:
    lines = [line for path in (PLUGIN / "src").rglob("*.py") for line in path.read_text("utf-8").splitlines()]
    assert len(lines) <= 150
