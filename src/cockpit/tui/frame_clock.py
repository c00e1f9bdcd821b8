"""Decides when a frame is drawn: on request, at most thirty a second, and regularly while something runs."""

import asyncio
import time
from collections.abc import Callable

from cockpit.tui.render.layout import Moment

FRAME_SECONDS = 1 / 30
TICK_SECONDS = 0.12


class FrameClock:
    """Schedules frames. `draw` draws one and returns whether something still runs; while it does, `advance`
    is called with each tick to mark what changes with time. `still` draws without a clock, for pictures."""

    def __init__(self, draw: Callable[[Moment], bool], advance: Callable[[], bool], *, still: bool) -> None:
        self.frame_due = False
        self._draw = draw
        self._advance = advance
        self._still = still
        self._drawn = 0.0
        self._ticking = False
        self._step = 2  # of the spinner

    def request(self) -> None:
        """Draw a frame as soon as the frame rate allows."""
        if self.frame_due:
            return
        self.frame_due = True
        wait = FRAME_SECONDS - (time.monotonic() - self._drawn)
        asyncio.get_running_loop().call_later(max(0.0, wait), self._frame)

    def _frame(self) -> None:
        self.frame_due = False
        self._drawn = time.monotonic()
        is_running = self._draw(Moment(0.0 if self._still else time.time(), self._step))
        if is_running and not self._ticking and not self._still:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        self._drawn = time.monotonic()

    def _tick(self) -> None:
        self._ticking = False
        if self._advance():
            self._step += 1
            self.request()
