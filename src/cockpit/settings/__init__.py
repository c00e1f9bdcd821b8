"""Settings, folder trust, permission rules and API keys: the user's own files.

Start with `files` (reading and editing settings.toml), `schema` (every key) and `layers` (which value wins).
May import only `paths`, `errors`, the standard library, and late tomlkit, platformdirs and tree-sitter.
"""
