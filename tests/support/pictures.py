"""Pictures of the cockpit on a recording, compared with those that were looked at."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tests.support.cockpits import Replies, cockpit, press, settled
from tests.support.scenes import Scene
from textual.app import App
from textual.pilot import Pilot

from cockpit.protocol.queries import SessionRow
from cockpit.tui.app import Cockpit

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

    return compare(app, terminal_size=size, run_before=before)
