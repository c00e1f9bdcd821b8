"""Pictures of the cockpit on a recording, compared with those that were looked at."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tests.support.cockpits import Replies, cockpit, press, settled
from tests.support.scenes import Scene
from textual.app import App
from textual.pilot import Pilot

from cockpit.protocol.queries import SessionRow
from cockpit.tui.app import Cockpit
from cockpit.tui.trace.view import TraceView

WIDE, NARROW = (120, 36), (60, 30)


class Compare(Protocol):
    def __call__(
        self, app: App[int], *, terminal_size: tuple[int, int], run_before: Callable[[Pilot[int]], object]
    ) -> bool: ...


def picture(
    compare: Compare,
    scene: Scene,
    size: tuple[int, int] = WIDE,
    *,
    keys: Sequence[str] = (),
    theme: str = "",
    rows: Iterable[SessionRow] = (),
    replies: Replies | None = None,
) -> bool:
    """Whether the cockpit on `scene`, after `keys`, looks as it did."""
    app, _, _ = cockpit(scene, theme=theme, rows=rows, replies=replies)

    async def before(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, Cockpit)
        await settled(pilot.app, pilot)
        for key in keys:
            await press(pilot.app, pilot, key)
            await settled(pilot.app, pilot)
        await lay_out_everything(pilot)

    return compare(app, terminal_size=size, run_before=before)


async def lay_out_everything(pilot: Pilot[int]) -> None:
    """Replace the estimated heights in the Trace, which depend on what happened to be drawn before, so that
    the scroll bar is the same each time."""
    trace = pilot.app.screen_stack[0].query_one(TraceView)
    if trace.document is not None and trace.following and trace._moment is not None:
        trace.document.lay_out_end(sys.maxsize, trace._moment)
        trace.to_end()
        await pilot.pause()
