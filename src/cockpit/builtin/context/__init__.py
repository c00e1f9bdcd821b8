"""Built-in plugins and texts that add context to a request: `@` mentions of files and symbols, new
diagnostics, and the system prompt. Start with `file_mentions.py`. Imports `tools` at most, never
`files` or `commands`.
"""
