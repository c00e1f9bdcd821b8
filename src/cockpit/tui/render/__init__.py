"""The drawing kit that all widgets share: text to lines, Markdown, code, diffs, themes, and the two bars.

Start with `layout`, then `widgets`. Imports no other sub-package of the TUI and decides nothing.
"""
