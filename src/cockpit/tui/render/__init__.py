"""The drawing kit shared by every widget: text to lines, Markdown, source code, diffs, themes and the top
and bottom bars. Start with `layout`. Imports no other sub-package of the TUI and decides nothing.
"""
