"""Slash commands that belong to no other plugin.

Start with `general.py` (listings, frontend actions, `/lsp`); `config.py` is `/set`, `connect.py` is
`/connect` and `/model`. A command answers with content, a prompt or the name of a frontend action. Imports
`models`, never a frontend.
"""
