"""Context added to model requests: the system prompt, `@` mentions of files and symbols, and new problems.

Start with `file_mentions.py`. Imports `tools` at most, never `files` or `commands`.
"""
