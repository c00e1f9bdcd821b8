"""The terminal around the app: Textual's driver with faster Esc and safe pastes, and the programs outside
the TUI (clipboard tools, editors). Imports no other sub-package of the TUI.
"""
