"""Plugins for what users keep in files: skills, roles, commands, hooks, instructions, MCP servers, bundles.

Start with `command_files.py`, the smallest; `skills` is the largest. `cockpit.formats` reads the files
themselves. Imports `context` and `policy` of this package, never `commands`, `tools` or `models`.
"""
