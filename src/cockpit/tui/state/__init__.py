"""The state of the screen as plain values. Start with `reducer`, which has all of the logic.

Imports no other sub-package of the TUI and no Textual. The same envelopes give the same state, live or
replayed.
"""

from cockpit.tui.state.reducer import reduce
from cockpit.tui.state.screen_state import PendingPrompt, ScreenState

__all__ = ["PendingPrompt", "ScreenState", "reduce"]
