"""Tools that work on symbols rather than text: definitions, references, outlines, rename, diagnostics.

One plugin per module. Start with `references`, the simplest; `symbol_rows` has the symbol argument and
formats the rows, `splice` edits a whole definition. The tools use `context.navigator` and never a language
server directly.
"""
