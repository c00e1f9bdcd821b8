"""What the screen shows, as plain values. Start with `reducer`: `reduce(state, envelope)` is all of the
logic.

Imports no other sub-package of the TUI and no Textual. The same envelopes give the same state, live or
replayed.
"""

from cockpit.tui.state.reducer import reduce
from cockpit.tui.state.screen_state import PendingPrompt, ScreenState

__all__ = ["PendingPrompt", "ScreenState", "reduce"]
