"""What the screen shows, as plain values: `reduce(state, envelope)` is all of its logic.

Knows no widget and no Textual; the same envelopes give the same state, live or replayed.
"""

from cockpit.tui.state.reducer import reduce
from cockpit.tui.state.screen_state import PendingPrompt, ScreenState

__all__ = ["PendingPrompt", "ScreenState", "reduce"]
