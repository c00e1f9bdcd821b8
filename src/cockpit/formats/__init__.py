"""Reads the definition files of cockpit and other agents: skills, commands, roles, hooks, MCP servers,
instructions, bundles.

Start reading in `search_folders` (where files are searched) and `frontmatter` (how they are parsed).
`imports/` reads the settings of other agents. Files become plain values; nothing is run or registered here.
"""
