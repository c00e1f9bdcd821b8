"""Built-in slash commands that belong to no other plugin: `general` (listings, frontend actions, `/lsp`),
`config` (`/set`) and `connect` (`/connect`, `/model`). Start with `general.py`. A command answers with
content, a prompt or the name of a frontend action; it imports no frontend.
"""
