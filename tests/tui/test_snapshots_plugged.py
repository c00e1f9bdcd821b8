"""Pictures of what is plugged in: subagents, forms, settings, the states of MCP servers."""

import pytest
from tests.support.pictures import Compare, picture
from tests.support.scenes import Scene
from tests.tui.screens import test_settings as settings
from tests.tui.screens import test_subagent as agents
from tests.tui.screens.test_form import asked

from cockpit.protocol import events
from cockpit.protocol.rows import PanelRow

SIZES = pytest.mark.parametrize("width", [60, 100, 160])


@SIZES
def test_agents_in_work(snap_compare: Compare, width: int) -> None:
    keys = ("alt+1",) if width < 100 else ()
    assert picture(snap_compare, agents.running(), (width, 30), keys=keys)


@SIZES
def test_an_agent(snap_compare: Compare, width: int) -> None:
    keys = ("f5", "enter")
    assert picture(snap_compare, agents.running(), (width, 30), keys=keys, replies=agents.past)


@SIZES
def test_a_form(snap_compare: Compare, width: int) -> None:
    assert picture(snap_compare, asked(), (width, 30), keys=("f9",))


def test_a_page_to_open(snap_compare: Compare) -> None:
    url = "https://login.example.org/authorize?client=cockpit&scope=read"
    assert picture(snap_compare, asked(url), (100, 30), keys=("f9",))


@SIZES
def test_settings(snap_compare: Compare, width: int) -> None:
    keys = (*"/settings", "enter")
    pressed = ("slash", *keys[1:])
    assert picture(snap_compare, Scene().start(), (width, 30), keys=pressed, replies=settings.reply)


def test_servers_of_others(snap_compare: Compare) -> None:
    rows = (
        PanelRow("tracker  12 tools", "ready"),
        PanelRow("docs  https://docs.example", "needs login"),
        PanelRow("files  npx -y server", "needs approval"),
        PanelRow("old  connection refused", "failed"),
        PanelRow("search", "starting"),
    )
    scene = Scene().start().add(events.PanelChanged("mcp", rows))
    assert picture(snap_compare, scene, (120, 30))
