"""Patches as text: the unified form and the `*** Begin Patch` form, parsed and turned into edits.
Pure: reads no files and writes none. `planning` is the way in."""
