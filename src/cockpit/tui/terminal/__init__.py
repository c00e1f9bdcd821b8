"""The terminal around the app: Textual's driver with faster Esc and safe pastes, clipboard programs and
editors.

Imports no other sub-package of the TUI.
"""
