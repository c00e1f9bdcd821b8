"""What is added to requests: the system prompt, `@` mentions of files and symbols, and new diagnostics.

Start with `file_mentions.py`. Imports `tools` at most, never `files` or `commands`.
"""
