"""Patches as text: unified diffs and the `*** Begin Patch` form, parsed and turned into edits.

Start with `planner`. `parser` reads both forms, `matcher` finds where each chunk belongs. Reads files only
through the workspace it is given, and writes none.
"""
