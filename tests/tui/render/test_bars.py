"""The top bar says what holds programs in: what was probed, on every width that has room for bad news."""

import pytest
from tests.support.scenes import Scene

from cockpit.protocol import events
from cockpit.tui.render.bars import TopBarStatus, top_line
from cockpit.tui.state import ScreenState, reduce


def said(isolation: str, width: int) -> str:
    line = top_line(TopBarStatus("project", isolation=isolation, mode="ask", model="m"), width)
    return "".join(text for text, _ in line.right)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_g9_missing_isolation_is_shown_at_every_width(width: int) -> None:
    assert "no sandbox" in said("none", width)
    assert "partial sandbox" in said("partial", width)
    assert "sandbox" not in said("", width)
    assert ("sandbox" in said("full", width)) == (width >= 80)


def test_g9_isolation_stays_until_another_is_reported() -> None:
    scene = Scene().start().add(events.SessionChanged("m", "ask", True, isolation="partial"))
    scene.add(events.SessionChanged("m", "plan", True))
    state = ScreenState()
    for envelope in scene.envelopes:
        reduce(state, envelope)
    assert state.isolation == "partial"


def test_the_branch_of_a_worktree_is_shown_beside_the_project() -> None:
    line = top_line(TopBarStatus("project", path="/home/ada/project", branch="cockpit/rebate-1"), 100)
    assert "⎇ cockpit/rebate-1" in "".join(text for text, _ in line.pieces)
