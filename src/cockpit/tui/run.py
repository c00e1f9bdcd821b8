"""Starts the cockpit on a real terminal, and restores the terminal afterwards."""

import gc
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cockpit.protocol.channel import Deck

ESCAPE_MS = "25"
"""How long a lone ESC byte may be the start of a sequence; Textual's 100 ms are noticeable."""


def run(
    make_deck: "Callable[[], Awaitable[Deck]]",
    root: str,
    resume: str | None = None,
    *,
    theme: str = "",
    prompt: str = "",
    still: bool = False,
) -> int:
    """Run the cockpit on `root`. Returns the exit code.

    `make_deck` is awaited on the cockpit's own loop after the first paint. `prompt` is sent as soon as the
    session is open. `still` turns off animation, blinking and clocks.
    """
    gc.disable()  # nothing made while starting is garbage; `SessionController` enables it again
    sys.setswitchinterval(0.001)  # imports in the background thread give way to keys sooner
    os.environ.setdefault("ESCDELAY", ESCAPE_MS)
    from cockpit.tui.app import Cockpit
    from cockpit.tui.render.widgets import StartOptions

    reduced = still or bool(os.environ.get("COCKPIT_STILL"))
    app = Cockpit(make_deck, root, StartOptions(resume, theme, reduced, prompt, real=True))
    result = app.run()
    return result if result is not None else (app.return_code or 0)
