"""The terminal around the app: driver, clipboard programs and editors.

Imports no other sub-package of the TUI.
"""
