"""Built-in plugins that load what users keep in files: skills, roles, commands, hooks, instructions, MCP
servers and Claude Code plugin bundles. Start with `command_files.py`, the smallest; `skills/` is the
largest. The file formats themselves are read by `cockpit.formats`. Imports `context`, `tools` and
`policy` of this package, never `commands` or `models`.
"""
